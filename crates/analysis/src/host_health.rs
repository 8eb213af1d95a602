//! Hosts that were too busy, or held back, to measure what a path does.

use caudal_core::host::Usage;
use caudal_core::warning::{Warning, WarningCode};

/// Lateness of a message that its host's scheduler explains, ns: timers and wake-ups of a quiet host stay below.
const LATE_NS: u64 = 5_000_000;
/// Minimum share of messages as late as that for their host to be busy.
const LATE_SHARE: f64 = 0.05;

/// Lateness of a message that stood still with its program, ns.
const VERY_LATE_NS: u64 = 20_000_000;
/// Minimum share of messages as late as that for their host to be busy.
const VERY_LATE_SHARE: f64 = 0.01;

/// Minimum number of messages to judge by.
const MIN_MESSAGES: usize = 20;

/// Minimum part of a test for which the quota of a control group held an end back.
const MAX_HELD_BACK: f64 = 0.02;

/// What tells that an end of a test was busy.
#[derive(Debug, Clone, Default)]
pub struct BusyEvidence {
    /// The delay of each message of a schedule until the client handed it to its kernel, ns.
    pub late_ns: Vec<u64>,
    /// The resources that the client used.
    pub client: Option<Usage>,
    /// The resources that the server used.
    pub server: Option<Usage>,
}

/// Why an end of a test was too busy to measure; `None` where neither was.
#[must_use]
pub fn busy_end(evidence: &BusyEvidence) -> Option<String> {
    late(&evidence.late_ns)
        .or_else(|| held_back(evidence.client.as_ref(), evidence.server.as_ref()))
}

/// The warning about ends that the quota of a control group held back.
#[must_use]
pub fn throttled_warning(client: &Usage, server: Option<&Usage>) -> Option<Warning> {
    let reason = held_back(Some(client), server)?;
    Some(Warning::new(WarningCode::ThrottledCpu, reason))
}

fn late(late_ns: &[u64]) -> Option<String> {
    if late_ns.len() < MIN_MESSAGES {
        return None;
    }
    let share = |least_ns: u64| {
        let late = late_ns.iter().filter(|late| **late >= least_ns).count();
        late as f64 / late_ns.len() as f64
    };
    let limits = [(VERY_LATE_NS, VERY_LATE_SHARE), (LATE_NS, LATE_SHARE)];
    let (least_ns, share) = limits
        .into_iter()
        .map(|(ns, least)| (ns, share(ns), least))
        .find_map(|(ns, share, least)| (share >= least).then_some((ns, share)))?;
    Some(format!(
        "this host was busy: {:.0} % of the probes left {} ms late or more",
        share * 100.0,
        least_ns / 1_000_000
    ))
}

/// The end that the quota of a control group held back, and for how long.
fn held_back(client: Option<&Usage>, server: Option<&Usage>) -> Option<String> {
    let ends = [(client, "this program"), (server, "the server")];
    ends.into_iter().find_map(|(usage, name)| {
        let (throttled_ns, wall_ns) = (usage?.throttled_ns?, usage?.wall_ns);
        let is_much = throttled_ns as f64 > MAX_HELD_BACK * wall_ns as f64;
        is_much.then(|| {
            format!(
                "the quota of a control group held {name} back for {:.1} s of {:.1} s",
                throttled_ns as f64 / 1e9,
                wall_ns as f64 / 1e9
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late_ms(values: &[(usize, u64)]) -> Option<String> {
        let each = values
            .iter()
            .flat_map(|(count, ms)| vec![ms * 1_000_000; *count]);
        busy_end(&BusyEvidence {
            late_ns: each.collect(),
            ..BusyEvidence::default()
        })
    }

    #[test]
    fn a_busy_host_sends_late() {
        assert_eq!(late_ms(&[(97, 0), (3, 6)]), None);
        let found = late_ms(&[(90, 0), (10, 6)]).unwrap();
        assert!(
            found.contains("10 % of the probes left 5 ms late"),
            "{found}"
        );
        let found = late_ms(&[(97, 0), (3, 25)]).unwrap();
        assert!(
            found.contains("3 % of the probes left 20 ms late"),
            "{found}"
        );
        // A single late message of few is none.
        assert_eq!(late_ms(&[(9, 0), (1, 25)]), None);
        assert_eq!(late_ms(&[]), None);
    }

    #[test]
    fn a_quota_holds_an_end_back() {
        let usage = |throttled_ns| Usage {
            throttled_ns,
            wall_ns: 10_000_000_000,
            ..Usage::default()
        };
        let busy = |client, server| {
            busy_end(&BusyEvidence {
                client: Some(client),
                server: Some(server),
                ..BusyEvidence::default()
            })
        };
        let quiet = usage(Some(100_000_000));
        assert_eq!(busy(quiet, quiet), None);
        let found = busy(quiet, usage(Some(1_000_000_000))).unwrap();
        assert!(
            found.contains("held the server back for 1.0 s of 10.0 s"),
            "{found}"
        );
        assert_eq!(busy(usage(None), quiet), None);
    }

    #[test]
    fn a_quota_that_holds_an_end_back_is_worth_a_warning() {
        let usage = |throttled_ns| Usage {
            throttled_ns,
            wall_ns: 10_000_000_000,
            ..Usage::default()
        };
        let warned = |client, server| {
            let warning = throttled_warning(&usage(client), Some(&usage(server)))?;
            Some(warning.message.as_received().to_owned())
        };
        let said = "the quota of a control group held the server back for 4.5 s of 10.0 s";
        assert_eq!(warned(None, Some(4_500_000_000)).as_deref(), Some(said));
        assert_eq!(warned(Some(100_000_000), Some(0)), None);
    }
}
