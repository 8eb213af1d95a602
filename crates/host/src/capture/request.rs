//! What is captured of a test, and where it is kept.

use caudal_sys::packet::TrafficFilter;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A capture of the traffic of a test.
#[derive(Debug, Clone)]
pub struct TestCaptureRequest {
    /// The file, which is replaced.
    pub path: PathBuf,
    /// The name of the interface, in the network namespace of the calling thread.
    pub interface: String,
    /// The server; all traffic of the interface without one.
    pub server: Option<SocketAddr>,
    /// The number of bytes of a frame that are kept.
    pub snap_bytes: u32,
    /// The comment of the file.
    pub comment: String,
}

impl TestCaptureRequest {
    /// Maximum bytes kept per frame: the longest frame that the kernel hands over at once.
    pub const MAX_SNAP_BYTES: u32 = 262_144;
    /// Minimum bytes kept per frame: the headers of Ethernet, IPv6 and UDP. Below 114 bytes, TCP headers with many options are cut off,
    /// and such segments are in the file alone.
    pub const MIN_SNAP_BYTES: u32 = 96;

    pub(super) fn filter(&self) -> Option<TrafficFilter> {
        self.server.map(|server| TrafficFilter {
            peer: server.ip().to_canonical(),
            port: server.port(),
        })
    }
}

/// The filter as capture programs write it.
pub(super) struct FilterText(pub(super) Option<SocketAddr>);

impl fmt::Display for FilterText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(server) => {
                let (address, port) = (server.ip().to_canonical(), server.port());
                write!(f, "host {address} and port {port} or icmp or icmp6")
            }
        }
    }
}
