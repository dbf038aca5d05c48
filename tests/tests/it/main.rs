//! End to end: the real parts together. One binary, so that it is linked once.

mod docker;
mod limits;
mod scenario;
