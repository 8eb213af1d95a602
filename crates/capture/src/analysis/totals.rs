//! Frames and bytes of the whole capture, and of each protocol.

use crate::analysis::clock::FrameClock;
use crate::dissect::Layers;
use crate::evidence::EvidenceLog;
use crate::model::{CaptureTotals, ProtocolTotals};
use caudal_core::units::ByteCount;
use std::collections::BTreeMap;

/// Maximum number of EtherTypes and IP protocols that are counted apart.
const MAX_OTHERS: usize = 64;
/// Maximum number of them that a finding names.
const MAX_NAMED: usize = 4;

/// Frames and bytes.
#[derive(Debug, Clone, Copy, Default)]
struct FrameSum {
    frames: u64,
    bytes: u64,
}

impl FrameSum {
    #[inline]
    fn add(&mut self, bytes: u32) {
        self.frames += 1;
        self.bytes += u64::from(bytes);
    }
}

/// What is counted of all frames.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    all: FrameSum,
    captured: u64,
    pub(crate) cut_off: u64,
    /// Those of them of which fewer than [`Totals::ENOUGH_BYTES`] were kept.
    cut_short: u64,
    pub(crate) filtered: u64,
    /// Frames whose packet was captured before.
    pub(crate) copies: u64,
    pub(crate) malformed: u64,
    /// Frames of IP.
    pub(crate) packets: u64,
    first_ns: Option<u64>,
    earliest_ns: u64,
    latest_ns: u64,
    layers: [FrameSum; Layers::NAMES.len()],
    tcp: FrameSum,
    icmp: FrameSum,
    other_transports: BTreeMap<u8, FrameSum>,
    other_links: BTreeMap<u16, FrameSum>,
    pub(crate) evidence: EvidenceLog,
}

impl Totals {
    /// Bytes of a frame that hold all its headers: Ethernet with two VLAN tags (22), IPv6 (40) and TCP with its largest options (60).
    pub(crate) const ENOUGH_BYTES: usize = 128;

    /// Frames that may lack options of TCP, as too few of their bytes were kept.
    pub(crate) fn without_options(&self) -> u64 {
        if self.tcp.frames > 0 {
            self.cut_short
        } else {
            0
        }
    }

    /// Counts a frame.
    #[inline]
    pub(crate) fn frame(&mut self, at_ns: u64, original: u32, captured: usize) {
        self.all.add(original);
        self.captured += captured as u64;
        let is_cut_off = (captured as u64) < u64::from(original);
        self.cut_off += u64::from(is_cut_off);
        self.cut_short += u64::from(is_cut_off && captured < Self::ENOUGH_BYTES);
        if self.first_ns.is_none() {
            (self.first_ns, self.earliest_ns) = (Some(at_ns), at_ns);
        }
        self.earliest_ns = self.earliest_ns.min(at_ns);
        self.latest_ns = self.latest_ns.max(at_ns);
    }

    /// Counts a packet of IP, and the headers of its frame.
    #[inline]
    pub(crate) fn packet(&mut self, layers: Layers, protocol: u8, bytes: u32) {
        self.packets += 1;
        for place in layers.places() {
            self.layers[place].add(bytes);
        }
        match protocol {
            6 => self.tcp.add(bytes),
            1 | 58 => self.icmp.add(bytes),
            other
                if self.other_transports.len() < MAX_OTHERS
                    || self.other_transports.contains_key(&other) =>
            {
                self.other_transports.entry(other).or_default().add(bytes);
            }
            _ => {}
        }
    }

    /// Counts a frame without IP.
    pub(crate) fn link(&mut self, ether_type: u16, bytes: u32) {
        // Below 0x0600 it is the length of an IEEE 802.3 frame.
        let kind = if ether_type < 0x0600 { 0 } else { ether_type };
        if self.other_links.len() < MAX_OTHERS || self.other_links.contains_key(&kind) {
            self.other_links.entry(kind).or_default().add(bytes);
        }
    }

    /// The number of the frame that comes next.
    pub(crate) const fn next_number(&self) -> u64 {
        self.all.frames + self.filtered + self.copies + 1
    }

    /// What other frames than those of IP hold, the most frequent first: text for people.
    pub(crate) fn others(&self) -> Vec<String> {
        let mut others: Vec<_> = self.other_links.iter().collect();
        others.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.frames));
        let text = |(kind, sum): (&u16, &FrameSum)| format!("{} {}", sum.frames, link_name(*kind));
        others.into_iter().take(MAX_NAMED).map(text).collect()
    }

    /// The totals as documents have them.
    pub(crate) fn document(
        &self,
        flows: u64,
        dropped: Option<u64>,
        clock: &FrameClock,
    ) -> CaptureTotals {
        let (earliest_ns, latest_ns) = match clock.is_that_of_the_file() {
            true => (Some(self.earliest_ns), Some(self.latest_ns)),
            false => (clock.first_raw_ns, clock.latest_raw_ns()),
        };
        let seconds = |ns: Option<u64>| self.first_ns.and(ns).map(|ns| ns as f64 / 1e9);
        CaptureTotals {
            frames: self.all.frames,
            bytes: ByteCount::new(self.all.bytes),
            captured_bytes: ByteCount::new(self.captured),
            cut_off_frames: self.cut_off,
            filtered_frames: self.filtered,
            malformed_frames: self.malformed,
            captured_twice_frames: self.copies,
            first_s: seconds(earliest_ns),
            last_s: seconds(latest_ns),
            duration_s: self.latest_ns.saturating_sub(self.earliest_ns) as f64 / 1e9,
            flows,
            dropped_frames: dropped,
        }
    }

    /// The protocols, the most bytes first.
    pub(crate) fn protocols(&self) -> Vec<ProtocolTotals> {
        let named = [("TCP", self.tcp), ("ICMP", self.icmp)];
        let layers = Layers::NAMES.into_iter().zip(self.layers);
        let mut protocols: Vec<ProtocolTotals> = layers
            .chain(named)
            .map(|(name, sum)| (name.to_owned(), sum))
            .chain(
                self.other_transports
                    .iter()
                    .map(|(number, sum)| (transport_name(*number), *sum)),
            )
            .chain(
                self.other_links
                    .iter()
                    .map(|(number, sum)| (link_name(*number), *sum)),
            )
            .filter(|(_, sum)| sum.frames > 0)
            .map(|(name, sum)| ProtocolTotals {
                name,
                frames: sum.frames,
                bytes: ByteCount::new(sum.bytes),
            })
            .collect();
        protocols.sort_by_key(|protocol| std::cmp::Reverse(protocol.bytes));
        protocols
    }
}

fn transport_name(number: u8) -> String {
    match number {
        2 => "IGMP".to_owned(),
        47 => "GRE".to_owned(),
        50 => "ESP".to_owned(),
        89 => "OSPF".to_owned(),
        132 => "SCTP".to_owned(),
        other => format!("IP protocol {other}"),
    }
}

fn link_name(number: u16) -> String {
    match number {
        0 => "IEEE 802.3".to_owned(),
        0x0806 => "ARP".to_owned(),
        0x8863 => "PPPoE discovery".to_owned(),
        0x8864 => "PPPoE".to_owned(),
        0x8847 => "MPLS".to_owned(),
        0x888E => "EAPOL".to_owned(),
        0x88CC => "LLDP".to_owned(),
        0x88E5 => "MACsec".to_owned(),
        0x8808 => "MAC control".to_owned(),
        other => format!("EtherType 0x{other:04x}"),
    }
}
