//! `append` called as a foreign program would: in SQL, with any arguments.

use tokio_postgres::{Client, Error};

/// Arguments of one call. What a test does not set is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    /// (space, position that the caller knows).
    pub(crate) heads: Vec<(i32, i64)>,
    /// (space, address and step or neither).
    pub(crate) events: Vec<Event>,
}

/// Space, and address and step or neither.
type Event = (i32, Option<(&'static str, i32)>);

/// One row of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) outcome: String,
    pub(crate) space: Option<i32>,
    pub(crate) seq: Option<i64>,
    pub(crate) hash: Option<Vec<u8>>,
    pub(crate) recorded_at_us: Option<i64>,
}

/// Arguments that these tests leave empty, and their types.
const EMPTY: &[(&str, &str)] = &[
    ("r_space", "int[]"),
    ("r_ip", "inet[]"),
    ("r_step", "int[]"),
    ("r_seq", "bigint[]"),
    ("a_space", "int[]"),
    ("a_ip", "inet[]"),
    ("a_step", "int[]"),
    ("a_seq", "bigint[]"),
    ("a_pool", "cidr[]"),
    ("a_allocated_seq", "bigint[]"),
    ("a_attachment", "bytea[]"),
    ("a_owner", "bytea[]"),
    ("a_position", "smallint[]"),
    ("a_cluster", "text[]"),
    ("a_network", "text[]"),
    ("a_container_id", "text[]"),
    ("a_ifname", "text[]"),
    ("a_namespace", "text[]"),
    ("a_pod", "text[]"),
    ("a_pod_uid", "text[]"),
    ("a_node", "text[]"),
    ("a_boot_id", "uuid[]"),
    ("a_boottime_ns", "bigint[]"),
    ("a_content", "bigint[]"),
    ("a_cooldown", "int[]"),
    ("wanted", "bytea[]"),
];

impl Call {
    pub(crate) fn new(heads: &[(i32, i64)]) -> Call {
        Call {
            heads: heads.to_vec(),
            events: Vec::new(),
        }
    }

    /// One more event about an address.
    pub(crate) fn event(mut self, space: i32, ip: &'static str, step: i32) -> Call {
        self.events.push((space, Some((ip, step))));
        self
    }

    /// One more event about no address.
    pub(crate) fn fact(mut self, space: i32) -> Call {
        self.events.push((space, None));
        self
    }

    pub(crate) fn sql(&self) -> String {
        let list = |items: Vec<String>| format!("'{{{}}}'", items.join(","));
        let (spaces, seqs) = self
            .heads
            .iter()
            .map(|(id, seq)| (id.to_string(), seq.to_string()))
            .unzip();
        let column = |of: &dyn Fn(&Event) -> String| list(self.events.iter().map(of).collect());
        let null = || "null".to_owned();
        let mut arguments = vec![
            format!("head_space => {}::int[]", list(spaces)),
            format!("head_seq => {}::bigint[]", list(seqs)),
            format!("e_space => {}::int[]", column(&|e| e.0.to_string())),
            format!(
                "e_ip => {}::inet[]",
                column(&|e| e.1.map_or_else(null, |(ip, _)| ip.to_owned()))
            ),
            format!(
                "e_step => {}::int[]",
                column(&|e| e.1.map_or_else(null, |(_, step)| step.to_string()))
            ),
            format!("e_kind => {}::text[]", column(&|_| "test".to_owned())),
            // Each body is another one.
            format!(
                "e_body => array(select convert_to('body ' || n, 'UTF8') \
                 from generate_series(1, {}) n)",
                self.events.len()
            ),
            "fresh => 0, notes => null, burial => null, confirm => false".to_owned(),
        ];
        arguments.extend(
            EMPTY
                .iter()
                .map(|(name, kind)| format!("{name} => '{{}}'::{kind}")),
        );
        format!("ipledger.append({})", arguments.join(", "))
    }

    /// Call it; the answer is ordered by space.
    pub(crate) async fn send(&self, client: &Client) -> Result<Vec<Answer>, Error> {
        let sql = format!(
            "select a.outcome, h.* from {} a left join lateral unnest(a.space_ids, a.seqs, \
             a.hashes, a.recorded_at_us) h on true order by 2",
            self.sql()
        );
        let rows = client.query(&sql, &[]).await?;
        Ok(rows
            .iter()
            .map(|row| Answer {
                outcome: row.get(0),
                space: row.get(1),
                seq: row.get(2),
                hash: row.get(3),
                recorded_at_us: row.get(4),
            })
            .collect())
    }

    /// Call it, expecting that it appends; gives the new heads.
    pub(crate) async fn append(&self, client: &Client) -> Vec<Answer> {
        let answer = self.send(client).await.expect("an answer");
        assert!(
            answer.iter().all(|row| row.outcome == "appended"),
            "{answer:?}"
        );
        answer
    }
}
