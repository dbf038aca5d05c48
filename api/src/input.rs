//! Reading requests: bodies, query parameters and cursors. Strict everywhere: what cannot be
//! meant is refused with the key and the value.

mod body;
mod cursor;
mod json;
mod query;

pub(crate) use body::JsonBody;
pub(crate) use cursor::Cursor;
pub(crate) use query::Query;
