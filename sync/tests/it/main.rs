//! The rules as a table, the pass, and random histories of a cluster.
#![cfg(test)]

mod case;
mod crd;
mod history;
mod import;
mod monotone;
mod pass;
mod project;
mod table;
