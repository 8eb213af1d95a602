//! The arguments of tests that capture their own traffic.

use crate::exit::Failure;
use caudal_measure::{CaptureFileRequest, ObservationRequest, OffloadRequest};
use clap::{Args, ValueEnum};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The capture of a test, and the offloads of its interface.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Capture")]
pub struct CaptureArgs {
    /// Capture the test's traffic at this end into FILE (pcapng, replaced), and report what it shows; takes CAP_NET_RAW
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Keep this many bytes of each captured frame
    #[arg(long, value_name = "BYTES", default_value_t = 128, requires = "capture", value_parser = clap::value_parser!(u32).range(96..=262_144), allow_negative_numbers = true)]
    pub snap_length: u32,
    /// Turn the offloads of the interface (TSO, GSO, GRO, checksums) on or off until the test has ended; takes CAP_NET_ADMIN
    #[arg(long, value_name = "on|off", value_enum)]
    pub offload: Option<OffloadSwitch>,
}

/// The state that offloads are to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OffloadSwitch {
    /// On.
    On,
    /// Off: frames are captured as they cross the wire.
    Off,
}

impl CaptureArgs {
    /// What is to be seen of a test beside its result.
    pub(crate) fn request(&self) -> ObservationRequest {
        let capture = self.capture.as_ref().map(|path| CaptureFileRequest {
            path: path.clone(),
            snap_bytes: self.snap_length,
        });
        let offload = self.offload.map(|switch| match switch {
            OffloadSwitch::On => OffloadRequest::On,
            OffloadSwitch::Off => OffloadRequest::Off,
        });
        ObservationRequest { capture, offload }
    }

    /// Checks that the file, which is replaced, is none of the others of the command, each with its flag, nor in a directory among them.
    ///
    /// # Errors
    /// The flag that names the same file.
    pub(crate) fn check<'a>(
        &self,
        others: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
    ) -> Result<(), Failure> {
        let Some(capture) = &self.capture else {
            return Ok(());
        };
        for (flag, other) in others {
            let Some(other) = other else { continue };
            if is_same_file(capture, other)
                || other.is_dir() && resolved(capture).starts_with(resolved(other))
            {
                return Err(Failure::usage(
                    format!(
                        "--capture would replace {}, which {flag} names",
                        capture.display()
                    ),
                    "name another file",
                ));
            }
        }
        Ok(())
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => resolved(one) == resolved(other),
    }
}

/// The path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    fs::canonicalize(&absolute).unwrap_or_else(|_| {
        match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) => fs::canonicalize(parent)
                .unwrap_or_else(|_| parent.to_owned())
                .join(name),
            _ => absolute.clone(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_file_of_the_command_is_not_replaced() {
        let directory = std::env::temp_dir().join(format!("caudal-capture-{}", std::process::id()));
        fs::create_dir_all(directory.join("sent")).unwrap();
        let at = |name: &str| directory.join(name);
        fs::write(at("file"), "payload").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        fs::hard_link(at("file"), at("second")).unwrap();
        let check = |capture: &str, other: &str| {
            let args = CaptureArgs {
                capture: Some(at(capture)),
                snap_length: 128,
                offload: None,
            };
            args.check([("--raw", None), ("--file", Some(at(other).as_path()))])
        };
        for (capture, other) in [
            ("file", "file"),
            ("link", "file"),
            ("second", "file"),
            ("new", "sent/../new"),
            ("sent/new", "sent"),
        ] {
            let failure = check(capture, other).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{capture} {other}");
        }
        for (capture, other) in [("new", "file"), ("file", "other"), ("sent2", "sent")] {
            assert!(check(capture, other).is_ok(), "{capture} {other}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
