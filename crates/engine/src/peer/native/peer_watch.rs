//! The watch over a running test at its client: what the control connection tells of the peer and of the path.

use super::control::ControlChannel;
use crate::own_interface::{InterfaceAccount, OwnInterface};
use crate::own_wait::OwnWait;
use caudal_analysis::episode::{SilenceWatch, WatchReading};
use caudal_core::episode::Episode;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::tcp_info;
use std::net::TcpStream;
use std::time::Duration;

/// Silence after which the kernel is asked what the peer's kernel has acknowledged, ns.
const ASK_KERNEL_NS: u64 = 250_000_000;

/// The watch over a running test at its client.
pub(super) struct PeerWatch {
    watch: SilenceWatch,
    wait: OwnWait,
    interface: OwnInterface,
    /// What the peer's kernel had acknowledged at the last look at a quiet peer, bytes.
    acked_bytes: Option<u64>,
    /// The look that found more of it.
    acknowledged_ns: Option<u64>,
}

impl PeerWatch {
    /// The watch over a test by `control` that starts now, on a path with this round-trip time, whose queues may delay an answer by `patience`; it
    /// belongs to the calling thread.
    pub(super) fn start(control: &TcpStream, rtt: Duration, patience: Duration) -> Self {
        let now_ns = monotonic_ns();
        Self {
            watch: SilenceWatch::new(now_ns, rtt.max(patience)),
            wait: OwnWait::of_this_thread(now_ns),
            interface: OwnInterface::of(control, now_ns),
            acked_bytes: None,
            acknowledged_ns: None,
        }
    }

    /// Begins to wait: until `until_ns`, or the next look if that is earlier.
    pub(super) fn wait_until_ns(&mut self, until_ns: u64) -> u64 {
        self.wait.wait_until_ns(until_ns)
    }

    /// Takes a look after the wait; `payload_ns` is the time at which payload arrived last. `true` when the peer is to be asked for
    /// an answer.
    pub(super) fn look(&mut self, channel: &ControlChannel, payload_ns: u64) -> bool {
        let now_ns = monotonic_ns();
        let heard_ns = payload_ns.max(channel.last_received_ns());
        let is_quiet = now_ns.saturating_sub(heard_ns) >= ASK_KERNEL_NS;
        if is_quiet {
            self.look_at_acknowledgements(channel, now_ns);
        } else {
            self.acked_bytes = None;
        }
        self.watch.read(&WatchReading {
            heard_ns,
            acknowledged_ns: self.acknowledged_ns,
            ..self.wait.reading(now_ns)
        });
        self.interface.look(now_ns);
        self.watch.is_question_due(now_ns)
    }

    /// The episodes of the test, which ends now, and what became of this host's interface and route.
    pub(super) fn finish(self) -> (Vec<Episode>, InterfaceAccount) {
        let now_ns = monotonic_ns();
        (self.watch.finish(now_ns), self.interface.finish(now_ns))
    }

    /// Takes note of what the peer's kernel has acknowledged since the last look. The time of the last acknowledgement does not
    /// tell: a peer that hears nothing sends its own data again, and each such segment acknowledges something old.
    fn look_at_acknowledgements(&mut self, channel: &ControlChannel, now_ns: u64) {
        let info = tcp_info(channel.stream()).ok();
        let acked_bytes = info.and_then(|info| info.bytes_acked);
        if self.acked_bytes.is_some() && acked_bytes > self.acked_bytes {
            self.acknowledged_ns = Some(now_ns);
        }
        self.acked_bytes = acked_bytes;
    }
}
