//! The payload a link can carry at most.

use super::context::Context;
use crate::framing::Framing;
use crate::link::{UnknownLinkRate, link_mtu, link_rate, timestamps};
use caudal_core::plan::{Direction, Transport};
use caudal_core::sample::FlowRecord;
use caudal_core::summary::Ceiling;

/// The payload the link can carry at most, and the share of it that was reached.
pub(super) fn ceiling(
    context: &Context<'_>,
    direction: Direction,
    records: &[&FlowRecord],
    goodput_bps: f64,
) -> Ceiling {
    let unknown = |why: &str| Ceiling {
        goodput_bps: None,
        share: None,
        why: why.to_owned(),
    };
    let (rate, source) = match link_rate(
        context.link_rate,
        context.client,
        context.server,
        context.loopback,
        direction,
    ) {
        Ok(known) => known,
        Err(UnknownLinkRate::Loopback) => {
            return unknown("a loopback has no wire, so there is no ceiling to compare with");
        }
        Err(reason) => return unknown(reason.as_str()),
    };
    let mtu = link_mtu(context.client, context.server);
    let timestamps = timestamps(context.client);
    let framing = Framing {
        mtu,
        ip: context.ip,
        vlan: false,
        timestamps,
        sack_blocks: 0,
    };
    let (bps, how) = match context.transport() {
        Transport::Tcp => {
            let options = if timestamps { 12 } else { 0 };
            let mss = records
                .iter()
                .filter_map(|record| record.sender.as_ref()?.granted.mss)
                .min()
                .filter(|mss| *mss > 0 && *mss <= framing.tcp_payload_per_frame())
                .unwrap_or(framing.tcp_payload_per_frame());
            let packet = u64::from(mss) + context.ip.header_bytes() + 20 + options;
            let wire = framing.wire_bytes(packet);
            (
                rate.as_f64() * f64::from(mss) / wire as f64,
                format!("{mss} of {wire} bytes on the wire"),
            )
        }
        Transport::Udp => {
            let length = context.bulk.length;
            let bps = framing.udp_ceiling(rate, length).as_f64();
            let wire = framing.udp_wire_bytes(length).unwrap_or(0);
            (bps, format!("{length} of {wire} bytes on the wire"))
        }
    };
    Ceiling {
        goodput_bps: Some(bps),
        share: (bps > 0.0).then(|| goodput_bps / bps),
        why: format!("{rate} ({source}), MTU {mtu}: {how}"),
    }
}
