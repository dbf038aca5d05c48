//! While this replica has the Lease: watches, passes, releases.

use std::sync::Arc;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agenda::{Agenda, Times, Why};
use super::report::{Passed, Report};
use super::wakeups;
use crate::act::Releaser;
use crate::config::RunConfig;
use crate::identity::FirstContact;
use crate::lease::Held;
use crate::metrics::Metrics;
use crate::observe::Watches;
use crate::pass::{Focus, Look, Looker, Outside};
use crate::project::{ProjectionWorld, Projector};
use crate::window::Window;

/// How many wake-ups may wait for one pass.
const WAITING_WAKEUPS: usize = 256;

/// What leading needs.
pub(super) struct Session {
    pub(super) config: RunConfig,
    pub(super) kube: Client,
    pub(super) outside: Outside,
    pub(super) metrics: Metrics,
    pub(super) report: Report,
    pub(super) held: Held,
}

/// What is waited for.
enum Next {
    Pass(Why),
    Windows(Vec<Window>),
    Changed,
    Listen,
}

impl Session {
    /// Leads whenever this replica has the Lease, until the shutdown.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        while shutdown
            .run_until_cancelled(self.held.won())
            .await
            .is_some()
        {
            self.metrics.leading.set(1);
            let held = self.held.clone();
            let led = shutdown.run_until_cancelled(async {
                tokio::select! {
                    () = held.lost() => tracing::warn!("the Lease is lost: nothing is done any more"),
                    () = self.lead() => {}
                }
            });
            let led = led.await;
            self.metrics.leading.set(0);
            if led.is_none() {
                return;
            }
        }
    }

    /// Nothing is remembered from an earlier time: another replica may have acted since, and a
    /// hand-over must not free anything sooner.
    async fn lead(&self) {
        let look = &self.config.look;
        let watches = Watches::start(self.kube.clone(), self.metrics.clone());
        let (sender, mut windows) = mpsc::channel(WAITING_WAKEUPS);
        let mut tasks = JoinSet::new();
        tasks.spawn(wakeups::follow(
            Arc::clone(&self.outside.ledger),
            look.cluster.clone(),
            self.metrics.clone(),
            sender,
        ));
        tasks.spawn(self.projector().run(CancellationToken::new()));
        let mut looker = Looker::new(
            &look.cluster,
            FirstContact::Bind,
            look.settings.clone(),
            self.outside.clone(),
        );
        // The first pass needs the list of pods; it says so if that takes longer.
        let patience = look.limits.timeout;
        let _ = tokio::time::timeout(patience, watches.health.listed()).await;
        let mut agenda = Agenda::new(self.config.period, self.config.settle, Instant::now());
        self.pass(&mut looker, &watches, &mut agenda, Why::Start, Focus::All)
            .await;
        let mut next_beat = Instant::now() + look.heartbeat_interval;
        loop {
            let listens = looker.wants_heartbeats();
            let next = self
                .next(
                    &agenda,
                    &watches,
                    &mut windows,
                    listens.then_some(next_beat),
                )
                .await;
            let (why, focus) = match next {
                Next::Changed => {
                    agenda.note_event(Instant::now());
                    continue;
                }
                Next::Listen => {
                    next_beat = Instant::now() + look.heartbeat_interval;
                    if !looker.hear().await {
                        continue;
                    }
                    (Why::Heartbeat, Focus::All)
                }
                Next::Windows(windows) => (Why::Wakeup, Focus::Windows(windows)),
                Next::Pass(why) => (why, Focus::All),
            };
            self.pass(&mut looker, &watches, &mut agenda, why, focus)
                .await;
        }
    }

    /// It ends with the session: only who has the Lease writes objects.
    fn projector(&self) -> Projector {
        let world = ProjectionWorld {
            kube: self.kube.clone(),
            ledger: Arc::clone(&self.outside.ledger),
            clock: Arc::clone(&self.outside.clock),
            metrics: self.metrics.projection.clone(),
            instance: self.config.lease.identity.clone(),
        };
        Projector::new(self.config.projection.clone(), world)
    }

    async fn next(
        &self,
        agenda: &Agenda,
        watches: &Watches,
        windows: &mut mpsc::Receiver<Window>,
        beat: Option<Instant>,
    ) -> Next {
        let (at, why) = agenda.next();
        if why == Why::SecondLook {
            // A timer that is due rings a moment late: a heartbeat would be first.
            return Next::Pass(why);
        }
        let mut waiting = Vec::new();
        tokio::select! {
            biased;
            () = async {
                tokio::time::sleep_until(agenda.wakeups_from()).await;
                if windows.recv_many(&mut waiting, WAITING_WAKEUPS).await == 0 {
                    // Nobody sends any more.
                    std::future::pending::<()>().await;
                }
            } => Next::Windows(waiting),
            () = tokio::time::sleep_until(at) => Next::Pass(why),
            () = sleep_until(beat) => Next::Listen,
            () = watches.changed.notified() => Next::Changed,
        }
    }

    /// One pass with its releases, and everything that tells of it.
    async fn pass(
        &self,
        looker: &mut Looker,
        watches: &Watches,
        agenda: &mut Agenda,
        why: Why,
        focus: Focus,
    ) {
        let began = Instant::now();
        let result = looker.look(&focus, &watches.index, &watches.health).await;
        let freed = match &result {
            Ok(look) => self.release(looker, look).await,
            Err(_) => 0,
        };
        let times = Times {
            began,
            ended: Instant::now(),
            clock: self.outside.clock.as_ref(),
        };
        let outlook = result.as_ref().ok().map(Look::outlook);
        match focus {
            Focus::All => agenda.passed_all(outlook, times),
            Focus::Windows(_) => agenda.passed(outlook, times),
        }
        let passed = Passed {
            why,
            is_whole: focus == Focus::All,
            freed,
            took: times.ended - began,
            now: self.outside.clock.now(),
        };
        self.report.tell(&passed, &result);
    }

    /// How many holds were freed.
    async fn release(&self, looker: &mut Looker, look: &Look) -> usize {
        let releases = look.corrections.releases.clone();
        if releases.is_empty() {
            return 0;
        }
        let releaser = Releaser::new(Arc::clone(&self.outside.ledger), self.metrics.clone());
        let outcomes = releaser.release(releases, || self.held.left()).await;
        let over = outcomes.iter().filter(|(_, outcome)| outcome.is_over());
        let mut freed = 0;
        for (key, _) in over {
            looker.forget(key);
            freed += 1;
        }
        freed
    }
}

/// For ever without a moment.
async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
