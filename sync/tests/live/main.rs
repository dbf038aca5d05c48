//! The service against a real API server (through a proxy that makes it fail), the real API and a
//! real PostgreSQL, under exactly the rights of `deploy/sync/rbac.yaml`.
#![cfg(test)]

mod bad_reads;
mod definitions;
mod freeing;
mod identity;
mod lease;
mod nodes;
mod once;
mod owners;
mod share;
mod start;
mod steady;
mod support;
mod wakeups;
