//! The bottleneck of a flow and the evidence for it.
//!
//! For TCP the kernel accounts for the time its sender was busy and for the parts of it limited by the receiver's window and
//! by the send buffer (`tcp_info`); for the applications at both ends the processor time of their threads shows whether they
//! could have done more.

use crate::loss::LossLocation;
use crate::sample::TcpSnapshot;
use crate::timeline::MeasuredFlow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a thread's time on a processor from which it counts as out of CPU.
pub const CPU_BOUND: f64 = 0.85;
/// The share of time limited by one thing from which that thing is the bottleneck.
const SHARE: f64 = 0.2;
/// The minimum time over which the kernel's account, kept in ticks of up to 10 ms, means anything, ns.
const MIN_ELAPSED_NS: u64 = 50_000_000;
/// The part of the rate asked for that counts as reaching it.
pub const REACHED: f64 = 0.98;

/// The thing that limited a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The network: the congestion window (TCP), or loss before the receiving socket (UDP).
    Network,
    /// The window the receiver advertises.
    ReceiverWindow,
    /// The sender's socket buffer.
    SendBuffer,
    /// The rate that was asked for.
    Pacing,
    /// The sending application, or its processor.
    Sender,
    /// The receiving application, or its processor.
    Receiver,
    /// It cannot be told from what was measured.
    Unknown,
}

impl std::fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Network => "the network",
            Self::ReceiverWindow => "the receiver's window",
            Self::SendBuffer => "the send buffer",
            Self::Pacing => "the rate asked for (pacing)",
            Self::Sender => "the sending application or its CPU",
            Self::Receiver => "the receiving application or its CPU",
            Self::Unknown => "cannot tell",
        })
    }
}

/// The bottleneck of a flow or a direction, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedBy {
    /// The bottleneck.
    pub limit: Bottleneck,
    /// The evidence, in words.
    pub evidence: String,
    /// `true` when the evidence is that a thread was short of processor time.
    #[serde(skip)]
    pub out_of_cpu: bool,
}

impl LimitedBy {
    fn new(limit: Bottleneck, evidence: impl Into<String>) -> Self {
        Self {
            limit,
            evidence: evidence.into(),
            out_of_cpu: false,
        }
    }

    /// Nothing was measured that could tell.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self::new(Bottleneck::Unknown, why)
    }
}

/// The evidence about one flow.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The flow over the measured part.
    pub measured: &'a MeasuredFlow,
    /// The rate asked of it, bit/s.
    pub asked_bps: Option<u64>,
    /// `true` when socket buffers were set by hand.
    pub window_set: bool,
    /// `true` when all processors of a machine that both ends share were busy.
    pub machine_busy: bool,
    /// `true` for a flow of datagrams.
    pub is_udp: bool,
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `true` when a thread was short of processor time, and its processor time in words: a thread that is
/// runnable and waits for a processor cannot do more either.
fn thread_cpu(used: f64, waited: f64) -> (bool, String) {
    let text = if waited >= 0.02 {
        format!(
            "its thread was on a processor {} of the time and waiting for one {}",
            percent(used),
            percent(waited)
        )
    } else {
        format!(
            "its thread was on a processor {} of the time",
            percent(used)
        )
    };
    (used + waited >= CPU_BOUND, text)
}

/// Finds the bottleneck of a flow: the first that applies; see the module for the sources.
#[must_use]
pub fn find(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    if measured.elapsed_ns < MIN_ELAPSED_NS {
        return LimitedBy::new(
            Bottleneck::Unknown,
            "the flow ended before the kernel's account, kept in ticks, means anything",
        );
    }
    let sent_bps = measured.sent_bps();
    if let Some(asked) = evidence.asked_bps
        && sent_bps >= REACHED * asked as f64
        && (!evidence.is_udp || measured.goodput_bps() >= REACHED * asked as f64)
    {
        return LimitedBy::new(
            Bottleneck::Pacing,
            format!(
                "the sender reached {} of the rate asked for",
                percent(sent_bps / asked as f64)
            ),
        );
    }
    if evidence.is_udp {
        find_udp(evidence)
    } else {
        find_tcp(evidence)
    }
}

/// The end that was short of processor time, if one was.
fn out_of_cpu(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let (sender_bound, sender) =
        thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    let (receiver_bound, receiver) = thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let (limit, evidence) = if sender_bound {
        (Bottleneck::Sender, sender)
    } else if receiver_bound {
        (Bottleneck::Receiver, receiver)
    } else if evidence.machine_busy {
        let busy = "all processors of the machine both ends share were busy";
        (Bottleneck::Sender, busy.to_owned())
    } else {
        return None;
    };
    Some(LimitedBy {
        out_of_cpu: true,
        ..LimitedBy::new(limit, evidence)
    })
}

fn find_udp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let (_, sender_cpu) = thread_cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    if measured.credit_wait >= SHARE {
        return LimitedBy::new(
            Bottleneck::Receiver,
            format!(
                "the sender waited for the receiver {} of the time",
                percent(measured.credit_wait)
            ),
        );
    }
    if let Some(by) = out_of_cpu(evidence) {
        return by;
    }
    if measured.sender_cpu.is_some() {
        return LimitedBy::new(
            Bottleneck::Network,
            format!("the sender waited for its own interface: {sender_cpu}"),
        );
    }
    LimitedBy::unknown("the sender did not report")
}

/// The evidence that the receiver's window only bounds the queue of a full path: the rate is the window over
/// the round-trip time, but that time is many times the path's own. `None` where it is not so.
fn queue_bound_by_window(goodput_bps: f64, last: &TcpSnapshot) -> Option<String> {
    let window = last.receiver_window_bytes? as f64 * 8.0;
    let min_s = f64::from(last.min_rtt_us?.max(1)) / 1e6;
    let now_s = f64::from(last.rtt_us.max(1)) / 1e6;
    let filled = goodput_bps >= 0.5 * window / now_s && goodput_bps < 0.3 * window / min_s;
    filled.then(|| {
        format!(
            "the path is full: rtt {:.2} ms (min {:.2} ms), the difference is queueing; the receiver's window of {} bytes only bounds that queue",
            now_s * 1e3,
            min_s * 1e3,
            last.receiver_window_bytes.unwrap_or(0)
        )
    })
}

/// The bottleneck of a direction by the loss location of its datagrams.
///
/// `None` when nearly all that was sent arrived.
#[must_use]
pub fn find_by_loss(
    location: &LossLocation,
    lost: u64,
    goodput_bps: f64,
    sent_bps: f64,
) -> Option<LimitedBy> {
    if goodput_bps >= REACHED * sent_bps {
        return None;
    }
    let at_sender =
        location.sender_refused.unwrap_or(0) + location.sender_qdisc.unwrap_or(0).min(lost);
    let (count, limit, place) = [
        (
            at_sender,
            Bottleneck::Network,
            "dropped in the sender's own queue",
        ),
        (
            location.path.unwrap_or(0),
            Bottleneck::Network,
            "lost on the path",
        ),
        (
            location.receiver_socket.unwrap_or(0),
            Bottleneck::Receiver,
            "dropped at the receiving socket",
        ),
        (
            location.path_or_socket.unwrap_or(0),
            Bottleneck::Unknown,
            "lost on the path or at the receiving socket, which the other end does not tell apart",
        ),
    ]
    .into_iter()
    .max_by_key(|(count, ..)| *count)
    .filter(|(count, ..)| *count > 0)?;
    Some(LimitedBy::new(
        limit,
        format!("{count} datagrams were {place}"),
    ))
}

fn find_tcp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let (receiver_bound, receiver_cpu) = thread_cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let Some((first, last)) = measured.tcp else {
        return LimitedBy::new(Bottleneck::Unknown, "the sender's kernel did not report");
    };
    let elapsed_us = measured.sender_elapsed_ns.unwrap_or(measured.elapsed_ns) as f64 / 1e3;
    let share = |then: Option<u64>, now: Option<u64>| {
        Some((now?.saturating_sub(then?) as f64 / elapsed_us).min(1.0))
    };
    let busy = share(first.busy_us, last.busy_us);
    let window = share(
        first.receiver_window_limited_us,
        last.receiver_window_limited_us,
    );
    let buffer = share(first.send_buffer_limited_us, last.send_buffer_limited_us);
    if let Some(window) = window.filter(|share| *share >= SHARE) {
        if receiver_bound || (evidence.machine_busy && !evidence.window_set) {
            return LimitedBy {
                out_of_cpu: receiver_bound,
                ..LimitedBy::new(
                    Bottleneck::Receiver,
                    format!(
                        "{receiver_cpu}; its window limited the sender {} of the time",
                        percent(window)
                    ),
                )
            };
        }
        let why = if evidence.window_set {
            " (set by hand)"
        } else {
            ""
        };
        if let Some(queue) = queue_bound_by_window(measured.goodput_bps(), &last) {
            return LimitedBy::new(Bottleneck::Network, format!("{queue}{why}"));
        }
        return LimitedBy::new(
            Bottleneck::ReceiverWindow,
            format!(
                "it limited the sender {} of the time; {} bytes{why}",
                percent(window),
                last.receiver_window_bytes.unwrap_or(0)
            ),
        );
    }
    if let Some(by) = out_of_cpu(evidence) {
        return by;
    }
    if let Some(buffer) = buffer.filter(|share| *share >= SHARE) {
        return LimitedBy::new(
            Bottleneck::SendBuffer,
            format!("the kernel waited for data {} of the time", percent(buffer)),
        );
    }
    if let Some(busy) = busy.filter(|busy| *busy <= 1.0 - SHARE) {
        if evidence.asked_bps.is_some() {
            return LimitedBy::new(
                Bottleneck::Pacing,
                format!(
                    "the schedule left the connection without data {} of the time",
                    percent(1.0 - busy)
                ),
            );
        }
        return LimitedBy::new(
            Bottleneck::Sender,
            format!(
                "the connection had nothing to send {} of the time",
                percent(1.0 - busy)
            ),
        );
    }
    // The kernel's own account of the send buffer often stays at 0: a sender that is always ahead of
    // the network and still leaves the connection without data has too small a buffer.
    if measured.app_limited > 0.5 && evidence.window_set {
        return LimitedBy::new(
            Bottleneck::SendBuffer,
            format!(
                "the delivery rate was application-limited in {} of the readings while the sender was blocked",
                percent(measured.app_limited)
            ),
        );
    }
    match busy {
        Some(busy) => {
            let lost = last.retransmits.saturating_sub(first.retransmits);
            LimitedBy::new(
                Bottleneck::Network,
                format!(
                    "the congestion window limited it: data was outstanding {} of the time and nothing else limited it; {lost} segments retransmitted, rtt {:.2} ms (min {:.2} ms)",
                    percent(busy),
                    f64::from(last.rtt_us) / 1e3,
                    f64::from(last.min_rtt_us.unwrap_or(last.rtt_us)) / 1e3,
                ),
            )
        }
        None => LimitedBy::new(
            Bottleneck::Unknown,
            "this kernel does not report what a connection waits for",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> MeasuredFlow {
        let state = TcpSnapshot {
            busy_us: Some(0),
            receiver_window_limited_us: Some(0),
            send_buffer_limited_us: Some(0),
            ..TcpSnapshot::default()
        };
        let later = TcpSnapshot {
            busy_us: Some(1_000_000),
            ..state
        };
        MeasuredFlow {
            bytes: 1_000_000,
            start_ns: 0,
            elapsed_ns: 1_000_000_000,
            receiver_cpu: Some(0.1),
            receiver_cpu_wait: 0.0,
            sender_cpu: Some(0.1),
            sender_cpu_wait: 0.0,
            sender_bytes: Some(1_000_000),
            sender_elapsed_ns: Some(1_000_000_000),
            credit_wait: 0.0,
            tcp: Some((state, later)),
            app_limited: 0.0,
        }
    }

    fn bottleneck(change: impl FnOnce(&mut MeasuredFlow, &mut Evidence<'static>)) -> Bottleneck {
        let mut of = measured();
        let placeholder: &'static MeasuredFlow = Box::leak(Box::new(measured()));
        let mut evidence = Evidence {
            measured: placeholder,
            asked_bps: None,
            window_set: false,
            machine_busy: false,
            is_udp: false,
        };
        change(&mut of, &mut evidence);
        evidence.measured = Box::leak(Box::new(of));
        find(&evidence).limit
    }

    fn later(measured: &mut MeasuredFlow) -> &mut TcpSnapshot {
        &mut measured.tcp.as_mut().unwrap().1
    }

    #[test]
    fn each_bottleneck_is_found_by_its_own_evidence() {
        assert_eq!(bottleneck(|_, _| {}), Bottleneck::Network);
        assert_eq!(
            bottleneck(|_, e| e.asked_bps = Some(8_000_000)),
            Bottleneck::Pacing
        );
        assert_eq!(
            bottleneck(|_, e| e.asked_bps = Some(80_000_000)),
            Bottleneck::Network
        );
        assert_eq!(
            bottleneck(|m, _| later(m).receiver_window_limited_us = Some(900_000)),
            Bottleneck::ReceiverWindow
        );
        assert_eq!(
            bottleneck(|m, _| {
                later(m).receiver_window_limited_us = Some(900_000);
                m.receiver_cpu = Some(0.99);
            }),
            Bottleneck::Receiver
        );
        assert_eq!(
            bottleneck(|m, _| later(m).send_buffer_limited_us = Some(500_000)),
            Bottleneck::SendBuffer
        );
        assert_eq!(
            bottleneck(|m, _| m.sender_cpu = Some(0.97)),
            Bottleneck::Sender
        );
        assert_eq!(
            bottleneck(|m, _| {
                m.sender_cpu = Some(0.47);
                m.sender_cpu_wait = 0.45;
            }),
            Bottleneck::Sender,
            "a thread that waits for a processor is out of CPU too"
        );
        assert_eq!(
            bottleneck(|m, _| later(m).busy_us = Some(300_000)),
            Bottleneck::Sender
        );
        assert_eq!(bottleneck(|m, _| m.tcp = None), Bottleneck::Unknown);
        assert_eq!(bottleneck(|_, e| e.machine_busy = true), Bottleneck::Sender);
    }

    #[test]
    fn lost_datagrams_are_judged_by_their_location() {
        let found = |places| find_by_loss(&places, 100, 5e6, 10e6).map(|by| by.limit);
        let none = LossLocation::default();
        assert_eq!(
            found(LossLocation {
                receiver_socket: Some(100),
                ..none
            }),
            Some(Bottleneck::Receiver)
        );
        assert_eq!(
            found(LossLocation {
                path: Some(100),
                ..none
            }),
            Some(Bottleneck::Network)
        );
        assert_eq!(
            found(LossLocation {
                sender_qdisc: Some(100),
                ..none
            }),
            Some(Bottleneck::Network)
        );
        assert_eq!(found(none), None);
        assert_eq!(
            find_by_loss(
                &LossLocation {
                    path: Some(1),
                    ..none
                },
                1,
                9.99e6,
                10e6
            ),
            None
        );
    }

    #[test]
    fn a_busy_sender_of_datagrams_is_named() {
        assert_eq!(
            bottleneck(|m, e| {
                e.is_udp = true;
                m.sender_cpu = Some(1.0);
            }),
            Bottleneck::Sender
        );
    }

    #[test]
    fn a_window_that_only_bounds_a_full_queue_is_not_the_bottleneck() {
        let full = |m: &mut MeasuredFlow, _: &mut Evidence<'_>| {
            m.bytes = 11_950_000;
            let later = later(m);
            later.receiver_window_limited_us = Some(900_000);
            later.receiver_window_bytes = Some(80_896);
            later.rtt_us = 6_700;
            later.min_rtt_us = Some(10);
        };
        assert_eq!(bottleneck(full), Bottleneck::Network);
        assert_eq!(
            bottleneck(|m, e| {
                full(m, e);
                later(m).min_rtt_us = Some(6_500);
            }),
            Bottleneck::ReceiverWindow
        );
    }

    #[test]
    fn a_flow_that_ended_at_once_is_not_bottleneck() {
        assert_eq!(
            bottleneck(|m, _| m.elapsed_ns = 1_000_000),
            Bottleneck::Unknown
        );
    }
}
