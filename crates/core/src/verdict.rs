//! What limited a flow, and how one can tell.
//!
//! For TCP the kernel keeps account of what its sender waited for (`tcp_info`: busy time, of which held
//! back by the receiver's window and by the send buffer); for the programs at both ends their threads'
//! processor time says whether they could have done more.

use crate::interval::Measured;
use crate::sample::TcpState;
use crate::summary::LossPlaces;
use serde::{Deserialize, Serialize};

/// The share of a thread's time on a processor from which it counts as out of CPU.
pub const CPU_BOUND: f64 = 0.85;
/// The share of time held back by one thing from which that is what limits.
const SHARE: f64 = 0.2;
/// The shortest time over which the kernel's account of waiting, kept in ticks of up to 10 ms, tells
/// anything, ns.
const SHORTEST_NS: u64 = 50_000_000;
/// The part of the rate asked for that counts as reaching it.
pub const REACHED: f64 = 0.98;

/// What limited a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
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
    /// It cannot be told.
    Unknown,
}

impl Limit {
    /// The limit in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Network => "the network",
            Self::ReceiverWindow => "the receiver's window",
            Self::SendBuffer => "the send buffer",
            Self::Pacing => "the rate asked for (pacing)",
            Self::Sender => "the sending application or its CPU",
            Self::Receiver => "the receiving application or its CPU",
            Self::Unknown => "cannot tell",
        }
    }
}

/// What limited a flow, and on what evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitedBy {
    /// What limited it.
    pub limit: Limit,
    /// What was seen that says so.
    pub evidence: String,
}

/// What is known of a flow when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The flow over the measured part.
    pub measured: &'a Measured,
    /// The rate asked of it, bit/s.
    pub asked_bps: Option<u64>,
    /// Whether buffers were set by hand.
    pub window_set: bool,
    /// Whether all processors of a machine that both ends share were busy.
    pub machine_busy: bool,
    /// Whether the flow is UDP.
    pub is_udp: bool,
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// How a thread's time on a processor is told, and whether it counts as out of CPU: a thread that is
/// ready to run and waits for a processor cannot do more either.
fn cpu(used: f64, waited: f64) -> (bool, String) {
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

/// Judges what limited a flow. The first that applies is named; see the module for the sources.
#[must_use]
pub fn judge(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let found = |limit, evidence: String| LimitedBy { limit, evidence };
    if measured.elapsed_ns < SHORTEST_NS {
        return found(
            Limit::Unknown,
            "it was over before the kernel's account of waiting, kept in ticks, could tell"
                .to_owned(),
        );
    }
    let sent_bps = measured.sent_bps();
    if let Some(asked) = evidence.asked_bps
        && sent_bps >= REACHED * asked as f64
        && (!evidence.is_udp || measured.goodput_bps() >= REACHED * asked as f64)
    {
        return found(
            Limit::Pacing,
            format!(
                "the sender kept {} of the rate asked for",
                percent(sent_bps / asked as f64)
            ),
        );
    }
    if evidence.is_udp {
        judge_udp(evidence)
    } else {
        judge_tcp(evidence)
    }
}

/// The end that could not do more for lack of a processor, if one could not.
fn out_of_cpu(evidence: &Evidence<'_>) -> Option<LimitedBy> {
    let measured = evidence.measured;
    let (sender_bound, sender) = cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    let (receiver_bound, receiver) = cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let (limit, evidence) = if sender_bound {
        (Limit::Sender, sender)
    } else if receiver_bound {
        (Limit::Receiver, receiver)
    } else if evidence.machine_busy {
        let busy = "all processors of the machine both ends share were busy";
        (Limit::Sender, busy.to_owned())
    } else {
        return None;
    };
    Some(LimitedBy { limit, evidence })
}

fn judge_udp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let found = |limit, evidence: String| LimitedBy { limit, evidence };
    let (_, sender_cpu) = cpu(measured.sender_cpu.unwrap_or(0.0), measured.sender_cpu_wait);
    if measured.credit_wait >= SHARE {
        return found(
            Limit::Receiver,
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
        return found(
            Limit::Network,
            format!("the sender waited for its own interface: {sender_cpu}"),
        );
    }
    found(Limit::Unknown, "the sender did not report".to_owned())
}

/// Whether the receiver's window only bounds how far a full path is queued up: the rate is the window over
/// the round-trip time, but that time is many times the path's own.
fn own_queue(goodput_bps: f64, last: &TcpState) -> Option<String> {
    let window = last.receiver_window_bytes? as f64 * 8.0;
    let least_s = f64::from(last.min_rtt_us?.max(1)) / 1e6;
    let now_s = f64::from(last.rtt_us.max(1)) / 1e6;
    let filled = goodput_bps >= 0.5 * window / now_s && goodput_bps < 0.3 * window / least_s;
    filled.then(|| {
        format!(
            "the path is full: a round trip takes {:.2} ms over a least of {:.2} ms, all of it queue; the receiver's window of {} bytes only bounds that queue",
            now_s * 1e3,
            least_s * 1e3,
            last.receiver_window_bytes.unwrap_or(0)
        )
    })
}

/// What the places where a direction's datagrams were lost say about what limited it.
///
/// `None` when what arrived is nearly what was sent.
#[must_use]
pub fn judge_losses(
    places: &LossPlaces,
    lost: u64,
    goodput_bps: f64,
    sent_bps: f64,
) -> Option<LimitedBy> {
    if goodput_bps >= REACHED * sent_bps {
        return None;
    }
    let at_sender = places.sender_refused.unwrap_or(0) + places.sender_qdisc.unwrap_or(0).min(lost);
    let (count, limit, place) = [
        (
            at_sender,
            Limit::Network,
            "dropped in the sender's own queue",
        ),
        (places.path.unwrap_or(0), Limit::Network, "lost on the way"),
        (
            places.receiver_socket.unwrap_or(0),
            Limit::Receiver,
            "dropped at the receiving socket",
        ),
        (
            places.path_or_socket.unwrap_or(0),
            Limit::Unknown,
            "lost on the way or at the receiving socket, which the other end does not tell apart",
        ),
    ]
    .into_iter()
    .max_by_key(|(count, ..)| *count)
    .filter(|(count, ..)| *count > 0)?;
    Some(LimitedBy {
        limit,
        evidence: format!("{count} datagrams were {place}"),
    })
}

fn judge_tcp(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    let found = |limit, evidence: String| LimitedBy { limit, evidence };
    let (receiver_bound, receiver_cpu) = cpu(
        measured.receiver_cpu.unwrap_or(0.0),
        measured.receiver_cpu_wait,
    );
    let Some((first, last)) = measured.tcp else {
        return found(
            Limit::Unknown,
            "the sender's kernel did not report".to_owned(),
        );
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
            return found(
                Limit::Receiver,
                format!(
                    "{receiver_cpu}; its window held the sender back {}",
                    percent(window)
                ),
            );
        }
        let why = if evidence.window_set {
            " (set by --window)"
        } else {
            ""
        };
        if let Some(queue) = own_queue(measured.goodput_bps(), &last) {
            return found(Limit::Network, format!("{queue}{why}"));
        }
        return found(
            Limit::ReceiverWindow,
            format!(
                "it held the sender back {} of the time; {} bytes{why}",
                percent(window),
                last.receiver_window_bytes.unwrap_or(0)
            ),
        );
    }
    if let Some(by) = out_of_cpu(evidence) {
        return by;
    }
    if let Some(buffer) = buffer.filter(|share| *share >= SHARE) {
        return found(
            Limit::SendBuffer,
            format!("the kernel waited for data {} of the time", percent(buffer)),
        );
    }
    if let Some(busy) = busy.filter(|busy| *busy <= 1.0 - SHARE) {
        if evidence.asked_bps.is_some() {
            return found(
                Limit::Pacing,
                format!(
                    "the schedule left the connection without data {} of the time",
                    percent(1.0 - busy)
                ),
            );
        }
        return found(
            Limit::Sender,
            format!(
                "the connection had nothing to send {} of the time",
                percent(1.0 - busy)
            ),
        );
    }
    // The kernel's own account of the send buffer often stays at 0: a writer that is always ahead of
    // the network and still leaves the connection without data has too small a buffer.
    if measured.app_limited > 0.5 && evidence.window_set {
        return found(
            Limit::SendBuffer,
            format!(
                "the delivery rate was application-limited in {} of the readings while the sender was blocked",
                percent(measured.app_limited)
            ),
        );
    }
    match busy {
        Some(busy) => {
            let lost = last.retransmits.saturating_sub(first.retransmits);
            found(
                Limit::Network,
                format!(
                    "the congestion window held it: data was outstanding {} of the time with nothing else in the way; {lost} segments retransmitted, rtt {:.2} ms over a least of {:.2} ms",
                    percent(busy),
                    f64::from(last.rtt_us) / 1e3,
                    f64::from(last.min_rtt_us.unwrap_or(last.rtt_us)) / 1e3,
                ),
            )
        }
        None => found(
            Limit::Unknown,
            "this kernel does not say what a connection waits for".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        let state = TcpState {
            busy_us: Some(0),
            receiver_window_limited_us: Some(0),
            send_buffer_limited_us: Some(0),
            ..TcpState::default()
        };
        let later = TcpState {
            busy_us: Some(1_000_000),
            ..state
        };
        Measured {
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

    fn judged(change: impl FnOnce(&mut Measured, &mut Evidence<'static>)) -> Limit {
        let mut of = measured();
        let placeholder: &'static Measured = Box::leak(Box::new(measured()));
        let mut evidence = Evidence {
            measured: placeholder,
            asked_bps: None,
            window_set: false,
            machine_busy: false,
            is_udp: false,
        };
        change(&mut of, &mut evidence);
        evidence.measured = Box::leak(Box::new(of));
        judge(&evidence).limit
    }

    fn later(measured: &mut Measured) -> &mut TcpState {
        &mut measured.tcp.as_mut().unwrap().1
    }

    #[test]
    fn each_limit_is_told_by_its_own_evidence() {
        assert_eq!(judged(|_, _| {}), Limit::Network);
        assert_eq!(judged(|_, e| e.asked_bps = Some(8_000_000)), Limit::Pacing);
        assert_eq!(
            judged(|_, e| e.asked_bps = Some(80_000_000)),
            Limit::Network
        );
        assert_eq!(
            judged(|m, _| later(m).receiver_window_limited_us = Some(900_000)),
            Limit::ReceiverWindow
        );
        assert_eq!(
            judged(|m, _| {
                later(m).receiver_window_limited_us = Some(900_000);
                m.receiver_cpu = Some(0.99);
            }),
            Limit::Receiver
        );
        assert_eq!(
            judged(|m, _| later(m).send_buffer_limited_us = Some(500_000)),
            Limit::SendBuffer
        );
        assert_eq!(judged(|m, _| m.sender_cpu = Some(0.97)), Limit::Sender);
        assert_eq!(
            judged(|m, _| {
                m.sender_cpu = Some(0.47);
                m.sender_cpu_wait = 0.45;
            }),
            Limit::Sender,
            "a thread that waits for a processor is out of CPU too"
        );
        assert_eq!(
            judged(|m, _| later(m).busy_us = Some(300_000)),
            Limit::Sender
        );
        assert_eq!(judged(|m, _| m.tcp = None), Limit::Unknown);
        assert_eq!(judged(|_, e| e.machine_busy = true), Limit::Sender);
    }

    #[test]
    fn datagrams_are_judged_by_where_they_were_lost() {
        let judged = |places| judge_losses(&places, 100, 5e6, 10e6).map(|by| by.limit);
        let none = LossPlaces::default();
        assert_eq!(
            judged(LossPlaces {
                receiver_socket: Some(100),
                ..none
            }),
            Some(Limit::Receiver)
        );
        assert_eq!(
            judged(LossPlaces {
                path: Some(100),
                ..none
            }),
            Some(Limit::Network)
        );
        assert_eq!(
            judged(LossPlaces {
                sender_qdisc: Some(100),
                ..none
            }),
            Some(Limit::Network)
        );
        assert_eq!(judged(none), None);
        assert_eq!(
            judge_losses(
                &LossPlaces {
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
            judged(|m, e| {
                e.is_udp = true;
                m.sender_cpu = Some(1.0);
            }),
            Limit::Sender
        );
    }

    #[test]
    fn a_window_that_only_bounds_a_full_queue_is_not_what_limits() {
        let full = |m: &mut Measured, _: &mut Evidence<'_>| {
            m.bytes = 11_950_000;
            let later = later(m);
            later.receiver_window_limited_us = Some(900_000);
            later.receiver_window_bytes = Some(80_896);
            later.rtt_us = 6_700;
            later.min_rtt_us = Some(10);
        };
        assert_eq!(judged(full), Limit::Network);
        assert_eq!(
            judged(|m, e| {
                full(m, e);
                later(m).min_rtt_us = Some(6_500);
            }),
            Limit::ReceiverWindow
        );
    }

    #[test]
    fn what_was_over_at_once_is_not_judged() {
        assert_eq!(judged(|m, _| m.elapsed_ns = 1_000_000), Limit::Unknown);
    }
}
