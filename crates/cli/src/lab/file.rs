//! The name of a lab, changes of its links while it is up, and the presets and the schema of topology files.

use std::path::Path;

use caudal_lab::LinkChange;
use caudal_topology::{
    FractionValue, PRESETS, Preset, RateValue, SegmentationFile, TimeValue, parse_value,
};
use serde::Deserialize;

use super::args::LabSetArgs;
use crate::exit::{Exit, Failure};
use crate::output::sink::print;
use crate::topology::WhatArgs;

/// The name of a lab: the one given, or else that of its preset or file.
pub(super) fn name(what: &WhatArgs, given: Option<&str>) -> Result<String, Failure> {
    let base = given.map_or_else(
        || {
            let stem = Path::new(&what.what).file_stem().unwrap_or_default();
            let fits = |c: char| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '-'
                }
            };
            let name: String = stem.to_string_lossy().chars().map(fits).take(32).collect();
            name.trim_matches('-').to_owned()
        },
        str::to_owned,
    );
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if base.is_empty() || base.len() > 48 || !base.chars().all(fits) {
        return Err(Failure::usage(
            format!("{base:?} is not a valid name of a lab"),
            "give a --name of at most 48 letters, digits and dashes",
        ));
    }
    Ok(base)
}

/// The change that `caudal lab set` requests.
pub(super) fn change(args: &LabSetArgs) -> Result<LinkChange, Failure> {
    let mut change = LinkChange {
        link: args.link.clone(),
        end: match (args.forward, args.backward) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => None,
        },
        rate_bps: None,
        delay_ns: None,
        loss: None,
        segmentation: None,
    };
    for word in &args.changes {
        let wrong = |problem: String| {
            Failure::usage(
                problem,
                "write rate=10M, delay=20ms, loss=1% or segmentation=off",
            )
        };
        let Some((key, value)) = word.split_once('=') else {
            return Err(wrong(format!("{word:?} is not KEY=VALUE")));
        };
        let value = parse_value(value);
        let refused = |error: toml::de::Error| wrong(format!("{word}: {}", error.message().trim()));
        match key {
            "rate" => {
                let RateValue(rate) = RateValue::deserialize(value).map_err(refused)?;
                if rate.bps() < 1000 || rate.bps() > 100_000_000_000 {
                    return Err(Failure::usage(
                        format!("a rate of {rate} cannot be emulated"),
                        "take 1 kbit/s to 100 Gbit/s",
                    ));
                }
                change.rate_bps = Some(rate.bps());
            }
            "delay" => {
                let TimeValue(delay) = TimeValue::deserialize(value).map_err(refused)?;
                if delay.as_secs() > 3600 {
                    return Err(Failure::usage(
                        format!("{word} is too long"),
                        "take at most 1h",
                    ));
                }
                // An hour of nanoseconds is far below what 64 bits hold.
                change.delay_ns = Some(delay.as_nanos() as u64);
            }
            "segmentation" => {
                let value = SegmentationFile::deserialize(value).map_err(refused)?;
                change.segmentation = Some(value == SegmentationFile::On);
            }
            "loss" => change.loss = Some(FractionValue::deserialize(value).map_err(refused)?.0),
            _ => {
                return Err(wrong(format!("{key:?} cannot be set while a link is up")));
            }
        }
    }
    Ok(change)
}

/// `caudal lab preset`
pub(super) fn print_preset(name: Option<&str>, number: Option<usize>) -> Result<Exit, Failure> {
    let Some(name) = name else {
        let line = |preset: &Preset| {
            let number = preset.parameter.map_or("", |_| " N");
            format!(
                "{:12}{}\n",
                format!("{}{number}", preset.name),
                preset.about
            )
        };
        return print(&PRESETS.iter().map(line).collect::<String>());
    };
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let preset = Preset::by_name(name).ok_or_else(|| {
        Failure::usage(
            format!("there is no preset {name:?}"),
            format!("take one of {}", names.join(", ")),
        )
    })?;
    let file = preset
        .file(number)
        .map_err(|problem| Failure::usage(problem.to_string(), "see `caudal lab preset`"))?;
    let text = toml::to_string(&file).map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("cannot write the preset: {error}"),
            "",
        )
    })?;
    print(&text)
}

/// The JSON Schema of topology files.
#[must_use]
pub fn schema() -> String {
    let schema = caudal_topology::schema();
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    format!("{text}\n")
}

/// `caudal lab schema`
pub(super) fn print_schema() -> Result<Exit, Failure> {
    print(&schema())
}
