//! Work under faults, and the comparison of what was told with what is stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ledger::answer::{Allocated, Released};
use ledger::{Answer, Command, Error, Ledger};
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::guard::chain;
use crate::guard::sql::text;
use crate::support::{allocate, release};

/// Range of all requests: larger than what is ever asked for.
pub(crate) const RANGE: &str = "10.20.0.0/16";
const TASKS: usize = 16;

/// What one attachment was told, call after call.
#[derive(Debug, Default)]
pub(crate) struct Told {
    container: String,
    allocated: Option<Result<Allocated, Error>>,
    released: Option<Result<Released, Error>>,
}

/// Tasks that allocate and release until told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    tasks: JoinSet<Vec<Told>>,
}

impl Load {
    /// Each request waits so long at most. The network names spread it over spaces.
    pub(crate) fn start(ledgers: &[Ledger], spaces: usize, wait: Duration) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let served = Arc::new(AtomicUsize::new(0));
        let asked = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for task in 0..TASKS * ledgers.len() {
            let ledger = ledgers[task % ledgers.len()].clone();
            let (stop, served) = (Arc::clone(&stop), Arc::clone(&served));
            let asked = Arc::clone(&asked);
            tasks.spawn(async move {
                let mut all = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let number = all.len();
                    let told = ask(&ledger, task, number, spaces, wait).await;
                    served.fetch_add(told.successes(), Ordering::Relaxed);
                    asked.fetch_add(1, Ordering::Relaxed);
                    all.push(told);
                    // A refusal without a database comes at once.
                    tokio::task::yield_now().await;
                }
                all
            });
        }
        Load {
            stop,
            served,
            asked,
            tasks,
        }
    }

    /// How many requests had success.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::Relaxed)
    }

    /// Wait until so many more had success.
    pub(crate) async fn serve_more(&self, more: usize) {
        let goal = self.served() + more;
        super::servers::until("the load is served", async || self.served() >= goal).await;
    }

    /// Wait until a request ended that began after the server was gone: each task has one on its
    /// way at most, so one more answer than tasks is proof.
    pub(crate) async fn end_more_than_began(&self) {
        let goal = self.asked.load(Ordering::Relaxed) + self.tasks.len() + 1;
        super::servers::until("the load is told", async || {
            self.asked.load(Ordering::Relaxed) >= goal
        })
        .await;
    }

    pub(crate) async fn stop(self) -> Vec<Told> {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await.into_iter().flatten().collect()
    }
}

async fn ask(ledger: &Ledger, task: usize, number: usize, spaces: usize, wait: Duration) -> Told {
    let container = format!("t{task}-n{number}");
    let mut request = allocate(&container, RANGE);
    request.space.network_name = format!("net{}", (task + number) % spaces);
    let allocated = match ledger
        .execute(Command::Allocate(Box::new(request)), wait)
        .await
    {
        Ok(Answer::Allocated(allocated)) => Ok(allocated),
        Ok(other) => panic!("not an allocate: {other:?}"),
        Err(error) => Err(error),
    };
    let mut told = Told {
        allocated: Some(allocated),
        released: None,
        container,
    };
    if number.is_multiple_of(2) && matches!(told.allocated, Some(Ok(_))) {
        let request = release(&told.container);
        let released = ledger
            .execute(Command::Release(Box::new(request)), wait)
            .await;
        told.released = Some(match released {
            Ok(Answer::Released(released)) => Ok(released),
            Ok(other) => panic!("not a release: {other:?}"),
            Err(error) => Err(error),
        });
    }
    told
}

impl Told {
    fn successes(&self) -> usize {
        usize::from(matches!(self.allocated, Some(Ok(_))))
            + usize::from(matches!(self.released, Some(Ok(_))))
    }
}

/// Counts of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) confirmed: usize,
    pub(crate) unknown: usize,
    pub(crate) unknown_but_applied: usize,
    pub(crate) told_unchanged: usize,
}

/// (container, kind) -> (space, address, step, position) of its one event.
type Stored = HashMap<(String, String), (String, String, i32, i64)>;

/// Every answer against the ledger: a success is stored as it was told, "nothing changed" is
/// true, and no attachment has two events of one kind. And the ledger is whole.
pub(crate) async fn compare(client: &Client, all: &[Told]) -> Compared {
    let stored = stored(client).await;
    let mut compared = Compared::default();
    for told in all {
        for (kind, answer) in told.answers() {
            let found = stored.get(&(told.container.clone(), kind.to_owned()));
            match answer {
                Ok(Some(told_row)) => {
                    assert_eq!(found, Some(&told_row), "{told:?}");
                    compared.confirmed += 1;
                }
                // A release that was applied by an earlier, lost attempt of itself.
                Ok(None) => {
                    assert!(found.is_some(), "{told:?}");
                    compared.confirmed += 1;
                }
                Err(Error::OutcomeUnknown { .. }) => {
                    compared.unknown += 1;
                    compared.unknown_but_applied += usize::from(found.is_some());
                }
                Err(Error::Unavailable { .. } | Error::DeadlinePassed) => {
                    assert_eq!(found, None, "{told:?}");
                    compared.told_unchanged += 1;
                }
                Err(other) => panic!("{}: {other:?}", told.container),
            }
        }
    }
    for (what, sql) in PROOFS {
        assert_eq!(text(client, sql).await, "0", "{what}");
    }
    assert_eq!(chain::verify(client).await, stored.len());
    compared
}

impl Told {
    /// What was told of each call: (kind, stored row or, without one, success).
    #[expect(clippy::type_complexity, reason = "the row is spelt out in `Stored`")]
    fn answers(
        &self,
    ) -> Vec<(
        &'static str,
        Result<Option<(String, String, i32, i64)>, &Error>,
    )> {
        let allocated = self.allocated.iter().map(|answer| {
            let row = answer.as_ref().map(|allocated| {
                let address = &allocated.addresses[0];
                let receipt = address.receipt.expect("a receipt");
                Some((
                    address.space.clone(),
                    address.ip.to_string(),
                    receipt.step.cast_signed(),
                    receipt.seq.cast_signed(),
                ))
            });
            ("allocated", row)
        });
        let released = self.released.iter().map(|answer| {
            let row = answer.as_ref().map(|released| {
                released.released.first().map(|one| {
                    (
                        one.space.clone(),
                        one.ip.to_string(),
                        one.receipt.step.cast_signed(),
                        one.receipt.seq.cast_signed(),
                    )
                })
            });
            ("released", row)
        });
        allocated.chain(released).collect()
    }
}

async fn stored(client: &Client) -> Stored {
    let rows = client
        .query(
            "select convert_from(p.body, 'UTF8')::json #>> '{attachment,container_id}', p.kind, \
             s.name, host(e.ip), e.step, e.seq from ipledger.events e \
             join ipledger.payloads p using (space_id, seq) \
             join ipledger.spaces s on s.id = e.space_id",
            &[],
        )
        .await
        .expect("the whole ledger");
    let mut stored = Stored::new();
    for row in rows {
        let key: (String, String) = (row.get(0), row.get(1));
        let value = (row.get(2), row.get(3), row.get(4), row.get(5));
        let twice = stored.insert(key, value);
        assert_eq!(twice, None, "an attachment has two events of one kind");
    }
    stored
}

/// The derived table and the guard agree. Each counts offenders.
const PROOFS: [(&str, &str); 2] = [
    (
        "addresses that are not at their last step",
        "select count(*) from (select space_id, ip, max(step) as step from ipledger.events \
         where ip is not null group by 1, 2) e full join ipledger.addresses a using (space_id, ip) \
         where a.step is distinct from e.step",
    ),
    (
        "attachments that hold two addresses",
        "select count(*) from (select from ipledger.addresses where step % 2 = 0 \
         group by attachment, position having count(*) > 1) x",
    ),
];
