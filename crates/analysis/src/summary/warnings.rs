//! The warnings about a bulk transfer.

use super::context::{Context, DirectionFlows};
use crate::bottleneck::{REACHED, offered_bps};
use crate::host_health::throttled_warning;
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::episode::episode_warnings;
use caudal_core::loss::Loss;
use caudal_core::plan::{Direction, Rate, TestEnd, Transport};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};

/// Minimum datagrams of a flow for its rate to be compared with the one asked for.
const FEW_DATAGRAMS: u64 = 10;
/// A receive buffer smaller than this overflows in bursts, bytes.
const SMALL_BUFFER: u64 = 1 << 20;
/// Minimum payload of a connection for it to show whether the path clears the ECN field, bytes.
const MIN_BYTES_FOR_ECN: u64 = 100_000;
/// The share of processor time given to others that is worth a warning.
const STOLEN_SHARE: f64 = 0.02;

/// Adds the warnings about one direction.
pub(super) fn direction_warnings(
    context: &Context<'_>,
    flows: &DirectionFlows<'_>,
    limited_by: &LimitedBy,
    loss: Option<&Loss>,
    warnings: &mut Vec<Warning>,
) {
    flow_warnings(context, flows, warnings);
    cpu_warnings(context, flows, limited_by, warnings);
    warnings.extend(not_all_arrived(context, flows));
    warnings.extend(checksum_errors(context, flows.direction));
    warnings.extend(ecn_warning(context, flows));
    rate_warnings(context, flows, loss, warnings);
    if let Some(loss) = loss {
        loss_warnings(flows, loss, warnings);
    }
}

fn flow_warnings(context: &Context<'_>, flows: &DirectionFlows<'_>, warnings: &mut Vec<Warning>) {
    let direction = flows.direction.in_text();
    for record in &flows.records {
        let id = record.flow.id;
        for (end, name) in [(&record.sender, "sender"), (&record.receiver, "receiver")] {
            let failure = end.as_ref().and_then(|end| end.failure.as_ref());
            // Where the whole test was cut short, its flows ended with it.
            if let Some(failure) = failure.filter(|_| context.cut_short.is_none()) {
                warnings.push(Warning::new(
                    WarningCode::FlowFailed,
                    format!("flow {id} ({direction}) failed at the {name}: {failure}"),
                ));
            }
        }
        if let Some(implausible) = record.implausible {
            warnings.push(Warning::new(
                WarningCode::ImplausibleCount,
                format!("flow {id} ({direction}): {implausible}"),
            ));
        }
        let fell_back = record
            .sender
            .as_ref()
            .is_some_and(|end| end.granted.mptcp == Some(false));
        if context.wants_mptcp() && fell_back {
            warnings.push(Warning::new(
                WarningCode::MptcpNotUsed,
                format!("flow {id} ({direction}) fell back to plain TCP"),
            ));
        }
    }
}

fn cpu_warnings(
    context: &Context<'_>,
    flows: &DirectionFlows<'_>,
    limited_by: &LimitedBy,
    warnings: &mut Vec<Warning>,
) {
    let direction = flows.direction.in_text();
    let (code, end) = match limited_by.limit {
        Bottleneck::Sender if limited_by.is_out_of_cpu() => (WarningCode::SenderCpu, "sender"),
        Bottleneck::Receiver if limited_by.is_out_of_cpu() => {
            (WarningCode::ReceiverCpu, "receiver")
        }
        _ => return,
    };
    let message = format!(
        "{direction}: the {end} ran out of CPU ({})",
        limited_by.evidence
    );
    let warning = Warning::new(code, message);
    warnings.push(match context.transport() {
        Transport::Tcp => warning,
        Transport::Udp => warning
            .with_remedy("use larger datagrams or more parallel flows; the network may give more"),
    });
}

/// The warning about connections that did not use ECN where it was asked for, or whose segments arrived without its field.
fn ecn_warning(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Option<Warning> {
    let asked = context.plan.tcp()?.ask_ecn == Some(true);
    let states = flows.records.iter();
    let states = states.filter_map(|record| record.sent()?.tcp?.ecn);
    let (negotiated, all) =
        states.fold((0, 0), |(some, all), one| (some + u64::from(one), all + 1));
    let direction = flows.direction.in_text();
    if asked && negotiated < all {
        let message = format!(
            "{direction}: {} of {all} connections have no ECN, though it was asked for",
            all - negotiated
        );
        return Some(Warning::new(WarningCode::EcnNotUsed, message));
    }
    // What is sent again is not marked as capable: of little, all may have been.
    let seen = flows.records.iter().filter(|record| {
        let received = record.received();
        received.is_some_and(|received| received.bytes >= MIN_BYTES_FOR_ECN)
    });
    let mut seen = seen.filter_map(|record| record.receiver.as_ref()?.ecn_seen);
    seen.any(|seen| !seen).then(|| {
        let message = format!(
            "{direction}: both ends agreed on ECN, and no segment arrived as ECN-capable (cleared on the path)"
        );
        Warning::new(WarningCode::EcnChanged, message)
    })
}

/// The warning about packets that the receiver's kernel dropped because they were damaged.
fn checksum_errors(context: &Context<'_>, direction: Direction) -> Option<Warning> {
    let usage = match direction {
        Direction::Up => context.server_usage?,
        Direction::Down => context.client_usage,
    };
    let (errors, packets) = match context.transport() {
        Transport::Tcp => (usage.tcp_checksum_errors, "segments"),
        Transport::Udp => (usage.udp_checksum_errors, "datagrams"),
    };
    let errors = errors.filter(|errors| *errors > 0)?;
    Some(Warning::new(
        WarningCode::ChecksumErrors,
        format!(
            "{}: the receiver's kernel dropped {errors} {packets} with a wrong checksum",
            direction.in_text()
        ),
    ))
}

fn rate_warnings(
    context: &Context<'_>,
    flows: &DirectionFlows<'_>,
    loss: Option<&Loss>,
    warnings: &mut Vec<Warning>,
) {
    let Rate::Limit(asked) = context.bulk.rate else {
        return;
    };
    let direction = flows.direction.in_text();
    let sent = loss.and_then(|loss| loss.sent).unwrap_or(0);
    if sent > 0 && sent < FEW_DATAGRAMS * flows.records.len() as u64 {
        warnings.push(
            Warning::new(
                WarningCode::TooShort,
                format!(
                    "{direction}: {sent} datagrams of {} bytes are too few to compare with a rate",
                    context.bulk.length
                ),
            )
            .with_remedy("measure longer, or with shorter datagrams"),
        );
    }
    let slow = flows.measured.iter().find_map(|flow| {
        let sent = flow.sender_bytes? as f64 * 8e9 / flow.sender_elapsed_ns?.max(1) as f64;
        // What the kernel refused has a warning of its own.
        let offered = loss.map_or(sent, |loss| offered_bps(sent, loss));
        (offered < REACHED * asked.as_f64()).then_some(sent)
    });
    if let Some(sent) = slow {
        warnings.push(Warning::new(
            WarningCode::RateNotReached,
            format!(
                "{direction}: a flow sent {} of the {asked} asked for",
                BitRate::from_f64(sent).unwrap_or(BitRate::ZERO)
            ),
        ));
    }
}

fn loss_warnings(flows: &DirectionFlows<'_>, loss: &Loss, warnings: &mut Vec<Warning>) {
    let direction = flows.direction.in_text();
    let location = loss.location.unwrap_or_default();
    let host = match flows.direction {
        Direction::Up => "this host",
        Direction::Down => "the server's host",
    };
    warnings.extend(location.refused().warning(direction, host));
    let granted = flows
        .records
        .iter()
        .filter_map(|record| record.receiver.as_ref()?.granted.receive_buffer_bytes)
        .min();
    if let Some(dropped) = location.receiver_socket.filter(|count| *count > 0) {
        warnings.push(Warning::new(
            WarningCode::ReceiveBufferOverflow,
            format!(
                "{direction}: {dropped} of {} lost datagrams were dropped at the receiving socket (buffer {} bytes)",
                loss.lost.unwrap_or_default(),
                granted.unwrap_or(0)
            ),
        ));
    } else if let Some(granted) = granted.filter(|granted| *granted < SMALL_BUFFER) {
        warnings.push(Warning::new(
            WarningCode::ReceiveBufferSmall,
            format!("{direction}: the receiver's kernel granted {granted} bytes of buffer"),
        ));
    }
}

/// The warning about a test of an amount of which less arrived.
fn not_all_arrived(context: &Context<'_>, flows: &DirectionFlows<'_>) -> Option<Warning> {
    let (TestEnd::Bytes(asked), Transport::Tcp, None) =
        (context.bulk.end, context.transport(), context.cut_short)
    else {
        return None;
    };
    let records = &flows.records;
    let sent: Option<u64> = records
        .iter()
        .map(|record| Some(record.sent()?.bytes))
        .sum();
    let received: Option<u64> = records
        .iter()
        .map(|record| Some(record.received()?.bytes))
        .sum();
    let due = sent.unwrap_or(asked.get());
    let received = received.filter(|received| *received < due)?;
    Some(Warning::new(
        WarningCode::NotAllArrived,
        format!(
            "{}: {received} of the {due} bytes sent arrived",
            flows.direction.in_text()
        ),
    ))
}

/// Adds the warnings about the test as a whole.
pub(super) fn general_warnings(context: &Context<'_>, warnings: &mut Vec<Warning>) {
    if let Some(why) = context.cut_short {
        warnings.push(Warning::new(
            WarningCode::CutShort,
            format!("the test ended early: {why}"),
        ));
    }
    warnings.extend(episode_warnings(context.episodes));
    for change in context.changed {
        warnings.push(Warning::new(WarningCode::ServerChangedPlan, change.clone()));
    }
    warnings.extend(stolen_cpu(context));
    warnings.extend(throttled_warning(
        context.client_usage,
        context.server_usage,
    ));
    warnings.extend(paced_loopback(context));
    warnings.extend(window_not_granted(context));
    warnings.extend(fragmented(context));
}

fn stolen_cpu(context: &Context<'_>) -> Option<Warning> {
    let ends = [
        (Some(context.client_usage), context.client.cpus),
        (context.server_usage, context.server.cpus),
    ];
    let share = ends
        .into_iter()
        .filter_map(|(usage, cpus)| usage?.stolen_share(cpus))
        .find(|share| *share > STOLEN_SHARE)?;
    Some(Warning::new(
        WarningCode::StolenCpu,
        format!(
            "the hypervisor gave {:.1} % of the processor time to others",
            share * 100.0
        ),
    ))
}

fn paced_loopback(context: &Context<'_>) -> Option<Warning> {
    let is_paced = context.records.iter().any(|record| {
        record
            .sender
            .as_ref()
            .and_then(|end| end.granted.congestion.as_ref())
            .is_some_and(|name| name.as_received().starts_with("bbr"))
    });
    (is_paced && context.loopback && context.bulk.rate == Rate::Max).then(|| {
        Warning::new(
            WarningCode::PacedLoopback,
            "bbr paces by its estimate of the path's rate, which a loopback does not have",
        )
    })
}

fn window_not_granted(context: &Context<'_>) -> Option<Warning> {
    let asked = context.bulk.window?;
    // The kernel accounts twice what it grants (socket(7), SO_RCVBUF).
    let granted = context
        .records
        .iter()
        .flat_map(|record| [&record.sender, &record.receiver])
        .flatten()
        .flat_map(|end| {
            [
                end.granted.send_buffer_bytes,
                end.granted.receive_buffer_bytes,
            ]
        })
        .flatten()
        .map(|accounted| accounted / 2)
        .min()
        .filter(|granted| *granted < asked.get())?;
    Some(Warning::new(
        WarningCode::WindowNotGranted,
        format!(
            "socket buffers of {} bytes were asked for, the kernel granted {granted}",
            asked.get()
        ),
    ))
}

fn fragmented(context: &Context<'_>) -> Option<Warning> {
    let mtu = context
        .records
        .iter()
        .filter_map(|record| record.sender.as_ref()?.granted.path_mtu)
        .min()?;
    let headers = 8 + context.ip.header_bytes();
    let exceeds = u64::from(context.bulk.length) + headers > u64::from(mtu);
    (context.transport() == Transport::Udp && exceeds).then(|| {
        Warning::new(
            WarningCode::Fragmented,
            format!(
                "{} B fit; datagrams of {} B are fragmented (path MTU {mtu} B)",
                u64::from(mtu).saturating_sub(headers),
                context.bulk.length
            ),
        )
        .with_remedy(format!(
            "use datagrams of at most {} bytes",
            u64::from(mtu).saturating_sub(headers)
        ))
    })
}
