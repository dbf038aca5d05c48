//! Tables for people.

/// A head and rows with aligned columns, two spaces apart. The last column is not padded, so that
/// long texts in it make no wide table.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows
            .iter()
            .chain([&head])
            .map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in [&head].into_iter().chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "bbbb"], ["ccc", ""]].map(|row| row.map(str::to_owned));
        let text = table(["NAME", "X"], &rows);
        assert_eq!(text, "NAME  X\na     bbbb\nccc\n");
    }
}
