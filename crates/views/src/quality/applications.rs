//! What a line means for calls, games and video, the figures first. docs/quality.md has the definitions and their sources.

use crate::text::bits;
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{CallQuality, PhaseReport, QualityReport};

/// Round trips above which players of games in which they aim, or steer a character, do worse, ms. Source: Claypool and Claypool, "Latency and Player Actions in
/// Online Games", Communications of the ACM 49 (11), 2006: deadlines of first-person and of third-person avatars.
const AIMING_MS: f64 = 100.0;
const STEERING_MS: f64 = 500.0;
/// Rates that a streaming service recommends for UHD, 1080p and 720p, bit/s. Source: Netflix Help Center, "Internet connection speed recommendations".
const VIDEO: [(&str, f64); 3] = [("UHD", 15e6), ("1080p", 5e6), ("720p", 3e6)];

/// A sentence each, for which there are figures.
pub(super) fn sentences(report: &QualityReport) -> Vec<String> {
    let all = [calls(report), games(report), video(report)];
    all.into_iter().flatten().collect()
}

/// The phase without load, and the one with load in which something is worst.
fn idle_and_worst(
    report: &QualityReport,
    figure: impl Fn(&PhaseReport) -> Option<f64>,
) -> Vec<(&'static str, &PhaseReport)> {
    let is_idle = |phase: &&PhaseReport| phase.load == PhaseLoad::Idle;
    let idle = report.phases.iter().find(is_idle);
    let loaded = report.phases.iter().filter(|phase| !is_idle(phase));
    let known = loaded.filter_map(|phase| Some((figure(phase)?, phase)));
    let worst = known.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let worst = worst.map(|(_, phase)| (phase.load.name(), phase));
    let idle = idle.filter(|idle| figure(idle).is_some());
    idle.map(|idle| ("idle", idle))
        .into_iter()
        .chain(worst)
        .collect()
}

/// `calls: 30 ms from mouth to ear idle, 105 ms and 1 % lost beside upload: MOS 4.4 and 4.2 (satisfied)`.
fn calls(report: &QualityReport) -> Option<String> {
    let found = idle_and_worst(report, |phase| Some(-phase.call?.rating));
    let (_, last) = found.last()?;
    let last = last.call?;
    let inputs: Vec<String> = found
        .iter()
        .filter_map(|(name, phase)| Some(format!("{} {}", call_inputs(&phase.call?), place(name))))
        .collect();
    let scores: Vec<String> = found
        .iter()
        .filter_map(|(_, phase)| Some(format!("{:.1}", phase.call?.mos)))
        .collect();
    let doubt = if last.is_in_range {
        ""
    } else {
        ", beyond the model's range"
    };
    Some(format!(
        "calls: {}: MOS {} ({}{doubt})",
        inputs.join(", "),
        scores.join(" and "),
        last.words()
    ))
}

fn call_inputs(call: &CallQuality) -> String {
    let lost = match call.loss < 0.0005 {
        true => String::new(),
        false => format!(" and {:.1} % lost", call.loss * 100.0),
    };
    format!("{:.0} ms from mouth to ear{lost}", call.mouth_to_ear_ms)
}

fn place(name: &str) -> String {
    match name {
        "idle" => "idle".to_owned(),
        "both" => "beside both loads".to_owned(),
        load => format!("beside {load}"),
    }
}

/// The 95th percentile of the round trips, ms, or the maximum of few.
fn round_trip_ms(phase: &PhaseReport) -> Option<f64> {
    let echo = phase.echo()?;
    Some(echo.p95_us.unwrap_or(echo.max_us) / 1e3)
}

/// `games: round trips of 27 ms idle, 191 ms beside upload (p95): too slow for aiming (100 ms)`.
fn games(report: &QualityReport) -> Option<String> {
    let found = idle_and_worst(report, round_trip_ms);
    let times: Vec<String> = found
        .iter()
        .filter_map(|(name, phase)| {
            Some(format!("{:.0} ms {}", round_trip_ms(phase)?, place(name)))
        })
        .collect();
    let worst = found.last().and_then(|(_, phase)| round_trip_ms(phase))?;
    let verdict = match worst {
        ..AIMING_MS => "fast enough for any",
        AIMING_MS..STEERING_MS => "too slow for games of aiming (100 ms)",
        _ => "too slow for games of aiming (100 ms) and of steering a character (500 ms)",
    };
    Some(format!(
        "games: round trips of {} (p95): {verdict}",
        times.join(", ")
    ))
}

/// `video: 18.31 Mbit/s of download: enough for UHD (15 Mbit/s)`.
fn video(report: &QualityReport) -> Option<String> {
    let phase = report
        .phases
        .iter()
        .find(|phase| phase.load == PhaseLoad::Download)?;
    let mut directions = phase.directions.iter();
    let down = directions.find(|one| one.summary.direction == Direction::Down)?;
    let bps = down.summary.goodput_mean()?;
    let verdict = match VIDEO.iter().find(|(_, needed)| bps >= *needed) {
        Some((name, needed)) => format!("enough for {name} ({:.0} Mbit/s)", needed / 1e6),
        None => "too slow for 720p (3 Mbit/s)".to_owned(),
    };
    Some(format!("video: {} of download: {verdict}", bits(bps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::quality::{ProbeKind, ProbeSummary};

    fn phase(load: &str, rtt_ms: f64) -> PhaseReport {
        let trips = vec![Some(rtt_ms * 1e3); 100];
        let probe = ProbeSummary::of_trips(ProbeKind::Udp, &trips, 0.95).unwrap();
        let keys = serde_json::json!({
            "load": load, "start_s": 0, "duration_s": 10, "ramp_s": 2, "directions": [], "one_way": [], "added": [],
            "probes": [probe], "call": CallQuality::beside(&probe)
        });
        serde_json::from_value(keys).unwrap()
    }

    fn report(phases: Vec<PhaseReport>) -> QualityReport {
        let mut report: QualityReport = serde_json::from_value(serde_json::json!({
            "phases": [], "advice": [], "intervals": [], "confidence": 0.95
        }))
        .unwrap();
        report.phases = phases;
        report
    }

    #[test]
    fn figures_come_first_and_the_worst_load_is_named() {
        let found = report(vec![
            phase("idle", 20.0),
            phase("download", 60.0),
            phase("upload", 800.0),
        ]);
        assert_eq!(
            sentences(&found),
            [
                "calls: 30 ms from mouth to ear idle, 420 ms from mouth to ear beside upload: MOS 4.4 and 3.5 \
                 (many users dissatisfied)",
                "games: round trips of 20 ms idle, 800 ms beside upload (p95): too slow for games of aiming (100 ms) \
                 and of steering a character (500 ms)",
            ]
        );
        let found = report(vec![phase("idle", 20.0), phase("both", 1200.0)]);
        assert!(sentences(&found)[0].contains("beside both loads"));
        assert!(sentences(&found)[0].contains("beyond the model's range"));
        assert!(sentences(&report(Vec::new())).is_empty());
    }
}
