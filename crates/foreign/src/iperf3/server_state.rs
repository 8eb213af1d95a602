//! What the sessions of iperf3's clients at a server share.

use super::registry::Iperf3Registry;
use super::server_options::Iperf3Options;

/// What the sessions of iperf3's clients at a server share.
pub(super) struct Iperf3ServerState {
    pub(super) options: Iperf3Options,
    pub(super) tests: Iperf3Registry,
}
