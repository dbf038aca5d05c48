//! The projection without a cluster: what is rendered, and what a plan writes.

mod apply_model;
mod plan;
mod render;
mod sample;
