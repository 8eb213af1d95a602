//! A transfer over RBT from the handshake to the account.

use super::account;
use super::budget::socket_budget;
use super::handshake::{Established, establish};
use super::receiving::ReceivingLoop;
use super::sending::SendingLoop;
use super::terms::RbtTerms;
use super::transmitter::Transmitter;
use crate::sink_worker::cpu_ns_since;
use crate::{ContentSource, MoverControl, RunSink, TransferFailure};
use caudal_core::transfer::TransferEnd;
use caudal_flow::socket::UDP_BUFFER;
use caudal_rbt::{BlockReceiver, BlockSender, DATA_HEADER_BYTES, RbtCongestion, SocketBudget};
use caudal_sys::buffers::{receive_buffer, set_receive_buffer, set_send_buffer};
use caudal_sys::clock::{CpuClock, monotonic_ns};
use caudal_sys::options::set_ecn_capable;
use caudal_sys::udp::{enable_gro, enable_receive_tos, meminfo, set_dont_fragment};
use std::io;
use std::net::UdpSocket;

/// Sends a content over a connected socket whose peer receives it with [`receive_rbt`].
pub(crate) fn send_rbt(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let cpu = CpuClock::of_this_thread();
    let before = cpu.read();
    let mut end = TransferEnd::default();
    let outcome = send(socket, terms, source, control, &mut end);
    end.cpu_ns = cpu_ns_since(cpu, before);
    (end, outcome)
}

/// Receives a content over a connected socket whose peer sends it with [`send_rbt`].
pub(crate) fn receive_rbt(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
) -> (TransferEnd, Result<(), TransferFailure>) {
    let cpu = CpuClock::of_this_thread();
    let before = cpu.read();
    let mut end = TransferEnd::default();
    let outcome = receive(socket, terms, sink, control, &mut end);
    end.cpu_ns = cpu_ns_since(cpu, before) + sink.store_cpu_ns();
    (end, outcome)
}

fn send(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    source: &mut dyn ContentSource,
    control: MoverControl<'_>,
    end: &mut TransferEnd,
) -> Result<(), TransferFailure> {
    let controller = RbtCongestion::from_name(
        terms.congestion_name(),
        terms.settings.packet_bytes,
        terms.rate,
        monotonic_ns(),
    )
    .map_err(|error| TransferFailure::Connection(error.to_string()))?;
    prepare(socket)?;
    // A buffer that cannot grow is the kernel's business: what it refuses waits.
    let _ = set_send_buffer(socket, UDP_BUFFER, true);
    let mut transmitter = Transmitter::new(socket, terms.settings.tier);
    let established = establish(socket, terms, true, control)?;
    let config = &established.config;
    // Until the receiver tells, its buffer counts as a default one.
    let budget = socket_budget(DEFAULT_BUFFER_BYTES, datagram_bytes(terms));
    let mut sender = BlockSender::new(config, controller, budget, monotonic_ns());
    if let Some(rtt_ns) = established.rtt_ns {
        sender.set_handshake_rtt(rtt_ns);
    }
    if let Some(rate) = terms.rate {
        sender.set_max_rate((rate / 8).max(1));
    }
    let mut sending = SendingLoop::new(
        socket,
        &mut sender,
        source,
        &mut transmitter,
        control,
        config.packet_bytes,
        config.start_bytes,
    )
    .map_err(prepare_failure)?;
    sending.accepted = established.accepted.as_ref();
    sending.limit = terms.limit;
    // A fixed rate would not react to marks (RFC 3168 section 5).
    sending.is_ecn_capable =
        terms.congestion_name() != "fixed" && set_ecn_capable(socket, true).is_ok();
    let outcome = sending.run();
    *end = account::sent(&sending, established.times, config.start_bytes);
    end.congestion = Some(terms.congestion_name().into());
    outcome
}

fn receive(
    socket: &UdpSocket,
    terms: &RbtTerms<'_>,
    sink: &mut dyn RunSink,
    control: MoverControl<'_>,
    end: &mut TransferEnd,
) -> Result<(), TransferFailure> {
    prepare(socket)?;
    enable_gro(socket);
    // Without it no mark is seen, and losses tell of congestion as ever.
    let _ = enable_receive_tos(socket);
    let budget = grow_buffer(socket, terms)?;
    let drops_before = meminfo(socket).map(|info| info.drops);
    let established = establish(socket, terms, false, control)?;
    let Established {
        config, accepted, ..
    } = &established;
    let mut receiver = BlockReceiver::new(config, budget, monotonic_ns());
    let mut receiving =
        ReceivingLoop::new(socket, &mut receiver, sink, control, config.window_bytes)
            .map_err(prepare_failure)?;
    receiving.accepted = accepted.as_ref();
    receiving.limit = terms.limit;
    let outcome = receiving.run();
    *end = account::received(&receiving, established.times);
    end.socket_drops = meminfo(socket)
        .zip(drops_before)
        .map(|(after, before)| u64::from(after.drops.wrapping_sub(before)));
    outcome
}

/// Linux's default receive buffer of a socket, as the kernel accounts it, bytes.
const DEFAULT_BUFFER_BYTES: u64 = 212_992;

fn datagram_bytes(terms: &RbtTerms<'_>) -> u32 {
    terms.settings.packet_bytes + DATA_HEADER_BYTES as u32
}

/// Asks for a large receive buffer: what the sender may rely on.
fn grow_buffer(socket: &UdpSocket, terms: &RbtTerms<'_>) -> Result<SocketBudget, TransferFailure> {
    let granted = set_receive_buffer(socket, UDP_BUFFER, true)
        .or_else(|_| receive_buffer(socket))
        .map_err(prepare_failure)?;
    Ok(socket_budget(u64::from(granted), datagram_bytes(terms)))
}

fn prepare(socket: &UdpSocket) -> Result<(), TransferFailure> {
    // A fragmented datagram is lost with any of its fragments: too large ones are refused instead.
    set_dont_fragment(socket, true).map_err(prepare_failure)
}

fn prepare_failure(cause: io::Error) -> TransferFailure {
    TransferFailure::Kernel {
        doing: "prepare the socket",
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{ArqMode, RbtTransfer, SendTier};
    use caudal_rbt::BlockSource;
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    struct Memory {
        bytes: Vec<u8>,
        digest: [u8; 32],
    }

    impl Memory {
        fn new(len: usize) -> Self {
            let bytes: Vec<u8> = (0..len).map(|at| (at * 31 / 7) as u8).collect();
            let digest = *blake3::hash(&bytes).as_bytes();
            Self { bytes, digest }
        }
    }

    impl BlockSource for Memory {
        fn available(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn total(&self) -> Option<u64> {
            Some(self.available())
        }

        fn read(&mut self, offset: u64, out: &mut [u8]) {
            let from = offset as usize;
            out.copy_from_slice(&self.bytes[from..from + out.len()]);
        }

        fn release(&mut self, _below: u64) {}
    }

    impl ContentSource for Memory {
        fn file(&self) -> Option<BorrowedFd<'_>> {
            None
        }

        fn digest(&self) -> Option<[u8; 32]> {
            Some(self.digest)
        }

        fn failure(&self) -> Option<String> {
            None
        }
    }

    #[derive(Default)]
    struct Collected {
        bytes: Vec<u8>,
        claimed: Option<[u8; 32]>,
    }

    impl RunSink for Collected {
        fn write(&mut self, run: &[u8]) -> Result<(), String> {
            self.bytes.extend_from_slice(run);
            Ok(())
        }

        fn begin_verification(&mut self, claimed: [u8; 32]) {
            self.claimed = Some(claimed);
        }

        fn verification(&mut self) -> Option<Result<bool, String>> {
            let digest = *blake3::hash(&self.bytes).as_bytes();
            self.claimed.map(|claimed| Ok(claimed == digest))
        }
    }

    fn pair() -> (UdpSocket, UdpSocket) {
        let one = UdpSocket::bind("127.0.0.1:0").unwrap();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        (one, other)
    }

    type Ends = [(TransferEnd, Result<(), TransferFailure>); 2];

    /// Sends the content, the initiator being the sender or the receiver: what arrived and both ends.
    fn carry(source: &mut Memory, settings: &RbtTransfer, is_upload: bool) -> (Vec<u8>, Ends) {
        let (client, server) = pair();
        let (sender, receiver) = if is_upload {
            (client, server)
        } else {
            (server, client)
        };
        let terms = |is_sender: bool| RbtTerms {
            settings,
            congestion: None,
            rate: None,
            start_bytes: 0,
            total_bytes: (is_sender || is_upload).then_some(source.bytes.len() as u64),
            token: b"token",
            is_initiator: is_sender == is_upload,
            limit: None,
        };
        let (sender_terms, receiver_terms) = (terms(true), terms(false));
        let (stop, bytes) = (
            AtomicBool::new(false),
            [AtomicU64::new(0), AtomicU64::new(0)],
        );
        let control = |at: usize| MoverControl {
            stop: &stop,
            bytes: &bytes[at],
        };
        let mut sink = Collected::default();
        let ends = std::thread::scope(|scope| {
            let receiving =
                scope.spawn(|| receive_rbt(&receiver, &receiver_terms, &mut sink, control(1)));
            let sent = send_rbt(&sender, &sender_terms, source, control(0));
            [sent, receiving.join().unwrap()]
        });
        (sink.bytes, ends)
    }

    fn settings(packet_bytes: u32, arq: ArqMode, tier: SendTier) -> RbtTransfer {
        RbtTransfer {
            packet_bytes,
            arq,
            tier,
            granularity_us: 1000,
        }
    }

    #[test]
    fn every_packet_size_and_tier_carries_the_content_both_ways_without_a_drop() {
        let mut source = Memory::new(3_000_017);
        for packet in [100, 500, 1000, 1400, 9000] {
            for tier in [SendTier::Auto, SendTier::Plain, SendTier::Mmsg] {
                for is_upload in [true, false] {
                    let settings = settings(packet, ArqMode::Sack, tier);
                    let (arrived, [(sent, outcome), (received, other)]) =
                        carry(&mut source, &settings, is_upload);
                    assert!(outcome.is_ok(), "{packet} {tier:?}: {outcome:?} {sent:?}");
                    assert!(other.is_ok(), "{packet} {tier:?}: {other:?} {received:?}");
                    assert!(arrived == source.bytes);
                    assert_eq!(received.socket_drops, Some(0), "{packet} {tier:?}");
                    assert_eq!(received.bytes, 3_000_017);
                    assert_eq!(sent.bytes, 3_000_017);
                    let blocks = 3_000_017_u64.div_ceil(u64::from(packet));
                    assert_eq!(sent.datagrams, Some(blocks + sent.retransmitted.unwrap()));
                }
            }
        }
    }

    #[test]
    fn every_way_of_repeating_carries_the_content() {
        let mut source = Memory::new(200_000);
        for arq in [ArqMode::NakBitmap, ArqMode::GoBackN, ArqMode::StopAndWait] {
            let settings = settings(1000, arq, SendTier::Auto);
            let (arrived, [(sent, outcome), (_, other)]) = carry(&mut source, &settings, true);
            assert!(
                outcome.is_ok() && other.is_ok(),
                "{outcome:?} {other:?} {sent:?}"
            );
            assert!(arrived == source.bytes);
        }
    }
}
