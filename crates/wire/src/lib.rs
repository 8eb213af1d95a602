//! The bytes caudal exchanges. Pure.
#![forbid(unsafe_code)]
