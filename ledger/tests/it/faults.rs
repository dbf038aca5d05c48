//! Processes that stop, connections that break, servers that go away: answers stay truthful.

mod proxy;
mod stopped_client;
