//! Processes that stop, connections that break, servers that go away: answers stay truthful.

mod flights;
mod killed;
mod load;
mod neighbours;
mod pressure;
mod proxy;
mod reopened;
mod replaced;
mod replicas;
pub(crate) mod servers;
mod standby;
mod stopped_client;
mod tls;
