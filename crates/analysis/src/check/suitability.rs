//! What a network is good for.
//!
//! Calls: ITU-T G.114 recommends at most 150 ms one way, and G.1010 at most 1 % loss for video telephony. The rates are those of services as
//! they publish them: 3 Mbit/s each way for a video call in high definition, 5 Mbit/s for a film. Games: 100 ms there and back, which is a
//! convention, not a standard.

use caudal_core::check::{CheckReport, NetworkUse, Suitability, UseSuitability};
use caudal_core::plan::Direction;
use caudal_core::quantity::Unit;

const MAX_ONE_WAY_US: f64 = 150_000.0;
const MAX_LOSS: f64 = 0.01;
const MIN_CALL_BPS: f64 = 3e6;
const MIN_VIDEO_BPS: f64 = 5e6;
const MAX_GAME_US: f64 = 100_000.0;

/// What decides.
struct CheckFigures {
    rtt_us: Option<f64>,
    /// The most that load in one direction adds.
    added_us: Option<f64>,
    loss: Option<f64>,
    down_bps: Option<f64>,
    up_bps: Option<f64>,
}

/// Whether the network is good for each use.
pub(super) fn uses(report: &CheckReport) -> Vec<UseSuitability> {
    let goodput = |direction| {
        let mut all = report.tcp.iter();
        let tcp = all.find(|tcp| tcp.direction == direction)?;
        let best = tcp.several_bps.into_iter().chain(tcp.one_bps);
        best.map(|goodput| goodput.mean).reduce(f64::max)
    };
    let directions = report.load.iter().flat_map(|load| &load.directions);
    let losses = report.udp.iter().filter_map(|udp| udp.loss);
    let figures = CheckFigures {
        rtt_us: report.round_trips.as_ref().map(|trips| trips.mean_us.mean),
        added_us: directions.map(|one| one.added_us.max(0.0)).reduce(f64::max),
        loss: losses.map(|loss| loss.mean).reduce(f64::max),
        down_bps: goodput(Direction::Down),
        up_bps: goodput(Direction::Up),
    };
    vec![calls(&figures), video(&figures), games(&figures)]
}

fn verdict(r#use: NetworkUse, suitability: Suitability, reason: String) -> UseSuitability {
    UseSuitability {
        r#use,
        suitability,
        reason,
    }
}

fn unknown(r#use: NetworkUse, what: &str) -> UseSuitability {
    verdict(
        r#use,
        Suitability::Unknown,
        format!("{what} was not measured"),
    )
}

fn rate_below(
    r#use: NetworkUse,
    direction: &str,
    bps: f64,
    min_bps: f64,
) -> Option<UseSuitability> {
    (bps < min_bps).then(|| {
        let reason = format!(
            "{direction} {} of {}",
            Unit::BitPerSecond.show(bps),
            Unit::BitPerSecond.show(min_bps)
        );
        verdict(r#use, Suitability::Unsuited, reason)
    })
}

fn loss_above(r#use: NetworkUse, loss: Option<f64>) -> Option<UseSuitability> {
    let loss = loss.filter(|loss| *loss > MAX_LOSS)?;
    let reason = format!("{} lost", Unit::Share.show(loss));
    Some(verdict(r#use, Suitability::Unsuited, reason))
}

fn calls(figures: &CheckFigures) -> UseSuitability {
    let of = NetworkUse::Calls;
    let (Some(rtt_us), Some(down), Some(up)) = (figures.rtt_us, figures.down_bps, figures.up_bps)
    else {
        return unknown(of, "the round-trip time or a rate");
    };
    if let Some(slow) = rate_below(of, "download", down, MIN_CALL_BPS)
        .or_else(|| rate_below(of, "upload", up, MIN_CALL_BPS))
        .or_else(|| loss_above(of, figures.loss))
    {
        return slow;
    }
    let one_way = |us: f64| format!("{} one way", Unit::Seconds.show(us / 1e6));
    let idle_us = rtt_us / 2.0;
    if idle_us > MAX_ONE_WAY_US {
        return verdict(of, Suitability::Unsuited, one_way(idle_us));
    }
    match figures.added_us.map(|added| idle_us + added) {
        None => unknown(of, "the delay under load"),
        Some(loaded) if loaded > MAX_ONE_WAY_US => verdict(
            of,
            Suitability::WithoutLoad,
            format!("{} under load", one_way(loaded)),
        ),
        Some(_) => verdict(of, Suitability::Suited, String::new()),
    }
}

fn video(figures: &CheckFigures) -> UseSuitability {
    let of = NetworkUse::Video;
    match figures.down_bps {
        None => unknown(of, "the download"),
        Some(bps) => rate_below(of, "download", bps, MIN_VIDEO_BPS)
            .unwrap_or_else(|| verdict(of, Suitability::Suited, String::new())),
    }
}

fn games(figures: &CheckFigures) -> UseSuitability {
    let of = NetworkUse::Games;
    let Some(rtt_us) = figures.rtt_us else {
        return unknown(of, "the round-trip time");
    };
    if let Some(lossy) = loss_above(of, figures.loss) {
        return lossy;
    }
    let there_and_back = |us: f64| format!("{} there and back", Unit::Seconds.show(us / 1e6));
    if rtt_us > MAX_GAME_US {
        return verdict(of, Suitability::Unsuited, there_and_back(rtt_us));
    }
    match figures.added_us.map(|added| rtt_us + added) {
        None => unknown(of, "the delay under load"),
        Some(loaded) if loaded > MAX_GAME_US => verdict(
            of,
            Suitability::WithoutLoad,
            format!("{} under load", there_and_back(loaded)),
        ),
        Some(_) => verdict(of, Suitability::Suited, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> CheckFigures {
        CheckFigures {
            rtt_us: Some(20_000.0),
            added_us: Some(10_000.0),
            loss: Some(0.0),
            down_bps: Some(50e6),
            up_bps: Some(10e6),
        }
    }

    fn each(figures: &CheckFigures) -> [Suitability; 3] {
        [calls(figures), video(figures), games(figures)].map(|one| one.suitability)
    }

    #[test]
    fn each_figure_decides_about_what_it_concerns() {
        use Suitability::{Suited, Unknown, Unsuited, WithoutLoad};
        let with = |change: fn(&mut CheckFigures)| {
            let mut changed = figures();
            change(&mut changed);
            each(&changed)
        };
        assert_eq!(each(&figures()), [Suited; 3]);
        assert_eq!(
            with(|f| f.added_us = Some(200_000.0)),
            [WithoutLoad, Suited, WithoutLoad]
        );
        assert_eq!(
            with(|f| f.rtt_us = Some(600_000.0)),
            [Unsuited, Suited, Unsuited]
        );
        assert_eq!(with(|f| f.loss = Some(0.03)), [Unsuited, Suited, Unsuited]);
        assert_eq!(with(|f| f.up_bps = Some(0.5e6)), [Unsuited, Suited, Suited]);
        assert_eq!(with(|f| f.down_bps = Some(4e6)), [Suited, Unsuited, Suited]);
        assert_eq!(with(|f| f.down_bps = None), [Unknown, Unknown, Suited]);
        assert_eq!(with(|f| f.added_us = None), [Unknown, Suited, Unknown]);
        assert_eq!(with(|f| f.rtt_us = None), [Unknown, Suited, Unknown]);
        // UDP may not pass: what was not measured is not held against the network.
        assert_eq!(with(|f| f.loss = None), [Suited; 3]);
    }
}
