//! The kernel behind safe functions.
#![allow(unsafe_code, reason = "this crate is the one home of system calls that no library wraps")]
