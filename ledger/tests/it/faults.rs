//! Processes that stop, connections that break, servers that go away: answers stay truthful.

mod killed;
mod load;
mod proxy;
pub(crate) mod servers;
mod standby;
mod stopped_client;
