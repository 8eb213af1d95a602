//! The document of `irtt client -o`.

use super::log::RoundTripLog;
use crate::date::iso_with_zone;
use crate::log::LogFormat;
use caudal_core::echo::OneWaySummary;
use caudal_core::plan::Transport;
use caudal_stats::{nearest_rank, supported_quantile};
use serde_json::Value;

/// Parses a document; `None` when it is another program's.
#[must_use]
pub fn from_object(object: &Value) -> Option<RoundTripLog> {
    let version = object.pointer("/version/irtt")?.as_str()?;
    let config = object.get("config")?;
    let stats = object.get("stats")?;
    let trips = object.get("round_trips")?.as_array()?;
    let mut log = RoundTripLog::new(LogFormat::IrttJson);
    log.head.version = Some(version.to_owned());
    log.transport = Some(Transport::Udp);
    let peer = config.get("remote_address").and_then(Value::as_str);
    log.head.peer = peer.map(str::to_owned);
    let number = |from: &Value, path: &str| from.pointer(path).and_then(Value::as_f64);
    log.size_bytes = number(config, "/params/length").map(|bytes| bytes as u32);
    log.period_s = number(config, "/params/interval").map(|ns| ns / 1e9);
    // The field is the whole byte of the header.
    log.dscp = number(config, "/params/dscp").map(|byte| (byte as u8) >> 2);
    let start = stats.get("start_time").and_then(Value::as_str);
    log.head.started_ns = start.and_then(iso_with_zone);
    log.elapsed_s = number(stats, "/duration").map(|ns| ns / 1e9);
    log.sent = trips.len() as u64;
    log.duplicate = number(stats, "/duplicates").unwrap_or(0.0) as u64;
    log.late = number(stats, "/late_packets").unwrap_or(0.0) as u64;
    log.times_us = delays(trips, "rtt");
    log.lost = log.sent - log.times_us.len() as u64;
    log.up = variation(&delays(trips, "send"));
    log.down = variation(&delays(trips, "receive"));
    for (key, name) in [
        ("upstream_loss_percent", "to the server"),
        ("downstream_loss_percent", "from the server"),
    ] {
        if let Some(percent) = number(stats, &format!("/{key}")).filter(|percent| *percent > 0.0) {
            log.left_out.push(format!("loss {name} {percent} %"));
        }
    }
    if log.up.is_some() {
        log.left_out.push(
            "one-way delays (their variation is kept: how the clocks differ is not known)"
                .to_owned(),
        );
    }
    Some(log.finished())
}

/// A delay of each round trip, µs, in their order; those that are lost are missing.
fn delays(trips: &[Value], key: &str) -> Vec<f64> {
    let delay = |trip: &Value| trip.get("delay")?.get(key)?.as_f64();
    let delays = trips.iter().filter_map(delay);
    delays.map(|ns| ns / 1e3).collect()
}

/// The variation of a one-way delay, which needs no clock in common: by its minimum (PDV), and from one to the next (IPDV).
fn variation(delays_us: &[f64]) -> Option<OneWaySummary> {
    let min = delays_us.iter().copied().reduce(f64::min)?;
    let mut sorted: Vec<f64> = delays_us.iter().map(|us| us - min).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let percentile = |q: f64| supported_quantile(&sorted, q);
    let steps = delays_us.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let count = delays_us.len().saturating_sub(1);
    Some(OneWaySummary {
        delay_us: None,
        bound_us: None,
        ipdv_mean_abs_us: (count > 0).then(|| steps.sum::<f64>() / count as f64),
        pdv_p50_us: nearest_rank(&sorted, 0.5)?,
        pdv_p90_us: percentile(0.9),
        pdv_p99_us: percentile(0.99),
        pdv_p99_9_us: percentile(0.999),
        pdv_max_us: *sorted.last()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_has_round_trips_losses_and_variation() {
        // irtt 0.9.0, shortened.
        let trip = |rtt: u64, send: i64| json!({"seqno": 0, "lost": "false", "delay": {"rtt": rtt, "send": send, "receive": 40_000}});
        let document = json!({
            "version": {"irtt": "0.9.0", "protocol": 1, "json_format": 1},
            "config": {"remote_address": "192.0.2.1:2112", "params": {"length": 60, "interval": 20_000_000, "dscp": 184}},
            "stats": {"start_time": "2026-11-28T03:00:52.872875085Z", "duration": 80_000_000, "duplicates": 1, "late_packets": 0,
                "upstream_loss_percent": 25.0, "downstream_loss_percent": 0},
            "round_trips": [trip(100_000, -60_000), trip(150_000, -10_000), trip(100_000, -60_000),
                {"seqno": 3, "lost": "true_up", "delay": {}}],
        });
        let log = from_object(&document).unwrap();
        assert_eq!((log.sent, log.lost, log.duplicate), (4, 1, 1));
        assert_eq!(log.times_us, [100.0, 150.0, 100.0]);
        assert_eq!((log.size_bytes, log.dscp), (Some(60), Some(46)));
        let up = log.up.unwrap();
        assert_eq!(
            (up.pdv_max_us, up.ipdv_mean_abs_us, up.delay_us),
            (50.0, Some(50.0), None)
        );
        assert_eq!(log.down.unwrap().pdv_max_us, 0.0);
        assert!(
            log.head.warnings[0].1.contains("loss to the server 25 %"),
            "{:?}",
            log.head
        );
        assert_eq!(from_object(&json!({"version": "iperf 3.12"})), None);
    }
}
