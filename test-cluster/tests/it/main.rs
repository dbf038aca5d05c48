//! A real API server: what is started, under whose rights, how it ends, and each fault.
#![cfg(test)]

mod access;
mod incumbent;
mod lifecycle;
mod programs;
mod proxy;
mod reports;
mod support;
