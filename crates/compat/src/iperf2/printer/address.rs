//! Addresses, which may be hidden.

use crate::iperf2::options::Options;
use std::net::SocketAddr;

/// The IP address as it is shown: only its last part where addresses are hidden.
pub(super) fn shown_address(options: &Options, address: SocketAddr) -> String {
    let text = address.ip().to_string();
    if !options.hide {
        return text;
    }
    let last = text.rsplit(['.', ':']).next().unwrap_or("");
    format!("*.*.*.{last}")
}
