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
        // Each body is another one.
        let rows = self.events.iter().enumerate().map(|(n, (space, target))| {
            let target = target.map_or("null, null".to_owned(), |(ip, step)| {
                format!("'{ip}', {step}")
            });
            format!("row({space}, {target}, 'test', 'body {n}')")
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        format!(
            "ipledger.append(head_space => {}::int[], head_seq => {}::bigint[], \
             events => array[{rows}]::ipledger.new_event[], freed => '{{}}', held => '{{}}', \
             fresh => 0, notes => null, burial => null, confirm => false)",
            list(spaces),
            list(seqs),
        )
    }

    /// Call it; the answer is ordered by space.
    pub(crate) async fn send(&self, client: &Client) -> Result<Vec<Answer>, Error> {
        let sql = format!(
            "select a.outcome, h.space, h.seq, h.hash, \
             (extract(epoch from h.recorded_at) * 1000000)::bigint from {} a left join lateral \
             unnest(a.space_ids, a.seqs, a.hashes, a.recorded_at) h (space, seq, hash, recorded_at) \
             on true order by 2",
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
