//! Checksums that a device was to complete.

use super::segment::TrackedSegment;
use crate::dissect::PackedAddress;

/// The sum over the pseudo-header (RFC 9293 section 3.1), not complemented: what Linux leaves in the checksum for a device to complete
/// (`CHECKSUM_PARTIAL`).
#[inline]
pub(super) fn pseudo_header_sum(segment: &TrackedSegment<'_>) -> u16 {
    let ip = segment.ip;
    let words = |address: PackedAddress| -> u64 {
        let bits = if ip.is_v6 {
            address.0
        } else {
            address.0 & 0xffff_ffff
        };
        let (high, low) = ((bits >> 64) as u64, bits as u64);
        let halves = |bits: u64| (bits >> 32) + (bits & 0xffff_ffff);
        halves(high) + halves(low)
    };
    let length = u64::from(segment.header.header_bytes + segment.payload_bytes);
    let mut sum = words(ip.source) + words(ip.destination) + 6 + length;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}
