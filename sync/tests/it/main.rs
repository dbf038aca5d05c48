//! The rules as a table, the pass, and what more or less evidence does.
#![cfg(test)]

mod case;
mod crd;
mod import;
mod monotone;
mod pass;
mod project;
mod table;
