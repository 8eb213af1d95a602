//! Whether connections that are opened ask for ECN: ip-sysctl(5), `tcp_ecn`.

use std::fs;
use std::io;
use std::path::Path;

const SETTING: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// The setting for connections that are opened here while this lives, in this network namespace; put back then.
///
/// The kernel has no socket option for it. Other programs' connections that are opened meanwhile are opened with it too, so it is held for
/// as short as possible.
#[derive(Debug)]
pub struct EcnRequest {
    before: Option<String>,
}

impl EcnRequest {
    /// Has connections ask for ECN, or not. Writes nothing where they do so already.
    ///
    /// # Errors
    /// When the setting cannot be read or written: without privileges, or in a container.
    pub fn hold(asks: bool) -> io::Result<Self> {
        Self::hold_at(Path::new(SETTING), asks)
    }

    fn hold_at(path: &Path, asks: bool) -> io::Result<Self> {
        let before = fs::read_to_string(path)?.trim().to_owned();
        if asks_already(&before) == asks {
            return Ok(Self { before: None });
        }
        // 1 asks and accepts, 2 accepts alone, 3 and 5 are those of AccECN, which a setting of others is left at.
        fs::write(path, if asks { "1" } else { "2" })?;
        Ok(Self {
            before: Some(before),
        })
    }

    /// The setting as it was, where it was changed.
    #[must_use]
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }
}

impl Drop for EcnRequest {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = fs::write(SETTING, before);
        }
    }
}

/// `true` for settings with which connections that are opened ask for ECN: 1, and 3 and 4, which ask for AccECN or for ECN beside it.
fn asks_already(setting: &str) -> bool {
    matches!(setting, "1" | "3" | "4")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_asks_is_left_alone() {
        for (setting, asks) in [
            ("0", false),
            ("1", true),
            ("2", false),
            ("3", true),
            ("5", false),
        ] {
            assert_eq!(asks_already(setting), asks, "{setting}");
        }
        let path = std::env::temp_dir().join(format!("caudal-ecn-{}", std::process::id()));
        fs::write(&path, "1\n").unwrap();
        assert_eq!(EcnRequest::hold_at(&path, true).unwrap().before(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
        fs::remove_file(&path).unwrap();
        assert!(EcnRequest::hold_at(&path, true).is_err());
    }
}
