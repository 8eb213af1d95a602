//! Texts with `{parameter}` in them, and what they become in a case.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::nearest::suggestion;
use super::super::scalar::Scalar;
use super::error::{ExperimentError, Result};
use caudal_core::units::{ByteCount, parse_duration};
use caudal_topology::{Location, PathStep};

/// Fills in the texts of one case.
pub(super) struct Filler<'a> {
    pub(super) parameters: &'a [(String, Scalar)],
    pub(super) used: BTreeSet<String>,
}

impl Filler<'_> {
    pub(super) fn text(&mut self, at: &Location, text: &str) -> Result<String> {
        filled(text, self.parameters, &mut self.used)
            .map_err(|(problem, remedy)| ExperimentError::new(at.clone(), problem, remedy))
    }

    pub(super) fn optional(
        &mut self,
        at: &Location,
        text: Option<&String>,
    ) -> Result<Option<String>> {
        let filled = text.map(|text| self.text(at, text)).transpose()?;
        Ok(filled.filter(|filled| text.is_some_and(|text| !is_left_out(text, filled))))
    }

    /// The value as text, with the parameters in place.
    pub(super) fn scalar(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<String>> {
        let written = value.map(ToString::to_string);
        self.optional(at, written.as_ref())
    }

    pub(super) fn read<T>(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        read: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some(text) = self.scalar(at, value)? else {
            return Ok(None);
        };
        let from = match value {
            Some(Scalar::Text(written)) if *written != text => format!(" (from {written:?})"),
            _ => String::new(),
        };
        read(&text).map(Some).map_err(|remedy| {
            let key = match at.0.last() {
                Some(PathStep::Key(key)) => key.as_str(),
                _ => "value",
            };
            ExperimentError::new(
                at.clone(),
                format!("{key} cannot be {text:?}{from}"),
                remedy,
            )
        })
    }

    pub(super) fn time(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<Duration>> {
        self.read(at, value, |text| {
            parse_duration(text).map_err(|_| "write for example 10s, 500ms or 2min".to_owned())
        })
    }

    pub(super) fn bytes(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<ByteCount>> {
        self.read(at, value, |text| match text.parse::<ByteCount>() {
            Ok(bytes) if bytes.get() > 0 => Ok(bytes),
            _ => Err("write for example 1M for 10^6 or 1Mi for 2^20 bytes".to_owned()),
        })
    }

    pub(super) fn whole(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        self.read(at, value, |text| {
            let (low, high) = (*range.start(), *range.end());
            text.trim()
                .parse::<u64>()
                .ok()
                .or_else(|| text.parse::<ByteCount>().ok().map(ByteCount::get))
                .filter(|whole| range.contains(whole))
                .ok_or_else(|| format!("write a whole number from {low} to {high}"))
        })
    }
}

/// A text with every `{parameter}` replaced by its value; as it stands where that cannot be done.
#[must_use]
pub fn fill(text: &str, parameters: &[(String, Scalar)]) -> String {
    filled(text, parameters, &mut BTreeSet::new()).unwrap_or_else(|_| text.to_owned())
}

/// A text with every `{parameter}` replaced; notes which were used.
///
/// # Errors
/// A problem and a remedy.
fn filled(
    text: &str,
    parameters: &[(String, Scalar)],
    used: &mut BTreeSet<String>,
) -> std::result::Result<String, (String, String)> {
    let mut full = String::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        full.push_str(&rest[..brace]);
        let (sign, behind) = rest[brace..].split_at(1);
        if let Some(again) = behind.strip_prefix(sign) {
            full.push_str(sign);
            rest = again;
            continue;
        }
        let name = match (sign, behind.find('}')) {
            ("{", Some(end)) => behind[..end].trim(),
            _ => {
                return Err((
                    format!("{text:?} has a brace without its other half"),
                    "write {parameter}, and {{ or }} for a brace".to_owned(),
                ));
            }
        };
        let Some((known, value)) = parameters.iter().find(|(known, _)| known == name) else {
            let known = parameters.iter().map(|(known, _)| known.as_str());
            return Err((
                format!("there is no parameter {name:?}"),
                suggestion(name, "parameter", known),
            ));
        };
        used.insert(known.clone());
        full.push_str(&value.to_string());
        rest = &behind[behind.find('}').map_or(behind.len(), |end| end + 1)..];
    }
    full.push_str(rest);
    Ok(full)
}

/// Whether a parameter whose value is `default` leaves a key out of a case.
fn is_left_out(written: &str, filled: &str) -> bool {
    filled == "default" && written != filled
}
