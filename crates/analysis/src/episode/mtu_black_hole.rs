//! Segments that a path drops for their size without saying so, as TCP's sender sees it.
//!
//! The connection is established and small segments pass, those of full size are never acknowledged, and no message lowers the
//! path MTU (RFC 2923, section 2.1). With `net.ipv4.tcp_mtu_probing` the kernel takes up a smaller size after a few timeouts
//! (`tcp_mtu_probing`, net/ipv4/tcp_timer.c), and its path MTU stays as it was.

use crate::timeline::Timeline;
use caudal_core::plan::Direction;
use caudal_core::sample::TcpSnapshot;

/// Minimum number of retransmissions of a segment of full size.
const MIN_RETRANSMITS: u64 = 3;
/// Minimum fall of the segment size: options alone change it by less, bytes.
const MIN_FALL: u32 = 60;

/// A segment size that a path drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MtuBlackHole {
    /// The size that was lost, bytes.
    pub(super) lost_mss: u32,
    /// The size that the kernel found to pass; `None` where it found none.
    pub(super) passing_mss: Option<u32>,
    /// The number of the flow's reading at which that size was in use, or the last.
    pub(super) tick: usize,
}

/// The black hole that the flows of a direction met: all of them.
pub(super) fn find(timeline: &Timeline, direction: Direction) -> Option<MtuBlackHole> {
    let flows = timeline.flows_of(direction);
    let found: Option<Vec<MtuBlackHole>> = flows
        .iter()
        .map(|flow| of_flow(&timeline.sender_states(*flow)))
        .collect();
    found?.into_iter().max_by_key(|hole| hole.tick)
}

fn of_flow(states: &[TcpSnapshot]) -> Option<MtuBlackHole> {
    let (first, last) = (states.first()?, states.last()?);
    let has_fallen =
        |state: &TcpSnapshot| state.mss + MIN_FALL <= first.mss && state.path_mtu >= first.path_mtu;
    if let Some(tick) = states.iter().position(has_fallen) {
        return Some(MtuBlackHole {
            lost_mss: first.mss,
            passing_mss: Some(last.mss),
            tick,
        });
    }
    // What a data connection opens with is a small part of a segment.
    let acked = last.bytes_acked?.saturating_sub(first.bytes_acked?);
    let retransmits = last.retransmits.saturating_sub(first.retransmits);
    (acked < u64::from(last.mss) && retransmits >= MIN_RETRANSMITS).then_some(MtuBlackHole {
        lost_mss: last.mss,
        passing_mss: None,
        tick: states.len() - 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(mss: u32, acked: u64, retransmits: u64) -> TcpSnapshot {
        TcpSnapshot {
            mss,
            path_mtu: 1500,
            bytes_acked: Some(acked),
            retransmits,
            ..TcpSnapshot::default()
        }
    }

    #[test]
    fn full_segments_that_are_never_acknowledged_are_lost_for_their_size() {
        let found = of_flow(&[state(1448, 90, 0), state(1448, 90, 3), state(1448, 90, 4)]);
        let hole = found.unwrap();
        assert_eq!((hole.lost_mss, hole.passing_mss), (1448, None));
        // One that is acknowledged now and then is lost for another reason.
        assert_eq!(of_flow(&[state(1448, 90, 0), state(1448, 90_000, 9)]), None);
        assert_eq!(of_flow(&[state(1448, 90, 0), state(1448, 90, 1)]), None);
    }

    #[test]
    fn a_size_that_the_kernel_came_down_to_by_itself_passes() {
        let found = of_flow(&[
            state(1448, 90, 0),
            state(1024, 90, 4),
            state(1024, 9_000_000, 4),
        ]);
        assert_eq!(
            found,
            Some(MtuBlackHole {
                lost_mss: 1448,
                passing_mss: Some(1024),
                tick: 1
            })
        );
        // A router that says what fits lowers the path MTU too.
        let told = TcpSnapshot {
            path_mtu: 1400,
            ..state(1348, 9_000_000, 1)
        };
        assert_eq!(of_flow(&[state(1448, 90, 0), told]), None);
    }
}
