//! Aligned tables for people.

/// Columns as wide as their widest cell, two spaces between them.
#[must_use]
pub fn align(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let mut text = line(&mut header.iter().copied());
    for row in rows {
        text.push('\n');
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::align;

    #[test]
    fn cells_are_padded_to_the_widest() {
        let rows = [
            vec!["1".into(), "allocated".into()],
            vec!["12".into(), "é".into()],
        ];
        assert_eq!(
            align(&["SEQ", "KIND"], &rows),
            "SEQ  KIND\n1    allocated\n12   é"
        );
    }
}
