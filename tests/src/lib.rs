//! Real parts for end-to-end tests, the demo and the benchmark: network namespaces, the CNI
//! chain, and a running `ipledger-api`.

pub mod bench;
pub mod binaries;
pub mod chain;
pub mod cnitool;
pub mod differential;
pub mod namespace;
pub mod outage;
pub mod process;
pub mod scenario;
pub mod screen;
pub mod service;
pub mod table;
