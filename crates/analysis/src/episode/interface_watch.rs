//! The watch over the interface that an end of a test uses. Time is an argument.

use caudal_core::episode::{InterfaceEvent, InterfaceFault};

/// Maximum number of times without the interface that are kept, the first ones.
const MAX_DOWN: usize = 100;

/// What the kernel says of the interface; counters are those since it was created.
#[derive(Debug, Clone, Copy, Default)]
pub struct InterfaceReading {
    /// The time, ns of the monotonic clock.
    pub now_ns: u64,
    /// `true` when it is there no longer; the other readings are meaningless then.
    pub is_removed: bool,
    /// `true` when it is up.
    pub is_up: bool,
    /// `true` when it has a carrier.
    pub has_carrier: bool,
    /// The times its carrier was lost; `None` where the kernel does not tell.
    pub carrier_losses: Option<u32>,
    /// Frames sent or received with errors.
    pub errors: u64,
    /// Frames that arrived when there was no buffer for them.
    pub no_buffer: u64,
}

impl InterfaceReading {
    /// What the interface does not carry, and why.
    const fn fault(&self) -> Option<InterfaceFault> {
        if self.is_removed {
            Some(InterfaceFault::Removed)
        } else if !self.is_up {
            Some(InterfaceFault::TakenDown)
        } else if !self.has_carrier {
            Some(InterfaceFault::NoCarrier)
        } else {
            None
        }
    }
}

/// A counter that grew.
#[derive(Debug, Clone, Copy)]
struct Growth {
    from_ns: u64,
    to_ns: u64,
    frames: u64,
}

impl Growth {
    fn add(growth: &mut Option<Self>, from_ns: u64, to_ns: u64, frames: u64) {
        if frames > 0 {
            let growth = growth.get_or_insert(Self {
                from_ns,
                to_ns,
                frames: 0,
            });
            growth.to_ns = to_ns;
            growth.frames = growth.frames.saturating_add(frames);
        }
    }
}

/// `true` where the carrier was lost between two readings.
fn has_lost_carrier(earlier: &InterfaceReading, later: &InterfaceReading) -> bool {
    let counts = earlier.carrier_losses.zip(later.carrier_losses);
    counts.is_some_and(|(earlier, later)| later > earlier)
}

/// The watch over an interface.
#[derive(Debug)]
pub struct InterfaceWatch {
    start_ns: u64,
    earlier: Option<InterfaceReading>,
    /// `false` where it was down at the beginning; `None` before.
    tells_state: Option<bool>,
    /// The beginning and the kind of an outage under way.
    down: Option<(u64, InterfaceFault)>,
    downs: Vec<InterfaceEvent>,
    errors: Option<Growth>,
    no_buffer: Option<Growth>,
}

impl InterfaceWatch {
    /// The watch over a test that starts at `start_ns`.
    #[must_use]
    pub const fn new(start_ns: u64) -> Self {
        Self {
            start_ns,
            earlier: None,
            tells_state: None,
            down: None,
            downs: Vec::new(),
            errors: None,
            no_buffer: None,
        }
    }

    /// Takes a reading. An outage begins and ends at the readings that show it; one between two of them has both as its ends.
    pub fn read(&mut self, reading: &InterfaceReading) {
        // One that carried the beginning of the test has a driver that does not tell its state.
        let tells_state = self.tells_state.get_or_insert(reading.fault().is_none());
        let fault = reading.fault().filter(|_| *tells_state);
        let earlier = self.earlier.unwrap_or(*reading);
        match (self.down, fault) {
            (None, Some(fault)) => self.down = Some((reading.now_ns, fault)),
            (Some((from_ns, fault)), None) => {
                self.add_down(from_ns, Some(reading.now_ns), fault);
                self.down = None;
            }
            (None, None) if has_lost_carrier(&earlier, reading) => {
                let fault = InterfaceFault::NoCarrier;
                self.add_down(earlier.now_ns, Some(reading.now_ns), fault);
            }
            _ => {}
        }
        if reading.is_removed {
            return;
        }
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let (from_ns, to_ns) = (earlier.now_ns, reading.now_ns);
        let errors = since(reading.errors, earlier.errors);
        Growth::add(&mut self.errors, from_ns, to_ns, errors);
        let no_buffer = since(reading.no_buffer, earlier.no_buffer);
        Growth::add(&mut self.no_buffer, from_ns, to_ns, no_buffer);
        self.earlier = Some(*reading);
    }

    /// The readings that follow are of another interface, which is used from `now_ns` on.
    pub fn move_to_another(&mut self, now_ns: u64) {
        if let Some((from_ns, fault)) = self.down.take() {
            self.add_down(from_ns, Some(now_ns), fault);
        }
        self.earlier = None;
        self.tells_state = None;
    }

    /// What became of the interface in the test, which ends now: one event of each counter that grew, and one of each outage.
    #[must_use]
    pub fn finish(mut self) -> Vec<InterfaceEvent> {
        if let Some((from_ns, fault)) = self.down {
            self.add_down(from_ns, None, fault);
        }
        let of_growth = |growth: Option<Growth>, fault: fn(u64) -> InterfaceFault| {
            growth
                .map(|growth| self.event(growth.from_ns, Some(growth.to_ns), fault(growth.frames)))
        };
        let errors = of_growth(self.errors, |frames| InterfaceFault::Errors { frames });
        let no_buffer = of_growth(self.no_buffer, |frames| InterfaceFault::NoBuffer { frames });
        let mut events = self.downs;
        events.extend(errors);
        events.extend(no_buffer);
        events
    }

    fn add_down(&mut self, from_ns: u64, to_ns: Option<u64>, fault: InterfaceFault) {
        if self.downs.len() < MAX_DOWN {
            self.downs.push(self.event(from_ns, to_ns, fault));
        }
    }

    fn event(&self, from_ns: u64, to_ns: Option<u64>, fault: InterfaceFault) -> InterfaceEvent {
        let after_start = |at_ns: u64| at_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        InterfaceEvent {
            from_s: after_start(from_ns),
            to_s: to_ns.map(after_start),
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a test of 5 s shows that reads its interface every 200 ms, with what `change` makes of a reading.
    fn found(
        change: impl Fn(u64, &mut InterfaceReading),
    ) -> Vec<(f64, Option<f64>, InterfaceFault)> {
        const START: u64 = 70_000_000_000;
        let mut watch = InterfaceWatch::new(START);
        for ms in (0..5000).step_by(200) {
            let mut reading = InterfaceReading {
                now_ns: START + ms * 1_000_000,
                is_removed: false,
                is_up: true,
                has_carrier: true,
                carrier_losses: Some(3),
                errors: 1000,
                no_buffer: 10,
            };
            change(ms, &mut reading);
            watch.read(&reading);
        }
        let events = watch.finish().into_iter();
        events
            .map(|one| (one.from_s, one.to_s, one.fault))
            .collect()
    }

    #[test]
    fn a_quiet_interface_has_no_events_whatever_was_before() {
        assert_eq!(found(|_, _| ()), []);
        let unknown = found(|_, reading| reading.carrier_losses = None);
        assert_eq!(unknown, []);
        assert_eq!(InterfaceWatch::new(5).finish(), []);
        let without_state = found(|ms, reading| reading.has_carrier = ms == 3000);
        assert_eq!(without_state, []);
    }

    #[test]
    fn an_interface_that_is_down_is_told_with_its_times() {
        let down = found(|ms, reading| {
            reading.has_carrier = !(1200..3000).contains(&ms);
            reading.carrier_losses = Some(3 + u32::from(ms >= 1200));
        });
        assert_eq!(down, [(1.2, Some(3.0), InterfaceFault::NoCarrier)]);
        let to_the_end = found(|ms, reading| {
            reading.is_up = ms < 4000;
            reading.has_carrier = ms < 4000;
        });
        assert_eq!(to_the_end, [(4.0, None, InterfaceFault::TakenDown)]);
        let removed = found(|ms, reading| {
            if ms >= 4000 {
                *reading = InterfaceReading {
                    now_ns: reading.now_ns,
                    is_removed: true,
                    ..InterfaceReading::default()
                };
            }
        });
        assert_eq!(removed, [(4.0, None, InterfaceFault::Removed)]);
        let between = found(|ms, reading| reading.carrier_losses = Some(3 + u32::from(ms > 2000)));
        assert_eq!(between, [(2.0, Some(2.2), InterfaceFault::NoCarrier)]);
    }

    #[test]
    fn what_an_interface_was_is_no_matter_to_the_one_that_follows_it() {
        let mut watch = InterfaceWatch::new(0);
        let reading = |ms: u64, is_up: bool, errors: u64| InterfaceReading {
            now_ns: ms * 1_000_000,
            is_up,
            has_carrier: is_up,
            errors,
            ..InterfaceReading::default()
        };
        watch.read(&reading(0, true, 5));
        watch.read(&reading(200, false, 5));
        watch.move_to_another(400_000_000);
        watch.read(&reading(400, true, 900));
        watch.read(&reading(600, true, 900));
        let events = watch.finish();
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!((events[0].from_s, events[0].to_s), (0.2, Some(0.4)));
    }

    #[test]
    fn counters_that_grow_are_told_once_with_their_sum() {
        let grown = found(|ms, reading| {
            reading.errors += ms.saturating_sub(1000).min(2000) / 200;
            reading.no_buffer += if ms >= 3000 { 7 } else { 0 };
        });
        let expected = [
            (1.0, Some(3.0), InterfaceFault::Errors { frames: 10 }),
            (2.8, Some(3.0), InterfaceFault::NoBuffer { frames: 7 }),
        ];
        assert_eq!(grown, expected);
        // An interface that is made anew begins at 0.
        assert_eq!(found(|ms, reading| reading.errors = 5000 - ms), []);
    }
}
