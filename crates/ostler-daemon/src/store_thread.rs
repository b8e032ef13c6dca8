//! The store on a thread of its own.

pub(crate) use ostler_store::StoreHandle;
