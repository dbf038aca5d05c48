//! The rules as a table, the pass, and what more or less evidence does.
#![cfg(test)]

mod case;
mod monotone;
mod pass;
mod table;
