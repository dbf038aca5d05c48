//! The commands, one file each.

pub(crate) mod completion;
pub(crate) mod diff;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod holds;
pub(crate) mod pools;
pub(crate) mod release;
pub(crate) mod spaces;
pub(crate) mod who;

use crate::arguments::{Arguments, Command};
use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::output::Output;
use crate::time::Now;

/// Runs one command to its end.
pub(crate) async fn run(arguments: Arguments) -> Result<Ended, Error> {
    let shared = arguments.shared;
    if let Command::Completion(completion) = &arguments.command {
        return completion.run();
    }
    let output = Output::new(&shared, Now::system());
    let api = Api::open(&shared)?;
    match arguments.command {
        Command::Who(who) => who.run(&api, &output).await,
        Command::History(history) => history.run(&api, &output).await,
        Command::Holds(holds) => holds.run(&api, &output).await,
        Command::Pools(pools) => pools.run(&api, &output).await,
        Command::Events(events) => events.run(&api, &output).await,
        Command::Diff(diff) => diff.run(&api, &output).await,
        Command::Release(release) => release.run(&api, &output).await,
        Command::Spaces(spaces) => spaces.run(&api, &output).await,
        Command::Completion(completion) => completion.run(),
    }
}
