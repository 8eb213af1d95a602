//! The throughput of TCP by window, a row for each run.

use crate::cells::ms;
use crate::text;
use caudal_core::path::{DirectionThroughput, PathThroughput, ThroughputRun};
use caudal_core::quantity::{rate, size};

/// The lines on the throughput.
pub(super) fn lines(throughput: &PathThroughput) -> Vec<String> {
    let mut lines = vec![format!(
        "TCP throughput (RFC 6349), path MTU {}, baseline round trip {} ms, runs of {} s:",
        size(throughput.path_mtu_bytes),
        ms(Some(throughput.baseline_rtt_ms * 1e3)),
        throughput.run_s
    )];
    lines.extend(throughput.directions.iter().flat_map(direction_lines));
    lines
}

fn direction_lines(of: &DirectionThroughput) -> Vec<String> {
    let name = of.direction.in_text();
    let mut lines = vec![
        format!(
            "{name}: bandwidth-delay product {}; TCP can carry {} of {} on the wire",
            size(of.bdp_bytes),
            rate(of.ideal_bps),
            rate(of.bottleneck_bps)
        ),
        cells([
            "window", "flows", "bytes", "goodput", "expected", "ratio", "effic.", "RTT ms",
            "buffer",
        ]),
    ];
    lines.extend(of.runs.iter().map(row));
    lines
}

fn cells(
    [
        window,
        flows,
        bytes,
        goodput,
        expected,
        ratio,
        efficiency,
        rtt,
        buffer,
    ]: [&str; 9],
) -> String {
    format!(
        "{window:>6} {flows:>5} {bytes:>9} {goodput:>12} {expected:>12} {ratio:>5} {efficiency:>8} {rtt:>6} {buffer:>6}"
    )
}

fn row(run: &ThroughputRun) -> String {
    let dash = || "–".to_owned();
    let percent = |part: Option<f64>, decimals: usize| {
        part.map_or_else(dash, |part| format!("{:.decimals$} %", part * 100.0))
    };
    // A window that the sender's kernel does not report is that which was asked for.
    let window = match run.advertised_bytes {
        Some(advertised) => text::bytes(advertised.get()),
        None => format!("({})", text::bytes(run.window_bytes.get())),
    };
    let share = run.advertised_share_of_bdp.unwrap_or(run.share_of_bdp);
    let goodput = run.goodput_bps.map(|goodput| goodput.mean);
    let goodput = goodput.and_then(caudal_core::units::BitRate::from_f64);
    cells([
        &format!("{:.0} %", share * 100.0),
        &run.flows.to_string(),
        &window,
        &goodput.map_or_else(dash, rate),
        &run.expected_bps.map_or_else(dash, rate),
        &run.transfer_time_ratio
            .map_or_else(dash, |ratio| format!("{ratio:.2}")),
        &percent(run.efficiency, 2),
        &ms(run.rtt_ms.map(|rtt| rtt * 1e3)),
        &percent(run.buffer_delay, 0),
    ])
}
