//! What a server is made of.

use crate::access::UiToken;
use crate::form::CommandForm;
use crate::job::Jobs;
use crate::password::UiPassword;
use crate::scratch::ScratchFiles;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Checks a command line as the program does when it is started with it: the reason why it makes no sense.
pub type LineCheck = Arc<dyn Fn(&[String]) -> Result<(), String> + Send + Sync>;

/// The tests of a watched path in a store, as JSON for a page: the reason where there are none to be had.
pub type WatchedTests = Arc<dyn Fn(&Path, &str) -> Result<Value, String> + Send + Sync>;

/// The settings of a server.
#[derive(Clone)]
pub struct UiOptions {
    /// This program, which carries out everything.
    pub program: PathBuf,
    /// Its version.
    pub version: String,
    /// The commands that pages may start.
    pub forms: Vec<CommandForm>,
    /// Checks their lines.
    pub check: LineCheck,
    /// The tests of watched paths.
    pub watched: WatchedTests,
    /// The store; `None` where nothing is recorded.
    pub store: Option<PathBuf>,
}

/// A password, and the token that it gives.
pub(crate) struct PasswordLogin {
    pub(crate) password: UiPassword,
    pub(crate) token: UiToken,
}

/// What all requests share.
#[derive(Clone)]
pub(crate) struct UiState {
    pub(crate) options: Arc<UiOptions>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) scratch: Arc<ScratchFiles>,
    /// The password that gives the token, where the server is reached from elsewhere.
    pub(crate) login: Option<Arc<PasswordLogin>>,
}
