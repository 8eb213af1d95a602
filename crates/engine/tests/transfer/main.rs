//! File transfers over loopback, with a server of caudal and with a relay that damages what it carries.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod arrival;
mod failure;
mod protocols;
mod refusal;
mod resumption;
mod support;
