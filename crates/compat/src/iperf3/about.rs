//! The program as it presents itself: its version, its system, and its dates.

use caudal_sys::host;
use jiff::Timestamp;

/// The version a client reports to its server: that of iperf3 whose ways these are, and of this program.
pub const VERSION: &str = concat!("3.21 (caudal ", env!("CARGO_PKG_VERSION"), ")");
/// The same as output shows it, which other programs recognise by its beginning.
pub const SHOWN_VERSION: &str = concat!("iperf 3.21 (caudal ", env!("CARGO_PKG_VERSION"), ")");

/// A date of RFC 1123, UTC.
#[must_use]
pub fn rfc1123(realtime_ns: u64) -> String {
    let at = Timestamp::from_nanosecond(i128::from(realtime_ns)).unwrap_or(Timestamp::MAX);
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// This machine, as `uname -a` describes it.
#[must_use]
pub fn system_info() -> String {
    let version = host::sysctl("kernel.version").unwrap_or_default();
    format!(
        "Linux {} {} {version} {}",
        host::hostname().unwrap_or_default(),
        host::kernel_release().unwrap_or_default(),
        std::env::consts::ARCH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_rfc_1123() {
        // RFC 2616, section 3.3.1.
        assert_eq!(
            rfc1123(784_111_777_000_000_000),
            "Sun, 06 Nov 1994 08:49:37 GMT"
        );
    }
}
