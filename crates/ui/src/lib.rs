//! The view in the user's own browser: a web server on loopback whose pages start tests, watch them, and look through what was recorded.
//!
//! A test, a study and a lab is this program started anew with the command line that the page shows (`job`): a page may do what the user who
//! started the server may, and nothing runs in the server's own process. What the page is told comes from the JSON that every command
//! prints.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, reason = "a test that fails may panic")
)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a failed test names the line")
)]

mod access;
mod api;
mod assets;
mod form;
mod job;
mod own_program;
mod password;
mod reach;
mod scratch;
mod server;
mod state;

pub use access::{UiToken, allowed_hosts};
pub use form::{CommandForm, FormArgument, FormValue};
pub use password::{PasswordError, UiPassword, password_line};
pub use reach::{RemoteReach, TlsFilesError, tls_of_files};
pub use server::UiServer;
pub use state::{LineCheck, UiOptions, WatchedTests};
