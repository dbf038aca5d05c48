//! The model against the ledger on PostgreSQL: two replicas, restarts, and a race.

use std::cell::{Cell, RefCell};

use ledger::answer::WindowCounts;
use ledger::command::{Count, DeclareSpace};
use ledger::{Answer, Command, Error, Ledger};
use sqlx::Connection as _;

use super::naive::Naive;
use super::replay;
use super::script::{Script, Step};
use super::told;
use super::world::World;
use crate::support::{Bench, WAIT, open, provenance};

/// Two replicas on one database; every case has a cluster of its own in it.
pub(crate) struct Replicas {
    bench: Bench,
    /// Opened once; a case takes them and gives back what it has then.
    open: RefCell<Vec<Ledger>>,
    cases: Cell<u32>,
    looks: Cell<u32>,
}

struct Case<'a> {
    replicas: &'a Replicas,
    world: World,
    naive: Naive,
    here: Ledger,
    there: Ledger,
}

impl Replicas {
    pub(crate) async fn new() -> Replicas {
        let bench = Bench::new().await;
        let open = RefCell::new(vec![
            open(&bench.database).await,
            open(&bench.database).await,
        ]);
        Replicas {
            bench,
            open,
            cases: Cell::new(0),
            looks: Cell::new(0),
        }
    }

    fn world(&self) -> World {
        self.cases.set(self.cases.get() + 1);
        World::new(&format!("cluster-{}", self.cases.get()))
    }

    fn take(&self) -> [Ledger; 2] {
        let taken = self.open.take();
        taken.try_into().expect("cases run one after the other")
    }

    /// Run a script one step after the other; every answer is the model's.
    pub(crate) async fn follow(&self, script: &Script) -> Result<(), String> {
        let world = self.world();
        let [here, there] = self.take();
        let mut case = Case {
            replicas: self,
            naive: Naive::new(world.clone(), 0),
            world,
            here,
            there,
        };
        let mut result = Ok(());
        for (index, step) in script.0.iter().enumerate() {
            result = case.step(step).await;
            if let Err(difference) = &mut result {
                *difference = format!("at step {}, {step}: {difference}", index + 1);
                break;
            }
        }
        if result.is_ok() {
            result = case.check().await;
        }
        self.open.replace(vec![case.here, case.there]);
        result
    }

    /// Send every command at once, by turns to both replicas; nobody can say what becomes of
    /// which, but the ledger is whole.
    pub(crate) async fn race(&self, script: &Script) -> Result<(), String> {
        let world = self.world();
        let replicas = self.take();
        let mut failed = None;
        for together in script.0.chunks(16) {
            let sent = together
                .iter()
                .zip(replicas.iter().cycle())
                .map(|(step, replica)| {
                    let command = race_command(&world, step);
                    async move {
                        match command {
                            Some(command) => replica.execute(command, WAIT).await.map(drop),
                            None => Ok(()),
                        }
                    }
                });
            for answer in futures_util::future::join_all(sent).await {
                if let Err(error) = answer
                    && !matches!(error, Error::Refused(_))
                {
                    failed = failed.or(Some(format!("failed: {error}")));
                }
            }
        }
        let result = replay::check(&replicas[0], &self.bench.database, &world.cluster).await;
        self.open.replace(replicas.into());
        failed.map_or(result, Err)
    }
}

fn race_command(world: &World, step: &Step) -> Option<Command> {
    Some(match step {
        Step::Add(add) => world.add(add),
        Step::Del(interface, token) => world.del(*interface, *token),
        Step::Import(import) => Command::Import(Box::new(world.import(import))),
        Step::Bind(uid) => world.bind(*uid),
        Step::Reserve(reserve) => world.reserve(reserve),
        Step::GiveBack(which, shift) => {
            let ip = world.known.ips[usize::from(*which) % world.known.ips.len()];
            world.give_back(&world.cluster, ip, u32::from(*shift))
        }
        Step::Free(which, shift) => {
            let ip = world.known.ips[usize::from(*which) % world.known.ips.len()];
            world.free(&world.cluster, ip, u32::from(*shift))
        }
        _ => return None,
    })
}

impl Case<'_> {
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        // Of two rests of one length, the one that began first ends first.
        self.naive.now += 1;
        let told = match step {
            Step::Restart => {
                self.here.clone().close().await;
                self.here = open(&self.replicas.bench.database).await;
                self.naive.tombstones.restart();
                return Ok(());
            }
            Step::Switch => {
                std::mem::swap(&mut self.here, &mut self.there);
                self.naive.tombstones.switch();
                return self.look_around().await;
            }
            Step::Free(which, shift) => match self.naive.pick(*which, *shift) {
                None => return Ok(()),
                Some((space, ip, step)) => {
                    let ip = ip.parse().expect("an address");
                    self.execute(self.world.free(&space, ip, step)).await
                }
            },
            Step::GiveBack(which, shift) => match self.naive.pick(*which, *shift) {
                None => return Ok(()),
                Some((space, ip, step)) => {
                    let ip = ip.parse().expect("an address");
                    self.execute(self.world.give_back(&space, ip, step)).await
                }
            },
            Step::Reserve(reserve) => self.execute(self.world.reserve(reserve)).await,
            Step::Import(import) => {
                let imported = self.here.import(self.world.import(import), WAIT).await;
                told::of_result(&imported.map(Answer::Imported))
            }
            Step::Add(add) => self.execute(self.world.add(add)).await,
            Step::Del(interface, token) => self.execute(self.world.del(*interface, *token)).await,
            Step::Bind(uid) => self.execute(self.world.bind(*uid)).await,
            Step::Count => self.execute(self.world.count()).await,
            other => panic!("not a step of this test: {other}"),
        };
        let expected = self.naive.execute(step);
        if let Step::Add(add) = step
            && expected.starts_with("given")
        {
            self.naive.tombstones.unbury(add.interface);
        }
        // When the rest ends is up to the database's clock.
        let timeless = |text: &str| text.split(" until ").next().map(str::to_owned);
        if timeless(&told) != timeless(&expected) {
            return Err(format!(
                "the ledger says\n    {told}\n  and the model\n    {expected}"
            ));
        }
        Ok(())
    }

    async fn execute(&self, command: Command) -> String {
        told::of_result(&self.here.execute(command, WAIT).await)
    }

    /// Have the replica follow now what the other one did, and not within a second: it opens a
    /// space, and reads what else is new on the way.
    async fn look_around(&self) -> Result<(), String> {
        let looks = self.replicas.looks.get() + 1;
        self.replicas.looks.set(looks);
        let declare = DeclareSpace {
            name: format!("shared:look-{looks}"),
            members: Vec::new(),
            provenance: provenance(),
        };
        let command = Command::DeclareSpace(Box::new(declare));
        let declared = self.here.execute(command, WAIT).await;
        declared.map(drop).map_err(|error| error.to_string())
    }

    /// The whole ledger of this case: what it shows, what its tables say, what its events say.
    async fn check(&self) -> Result<(), String> {
        for known in &self.world.known.interfaces {
            let attachment = self.world.attachment(known.interface);
            let holds = self
                .here
                .lookup(&attachment)
                .await
                .map_err(|e| e.to_string())?;
            let here: Vec<String> = holds.iter().map(|hold| hold.ip.to_string()).collect();
            let there = self.naive.held_by_interface(known.interface);
            let there: Vec<&str> = there.into_iter().map(|address| address.ip).collect();
            if here != there {
                return Err(format!("{} holds {here:?}, not {there:?}", known.interface));
            }
        }
        self.check_recorded().await?;
        replay::check(
            &self.here,
            &self.replicas.bench.database,
            &self.world.cluster,
        )
        .await
    }

    /// The counts of recorded windows, which are kept and never counted.
    async fn check_recorded(&self) -> Result<(), String> {
        for space in self.naive.space_names() {
            let command = Command::Count(Box::new(Count::Recorded(Some(space.to_owned()))));
            let counted = match self.here.execute(command, WAIT).await {
                Ok(Answer::Counted(counted)) => counted,
                other => return Err(format!("{space}: {other:?}")),
            };
            for window in counted.windows {
                let gives = |ip: &str| window.window.contains(ip.parse().expect("an address"));
                let taken = self.naive.counts(space, &gives);
                let free = window.window.capacity() - taken.sum();
                if (window.taken, window.free()) != (taken, free) {
                    return Err(format!("{window:?} has {taken:?}"));
                }
                self.check_view(space, &window).await?;
            }
        }
        Ok(())
    }

    /// What the database counts by itself.
    async fn check_view(&self, space: &str, window: &WindowCounts) -> Result<(), String> {
        let failed = |error: sqlx::Error| error.to_string();
        let url = self.replicas.bench.database.url();
        let mut connection = sqlx::PgConnection::connect(&url).await.map_err(failed)?;
        let counted: String = sqlx::query_scalar(
            "select concat_ws(' ', capacity, held, cooling, reserved, free)
             from ipledger.window_counts
             where space = $1 and cidr = $2::cidr and first_ip = $3 and last_ip = $4
                and exclude = $5",
        )
        .bind(space)
        .bind(window.window.cidr())
        .bind(ipnet::IpNet::from(window.window.start()))
        .bind(ipnet::IpNet::from(window.window.end()))
        .bind(window.window.exclude_text())
        .fetch_one(&mut connection)
        .await
        .map_err(failed)?;
        connection.close().await.map_err(failed)?;
        let (capacity, taken) = (window.window.capacity(), window.taken);
        let told = [
            capacity,
            taken.held,
            taken.cooling,
            taken.reserved,
            window.free(),
        ];
        let told = told.map(|count| count.to_string()).join(" ");
        if counted == told {
            return Ok(());
        }
        Err(format!(
            "{space} {window:?}: SQL counts {counted}, the ledger {told}"
        ))
    }
}
