//! What round trips should have taken by size, from the least of them and the link, beside what they took.

use super::echo::EchoPath;
use caudal_core::echo::SizeSummary;
use caudal_core::prediction::Compared;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, time};
use std::time::Duration;

/// What is known of a run of round trips.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The link that the messages cross; its delay and hosts are not used, as the least round trip holds both.
    pub path: EchoPath,
    /// Who says the link's rate.
    pub whence: &'a str,
    /// Clients that each send the next message when the last came back; 1 on a schedule.
    pub clients: u32,
    /// The least round trip over the idle path, and the bytes of the message that made it.
    pub idle: Option<(Duration, u32)>,
    /// What was measured.
    pub sizes: &'a [SizeSummary],
}

/// A prediction for every size but the one the others are reckoned from.
///
/// The round trip of the smallest size holds the propagation and what hosts add; a larger message takes longer by the
/// time its further bytes take on the link, there and back. For one client the least of each size is compared, for
/// several, which wait for one another, the mean. With one size only, the idle path's least counts.
#[must_use]
pub fn compare(facts: &Facts<'_>) -> Vec<Compared> {
    let least = |size: &SizeSummary| {
        let rtt = size.pooled.rtt_us.as_ref()?;
        let us = if facts.clients > 1 { rtt.mean } else { rtt.min };
        Some((Duration::from_secs_f64(us.max(0.0) / 1e6), size.size_bytes))
    };
    let smallest = facts
        .sizes
        .iter()
        .filter(|_| facts.sizes.len() > 1)
        .min_by_key(|size| size.size_bytes)
        .and_then(least);
    let Some((base, base_size)) = smallest.or(facts.idle) else {
        return Vec::new();
    };
    facts
        .sizes
        .iter()
        .filter(|size| smallest.is_none() || size.size_bytes != base_size)
        .filter_map(|size| one(facts, size, base, base_size))
        .collect()
}

fn one(facts: &Facts<'_>, size: &SizeSummary, base: Duration, base_size: u32) -> Option<Compared> {
    let bytes = size.size_bytes;
    let rtt = size.pooled.rtt_us.as_ref()?;
    let once = facts.path.serialisation(bytes)?;
    let further = once.checked_sub(facts.path.serialisation(base_size)?)?;
    let alone = base.checked_add(further.checked_mul(2)?)?;
    let turns = once.checked_mul(facts.clients)?;
    let value = alone.max(turns);
    let (observed, which) = if facts.clients > 1 {
        (rtt.mean, "the mean")
    } else {
        (rtt.min, "the least")
    };
    let wire = facts.path.wire_bytes(bytes)?;
    let prediction = Prediction::new(
        format!("rtt_{bytes}"),
        format!("round trip of {bytes} B"),
        value.as_secs_f64(),
        Unit::Seconds,
    )
    .bound_by(if turns > alone { "queue" } else { "path" })
    .detail(if turns > alone {
        format!("{} clients take turns on a full link", facts.clients)
    } else {
        format!("{wire} bytes of wire time each way")
    })
    .assumes(format!(
        "{} ({}), one link without other traffic, hosts that take as long for any size; observed is {which}",
        rate(facts.path.rate),
        facts.whence
    ))
    .source("store and forward over one link; Denning and Buzen 1978 for the bound of N clients")
    .within(Tolerance::TIME)
    .step(format!(
        "{which} round trip of {base_size} B: {}; {bytes} B take {} longer each way",
        time(base),
        time(further)
    ))
    .step(format!(
        "{} + 2 × {} = {}; {} × {} for a turn of every client = {}",
        time(base),
        time(further),
        time(alone),
        facts.clients,
        time(once),
        time(turns)
    ));
    let compared = Compared::new(prediction, observed / 1e6);
    Some(compared.because(|compared| {
        if compared.difference.is_some_and(|difference| difference < 0.0) {
            "cannot tell which figure of the link is wrong: it is faster than assumed, or lets short bursts \
             through at once, as token buckets do"
                .to_owned()
        } else {
            "cannot tell what took the rest, because only whole round trips are seen: hosts that take longer for \
             more bytes, a slower or further link, or other traffic"
                .to_owned()
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::echo::ReplySummary;
    use caudal_core::framing::Framing;
    use caudal_core::plan::Transport;
    use caudal_core::units::BitRate;
    use caudal_stats::{DistributionSummary, IntervalMethod};

    fn size(size_bytes: u32, min: f64, mean: f64) -> SizeSummary {
        let rtt = DistributionSummary {
            n: 100,
            min,
            mean,
            sd: None,
            p50: mean,
            p90: None,
            p99: None,
            p99_9: None,
            max: mean,
            mean_low: mean,
            mean_high: mean,
            confidence: 0.95,
            method: IntervalMethod::BatchMeansT,
            mean_trusted: true,
        };
        SizeSummary {
            size_bytes,
            pooled: ReplySummary {
                rtt_us: Some(rtt),
                ..ReplySummary::default()
            },
            clients: Vec::new(),
        }
    }

    fn path() -> EchoPath {
        EchoPath {
            transport: Transport::Tcp,
            rate: BitRate::from_bps(100_000_000),
            delay: Duration::ZERO,
            hosts: Duration::ZERO,
            framing: Framing::default(),
            half_duplex: false,
        }
    }

    fn facts(sizes: &[SizeSummary]) -> Facts<'_> {
        Facts {
            path: path(),
            whence: "--link-rate",
            clients: 1,
            idle: None,
            sizes,
        }
    }

    #[test]
    fn larger_messages_take_longer_by_their_bytes() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 11_300.0, 11_500.0)];
        let all = compare(&facts(&sizes));
        assert_eq!(all.len(), 1);
        // 115 µs and 2 · (69676 − 91) · 8 / 100 Mbit/s.
        assert_eq!(all[0].prediction.name, "rtt_65536");
        assert_eq!(format!("{:.1}", all[0].prediction.value * 1e6), "11248.6");
        assert!(all[0].holds && all[0].observed == 11_300.0 / 1e6);
    }

    #[test]
    fn many_clients_take_turns() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 12_000.0, 48_000.0)];
        let all = compare(&Facts {
            clients: 8,
            ..facts(&sizes)
        });
        assert_eq!(format!("{:.1}", all[0].prediction.value * 1e3), "44.6");
        assert!(all[0].holds, "{:?}", all[0]);
    }

    #[test]
    fn what_differs_is_not_guessed_at() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 30_000.0, 31_000.0)];
        let why = compare(&facts(&sizes))[0].why.clone().unwrap();
        assert!(why.starts_with("cannot tell what took the rest"), "{why}");
    }

    #[test]
    fn one_size_is_reckoned_from_the_idle_path() {
        let sizes = [size(64, 120.0, 130.0)];
        assert!(compare(&facts(&sizes)).is_empty());
        let idle = Some((Duration::from_micros(110), 64));
        assert_eq!(
            compare(&Facts {
                idle,
                ..facts(&sizes)
            })
            .len(),
            1
        );
    }
}
