//! A client's test of iperf 2 as it is kept: what its legs told, each end's count for itself.

use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide as Side;
use caudal_core::sample::Role as End;
use caudal_core::sample::Role;
use caudal_engine::iperf2::{ClientOptions, Event, Figures, LegInfo};
use caudal_report::import::{Log, LogCounts as Count, LogFlow as Flow, LogFormat as Format};
use std::collections::BTreeMap;

/// A client's test, written down as it happens.
#[derive(Debug)]
pub struct Book {
    log: Log,
    /// Connections of the client's own; those above were made by the server.
    own: u32,
    began_ns: u64,
    /// When each connection of the server's was there, seconds after the test began.
    back_s: BTreeMap<u32, f64>,
    /// Where the leg of a connection and a role stands among the flows.
    places: BTreeMap<(u32, bool), usize>,
}

impl Book {
    /// A test that begins at `now_ns` of the monotonic clock and `realtime_ns` of the wall clock.
    #[must_use]
    pub fn open(options: &ClientOptions, now_ns: u64, realtime_ns: u64) -> Self {
        // Its figures are exact, as none of iperf 2's forms tells them.
        let mut log = Log::new(Format::Iperf2Csv);
        log.side = Some(Side::Client);
        log.protocol = Some(if options.udp {
            Transport::Udp
        } else {
            Transport::Tcp
        });
        log.peer = Some(options.peer.to_string());
        log.started_ns = i64::try_from(realtime_ns).ok();
        log.length = Some(options.block() as f64);
        log.rate = options.rate.map(|rate| rate as f64);
        log.bytes = options.bytes.map(|bytes| bytes as f64);
        log.time_s = options.time.map(|time| time.as_secs_f64());
        log.congestion.clone_from(&options.congestion);
        Self {
            log,
            own: options.parallel,
            began_ns: now_ns,
            back_s: BTreeMap::new(),
            places: BTreeMap::new(),
        }
    }

    /// Takes note of what happened at `now_ns`.
    pub fn take(&mut self, event: &Event, now_ns: u64) {
        match event {
            Event::Connected(info) if info.number > self.own => {
                let since = now_ns.saturating_sub(self.began_ns);
                self.back_s.insert(info.number, since as f64 / 1e9);
            }
            Event::Interval(info, figures) => {
                let count = self.count(info, figures, end_of(info));
                self.flow(info).intervals.push(count);
            }
            Event::Ended(info, figures) => {
                let end = end_of(info);
                let mut count = self.count(info, figures, end);
                let flow = self.flow(info);
                if !flow.intervals.is_empty() {
                    // What TCP said over time says more than what it said last.
                    count.rtt_us = None;
                }
                *flow.end_mut(end) = Some(count);
            }
            Event::Reported(info, figures) => {
                let count = self.count(info, figures, End::Receiver);
                self.flow(info).receiver = Some(count);
            }
            _ => {}
        }
    }

    /// The whole test; `error` says why it did not go its whole way, unless it was ended from here.
    #[must_use]
    pub fn close(mut self, error: Option<&str>, was_ended: bool) -> Log {
        self.log.error = error.filter(|_| !was_ended).map(str::to_owned);
        self.log.is_complete = error.is_none() && !was_ended;
        self.log
    }

    fn flow(&mut self, info: &LegInfo) -> &mut Flow {
        let flows = &mut self.log.flows;
        let sends = info.role == Role::Sender;
        let at = *self.places.entry((info.number, sends)).or_insert_with(|| {
            let direction = if sends {
                Direction::Up
            } else {
                Direction::Down
            };
            flows.push(Flow::new(direction, end_of(info)));
            flows.len() - 1
        });
        &mut self.log.flows[at]
    }

    /// What an end of a leg has counted. A leg's time begins with itself: one that the server began stands where
    /// it was in the test.
    fn count(&self, info: &LegInfo, figures: &Figures, end: End) -> Count {
        let after_s = self.back_s.get(&info.number).copied().unwrap_or(0.0);
        let took = figures.end_s - figures.start_s;
        let (sent, arrived) = (end == End::Sender, end == End::Receiver);
        let udp = figures.udp.filter(|_| arrived);
        Count {
            start_s: after_s + figures.start_s,
            end_s: after_s + figures.end_s,
            bytes: Some(figures.bytes as f64),
            bps: (took > 0.0).then(|| figures.bps()),
            retransmits: figures
                .tcp
                .filter(|_| sent)
                .map(|_| figures.retransmits as f64),
            cwnd_bytes: figures
                .tcp
                .filter(|_| sent)
                .map(|tcp| tcp.cwnd_bytes as f64),
            rtt_us: figures
                .tcp
                .filter(|_| sent)
                .map(|tcp| f64::from(tcp.rtt_us)),
            datagrams: match udp {
                Some(udp) => Some(udp.total as f64),
                None => (info.udp && sent).then_some(figures.datagrams as f64),
            },
            // Copies of datagrams may make up for more than was lost.
            lost: udp.filter(|udp| udp.lost >= 0).map(|udp| udp.lost as f64),
            reordered: udp.map(|udp| udp.out_of_order as f64),
            jitter_ms: udp.map(|udp| udp.jitter_ms),
            ..Count::default()
        }
    }
}

fn end_of(info: &LegInfo) -> End {
    match info.role {
        Role::Sender => End::Sender,
        Role::Receiver => End::Receiver,
    }
}
