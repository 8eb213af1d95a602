//! The window that a path needs, as text.

use super::text::{bits, bytes, time_us};
use caudal_core::window::{SettingEffect, SettingJudgement, WindowReport};

/// The window that a path needs, with the bandwidth-delay product behind it and its factors; `None` where no rate is known.
#[must_use]
pub fn need(report: &WindowReport) -> Option<String> {
    let segments = report
        .bdp_segments
        .map_or_else(String::new, |segments| format!(", {segments} segments"));
    Some(format!(
        "{} (BDP {}{segments}: {} × {})",
        needed(report)?,
        bytes(report.bdp_bytes?),
        bits(report.rate_bps? as f64),
        time_us(report.rtt_us)
    ))
}

/// The same in short, without the round-trip time.
#[must_use]
pub fn short_need(report: &WindowReport) -> Option<String> {
    Some(format!(
        "{} (BDP {} at {})",
        needed(report)?,
        bytes(report.bdp_bytes?),
        bits(report.rate_bps? as f64)
    ))
}

fn needed(report: &WindowReport) -> Option<String> {
    let at_least = if report.rate_at_least {
        "at least "
    } else {
        ""
    };
    Some(format!("{at_least}{} needed", bytes(report.needed_bytes?)))
}

/// The settings of both kernels: those that are not what the path needs, each with the line that sets it, and the number of the others.
#[must_use]
pub fn settings(report: &WindowReport) -> Vec<String> {
    let mut lines: Vec<String> = report.insufficient().flat_map(insufficient).collect();
    let count = |suffices: Option<bool>| {
        let settings = report.settings.iter();
        settings
            .filter(|setting| setting.suffices == suffices)
            .count()
    };
    let others = match (count(Some(true)), count(None)) {
        (0, 0) => return lines,
        (sufficient, 0) => format!("  settings: {sufficient} of both kernels suffice"),
        (sufficient, unknown) => {
            format!("  settings: {sufficient} of both kernels suffice, {unknown} unknown")
        }
    };
    lines.push(others);
    lines
}

/// A setting that is not what the path needs, and its command in a line of its own.
fn insufficient(setting: &SettingJudgement) -> Vec<String> {
    let value = setting
        .value
        .as_ref()
        .map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let text = format!(
        "  settings: at the {} {} is {value}; {} is needed{}",
        setting.end,
        setting.name,
        setting.needed,
        scope(setting)
    );
    let command = setting
        .command
        .as_ref()
        .map(|command| format!("    {command}"));
    std::iter::once(text).chain(command).collect()
}

/// The connections that a setting matters to, where that is not all of them.
fn scope(setting: &SettingJudgement) -> &'static str {
    match setting.effect {
        SettingEffect::SetWindow => " by programs that set their buffers",
        SettingEffect::Recovery => " to recover from losses",
        SettingEffect::TunedWindow | SettingEffect::EveryWindow => "",
    }
}
