//! The rows of lists as text, one column each: for CSV, by the service and by `ipledgerctl`.

use serde_json::Value;

use super::{AddressChange, Event, Hold};

/// A row of a list.
pub trait Row {
    /// Names of the columns. New ones are added at the end only.
    const COLUMNS: &'static [&'static str];

    /// One text per column; empty where there is nothing.
    fn fields(&self) -> Vec<String>;
}

/// Rows as CSV (RFC 4180), the names of the columns first.
#[must_use]
pub fn csv<R: Row>(rows: &[R]) -> String {
    let mut text = line(R::COLUMNS.iter().copied());
    for row in rows {
        text.push_str(&line(row.fields().iter().map(String::as_str)));
    }
    text
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = fields.map(quote).collect();
    quoted.join(",") + "\r\n"
}

fn quote(field: &str) -> String {
    match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

impl Event {
    /// The subject of the event: for a release by anyone but the holder, that of the hold that it
    /// ends.
    fn subject(&self, part: &str, key: &str) -> String {
        let ended = &self.payload["ended"][part][key];
        let own = &self.payload[part][key];
        let found = ended.as_str().or(own.as_str());
        found.unwrap_or_default().to_owned()
    }

    /// What the event says about a part of who is concerned: `namespace`, `name`, `uid` or `node`.
    #[must_use]
    pub fn owner(&self, key: &str) -> String {
        self.subject("owner", key)
    }

    /// What the event says about a part of the interface: `cluster`, `network`, `container_id` or
    /// `ifname`.
    #[must_use]
    pub fn attachment(&self, key: &str) -> String {
        self.subject("attachment", key)
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.payload["reason"].as_str().unwrap_or_default()
    }

    /// Who acted, by name.
    #[must_use]
    pub fn actor(&self) -> &str {
        self.payload["actor"]["name"].as_str().unwrap_or_default()
    }
}

impl Row for Event {
    const COLUMNS: &'static [&'static str] = &[
        "space",
        "seq",
        "recorded_at",
        "claimed_at",
        "address",
        "step",
        "kind",
        "reason",
        "actor",
        "cluster",
        "namespace",
        "pod",
        "pod_uid",
        "node",
        "network",
        "container_id",
        "ifname",
        "epoch",
        "predecessor_seq",
        "previous_hash",
        "hash",
        "payload",
    ];

    fn fields(&self) -> Vec<String> {
        let payload = match &self.payload {
            Value::Null => String::new(),
            payload => payload.to_string(),
        };
        let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        vec![
            self.space.clone(),
            self.seq.to_string(),
            self.recorded_at.clone(),
            self.claimed_at.clone().unwrap_or_default(),
            self.address.clone().unwrap_or_default(),
            number(self.step.map(u64::from)),
            self.kind.clone(),
            self.reason().to_owned(),
            self.actor().to_owned(),
            self.attachment("cluster"),
            self.owner("namespace"),
            self.owner("name"),
            self.owner("uid"),
            self.owner("node"),
            self.attachment("network"),
            self.attachment("container_id"),
            self.attachment("ifname"),
            self.epoch.to_string(),
            number(self.predecessor_seq),
            self.previous_hash.clone(),
            self.hash.clone(),
            payload,
        ]
    }
}

impl Row for Hold {
    const COLUMNS: &'static [&'static str] = &[
        "space",
        "address",
        "pool",
        "step",
        "seq",
        "recorded_at",
        "cluster",
        "namespace",
        "pod",
        "pod_uid",
        "node",
        "network",
        "container_id",
        "ifname",
    ];

    fn fields(&self) -> Vec<String> {
        let owner = self.owner.as_ref();
        let of = |part: Option<&String>| part.cloned().unwrap_or_default();
        vec![
            self.space.clone(),
            self.address.clone(),
            self.pool.clone(),
            self.step.to_string(),
            self.seq.to_string(),
            self.recorded_at.clone(),
            self.attachment.cluster.clone(),
            of(owner.map(|owner| &owner.namespace)),
            of(owner.map(|owner| &owner.name)),
            of(owner.and_then(|owner| owner.uid.as_ref())),
            of(owner.and_then(|owner| owner.node.as_ref())),
            self.attachment.network.clone(),
            self.attachment.container_id.clone(),
            self.attachment.ifname.clone(),
        ]
    }
}

impl Row for AddressChange {
    const COLUMNS: &'static [&'static str] = &[
        "space",
        "address",
        "before_seq",
        "before_namespace",
        "before_pod",
        "before_pod_uid",
        "before_node",
        "after_seq",
        "after_namespace",
        "after_pod",
        "after_pod_uid",
        "after_node",
    ];

    fn fields(&self) -> Vec<String> {
        let mut fields = vec![self.space.clone(), self.address.clone()];
        for hold in [&self.before, &self.after] {
            let told = hold.as_ref().map(|hold| {
                let fields = hold.fields();
                let wanted = [4, 7, 8, 9, 10];
                wanted.map(|index| fields[index].clone())
            });
            fields.extend(told.unwrap_or_default());
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pair(&'static str, &'static str);

    impl Row for Pair {
        const COLUMNS: &'static [&'static str] = &["a", "b"];

        fn fields(&self) -> Vec<String> {
            vec![self.0.to_owned(), self.1.to_owned()]
        }
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let rows = [Pair("plain", ""), Pair("a,b", "say \"no\"\r\nor so")];
        assert_eq!(
            csv(&rows),
            "a,b\r\nplain,\r\n\"a,b\",\"say \"\"no\"\"\r\nor so\"\r\n"
        );
    }
}
