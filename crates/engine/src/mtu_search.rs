//! The search for the path MTU by probes whose answers show that they arrived. Source: RFC 8899.
//!
//! A try is one probe of each size in question and, after them, one of the shortest. That one shows whether the path carries anything: on a
//! path that drops packets whatever their size, the shortest are missing as well. Sizes count as too large when the shortest probes of
//! [`HEARD`] tries were answered and they were not.

use caudal_core::path::MtuEvidence;

/// The answered tries after which a size without an answer is too large.
const HEARD: usize = 5;
/// The tries without any answer after which nothing can be found out.
const MAX_SILENT_TRIES: u32 = 12;
/// Maximum number of tries of a search.
const MAX_TRIES: u32 = 120;
/// Maximum number of sizes in a try beside the shortest.
const MAX_SIZES: usize = 5;
/// MTUs that are met: of Ethernet with jumbo frames, FDDI, Ethernet, PPPoE, tunnels, the minimum of IPv6, and that of IPv4 hosts.
const USUAL_MTUS: [u32; 16] = [
    9000, 4470, 4352, 1500, 1492, 1480, 1476, 1460, 1450, 1440, 1420, 1400, 1380, 1280, 1006, 576,
];

/// The path MTU that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundMtu {
    /// The largest packet that crosses the path in both directions, bytes with the IP header.
    pub(crate) bytes: u32,
    /// The observation that shows it.
    pub(crate) evidence: MtuEvidence,
}

/// The state of a search.
#[derive(Debug)]
pub(crate) struct PathMtuSearch {
    shortest: u32,
    max: u32,
    /// The largest size that was answered; 0 before any.
    fits: u32,
    /// The smallest size that is taken to be too large.
    too_large: u32,
    evidence: MtuEvidence,
    /// The sizes in question, and the number of the first try with them.
    sizes: Vec<u32>,
    first_try: u32,
    tries: u32,
    /// The tries with these sizes whose shortest probe was answered.
    heard: Vec<u32>,
    /// `true` once the size above the one that was found was tried again.
    is_confirmed: bool,
    is_over: bool,
}

impl PathMtuSearch {
    /// A search between packets of `shortest` bytes, which every path carries, and `max`.
    pub(crate) fn new(shortest: u32, max: u32) -> Self {
        let max = max.max(shortest);
        Self {
            shortest,
            max,
            fits: 0,
            too_large: max + 1,
            evidence: MtuEvidence::WholeMtu,
            sizes: vec![max],
            first_try: 0,
            tries: 0,
            heard: Vec::new(),
            is_confirmed: false,
            is_over: false,
        }
    }

    /// The next try: its number, and the sizes of its packets in the order in which they are to leave.
    pub(crate) fn next_try(&mut self) -> (u32, Vec<u32>) {
        let number = self.tries;
        self.tries += 1;
        let is_silent = self.fits == 0 && self.tries >= MAX_SILENT_TRIES;
        self.is_over |= is_silent || self.tries >= MAX_TRIES;
        let mut sizes = self.sizes.clone();
        sizes.push(self.shortest);
        (number, sizes)
    }

    /// Takes note of an answer to the packet of `size` bytes of a try.
    pub(crate) fn answered(&mut self, number: u32, size: u32) {
        if size < self.shortest || size > self.max || number >= self.tries {
            return;
        }
        if size == self.shortest && number >= self.first_try && !self.heard.contains(&number) {
            self.heard.push(number);
        }
        if size > self.fits {
            self.fits = size;
            if size >= self.too_large {
                // It was late, or what was reported is wrong.
                self.too_large = self.max + 1;
                self.evidence = MtuEvidence::WholeMtu;
                self.is_confirmed = false;
            }
            self.sizes.retain(|other| *other > size);
        }
        self.advance();
    }

    /// Takes note that a router, or a kernel to which one told it, says that the path takes packets of `mtu` bytes.
    pub(crate) fn reported(&mut self, mtu: u32) {
        if mtu < self.shortest.max(self.fits) || mtu.saturating_add(1) >= self.too_large {
            return;
        }
        self.too_large = mtu + 1;
        self.evidence = MtuEvidence::Icmp;
        self.begin(vec![mtu]);
        self.advance();
    }

    /// `true` when there is nothing more to try.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// What was found so far; `None` when nothing was answered.
    pub(crate) fn found(&self) -> Option<FoundMtu> {
        let evidence = match self.fits == self.max {
            true => MtuEvidence::WholeMtu,
            false if self.evidence == MtuEvidence::WholeMtu => MtuEvidence::Unanswered,
            false => self.evidence,
        };
        (self.fits > 0).then_some(FoundMtu {
            bytes: self.fits,
            evidence,
        })
    }

    fn begin(&mut self, sizes: Vec<u32>) {
        self.sizes = sizes;
        self.first_try = self.tries;
        self.heard.clear();
    }

    /// Draws the conclusions from what is known.
    fn advance(&mut self) {
        if self.fits == self.max {
            self.is_over = true;
            return;
        }
        self.sizes.retain(|size| *size > self.fits);
        if self.heard.len() >= HEARD
            && let Some(smallest) = self.sizes.iter().copied().min()
        {
            if smallest < self.too_large {
                // What was reported does not cross the path either.
                self.too_large = smallest;
                self.evidence = MtuEvidence::Unanswered;
                self.is_confirmed = false;
            } else {
                self.is_confirmed = true;
            }
            self.sizes.clear();
        }
        if self.sizes.is_empty() {
            self.choose_sizes();
        }
    }

    /// Begins to try the sizes that tell most, or ends the search.
    fn choose_sizes(&mut self) {
        let sizes = self.between();
        if !sizes.is_empty() {
            return self.begin(sizes);
        }
        if self.evidence == MtuEvidence::Icmp || self.is_confirmed {
            self.is_over = true;
        } else {
            // Nobody says so, so chance may have taken the larger ones.
            self.begin(vec![self.too_large]);
        }
    }

    /// Sizes between the largest that fits and the smallest that does not: usual ones first, then evenly spread.
    fn between(&self) -> Vec<u32> {
        let is_open = |size: &u32| *size > self.fits && *size < self.too_large;
        let usual: Vec<u32> = USUAL_MTUS.into_iter().filter(is_open).collect();
        if !usual.is_empty() {
            let step = usual.len().div_ceil(MAX_SIZES);
            return usual.into_iter().step_by(step).collect();
        }
        let gap = self.too_large.saturating_sub(self.fits + 1);
        let count = gap.min(MAX_SIZES as u32);
        let at = |nth: u32| self.fits + (nth * (gap + 1)) / (count + 1);
        (1..=count).rev().map(at).filter(is_open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A path that carries `mtu` bytes, of which routers report `reports`, and loses one packet in `loses` besides.
    struct Path {
        mtu: u32,
        reports: Option<u32>,
        loses: u32,
        seed: u64,
    }

    impl Path {
        fn drops(&mut self) -> bool {
            let product = self.seed.wrapping_mul(6_364_136_223_846_793_005);
            self.seed = product.wrapping_add(1_442_695_040_888_963);
            self.loses > 0 && (self.seed >> 33).is_multiple_of(u64::from(self.loses))
        }

        fn search(&mut self, max: u32) -> (Option<FoundMtu>, u32) {
            let mut search = PathMtuSearch::new(92, max);
            let mut tries = 0;
            while !search.is_over() {
                let (number, sizes) = search.next_try();
                tries += 1;
                for size in sizes {
                    if size > self.mtu {
                        if let Some(mtu) = self.reports {
                            search.reported(mtu);
                        }
                    } else if !self.drops() && !self.drops() {
                        search.answered(number, size);
                    }
                }
            }
            (search.found(), tries)
        }
    }

    fn quiet(mtu: u32, reports: Option<u32>) -> Path {
        Path {
            mtu,
            reports,
            loses: 0,
            seed: 1,
        }
    }

    #[test]
    fn a_path_that_carries_the_largest_packet_takes_one_try() {
        let (found, tries) = quiet(1500, None).search(1500);
        assert_eq!(tries, 1);
        assert_eq!(
            found,
            Some(FoundMtu {
                bytes: 1500,
                evidence: MtuEvidence::WholeMtu
            })
        );
    }

    #[test]
    fn what_a_router_reports_is_tried_at_once() {
        for mtu in [1492, 1420, 1280, 576] {
            let (found, tries) = quiet(mtu, Some(mtu)).search(1500);
            let evidence = MtuEvidence::Icmp;
            assert_eq!(
                found,
                Some(FoundMtu {
                    bytes: mtu,
                    evidence
                })
            );
            assert!(tries <= 2, "{tries}");
        }
    }

    #[test]
    fn a_black_hole_is_measured_to_the_byte() {
        for mtu in [1499, 1492, 1420, 1411, 1300, 1280, 577, 576, 300, 93, 92] {
            for max in [1500, 9000] {
                let (found, tries) = quiet(mtu, None).search(max);
                let evidence = MtuEvidence::Unanswered;
                assert_eq!(
                    found,
                    Some(FoundMtu {
                        bytes: mtu,
                        evidence
                    })
                );
                assert!(tries < 60, "{tries}");
            }
        }
    }

    #[test]
    fn a_report_that_is_too_high_is_not_believed() {
        let (found, _) = quiet(1400, Some(1492)).search(1500);
        assert_eq!(found.unwrap().bytes, 1400);
        let (found, _) = quiet(1400, Some(9000)).search(1500);
        assert_eq!(found.unwrap().bytes, 1400);
    }

    #[test]
    fn a_path_that_answers_nothing_is_given_up() {
        let (found, tries) = quiet(0, None).search(1500);
        assert_eq!(found, None);
        assert!(tries <= MAX_SILENT_TRIES);
    }

    #[test]
    fn answers_that_nobody_asked_for_change_nothing() {
        let mut search = PathMtuSearch::new(92, 1500);
        search.answered(0, 1500);
        search.next_try();
        search.answered(7, 1500);
        search.answered(0, 9000);
        search.answered(0, 20);
        assert_eq!(search.found(), None);
        search.reported(0);
        search.reported(91);
        search.reported(u32::MAX - 1);
        assert!(!search.is_over());
        search.answered(0, 1500);
        assert!(search.is_over());
    }

    proptest! {
        #[test]
        fn loss_alone_is_hardly_taken_for_a_narrow_path(seed: u64) {
            let mut path = Path { mtu: 1500, reports: None, loses: 10, seed };
            let found = path.search(1500).0;
            prop_assert!(found.is_some_and(|found| found.bytes >= 1490), "{found:?}");
        }

        #[test]
        fn a_search_ends_whatever_is_answered_and_reported(
            steps in prop::collection::vec((0_u32..130, 0_u32..10_000, any::<bool>()), 0..400)
        ) {
            let mut search = PathMtuSearch::new(92, 9000);
            for (number, size, is_report) in steps {
                if is_report { search.reported(size) } else { search.answered(number, size) }
                search.next_try();
                let _ = search.found();
            }
            for _ in 0..MAX_TRIES {
                search.next_try();
            }
            prop_assert!(search.is_over());
        }
    }
}
