//! Texts with `{parameter}` in them, filled in for a case.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::error::{ExperimentError, Result};
use crate::scalar::Scalar;
use crate::suggestion::suggestion;
use caudal_core::units::{ByteCount, parse_duration};
use caudal_topology::{Location, PathStep};

/// Fills in the texts of one case, and records the parameters used.
pub(super) struct Filler<'a> {
    pub(super) parameters: &'a [(String, Scalar)],
    pub(super) used: BTreeSet<String>,
}

impl Filler<'_> {
    /// A text with the parameters filled in.
    pub(super) fn text(&mut self, at: &Location, text: &str) -> Result<String> {
        replace_parameters(text, self.parameters, &mut self.used)
            .map_err(|(problem, remedy)| ExperimentError::new(at.clone(), problem, remedy))
    }

    /// A text with the parameters filled in; `None` where it is absent or a parameter is `default`.
    pub(super) fn optional(
        &mut self,
        at: &Location,
        text: Option<&String>,
    ) -> Result<Option<String>> {
        let filled = text.map(|text| self.text(at, text)).transpose()?;
        Ok(filled.filter(|filled| text.is_some_and(|text| !is_default(text, filled))))
    }

    /// The value as text, with the parameters filled in.
    pub(super) fn scalar(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<String>> {
        let written = value.map(ToString::to_string);
        self.optional(at, written.as_ref())
    }

    /// The value parsed by `parse`, whose error is the remedy.
    pub(super) fn parse<T>(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        parse: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<Option<T>> {
        let Some(text) = self.scalar(at, value)? else {
            return Ok(None);
        };
        let from = match value {
            Some(Scalar::Text(written)) if *written != text => format!(" (from {written:?})"),
            _ => String::new(),
        };
        parse(&text).map(Some).map_err(|remedy| {
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

    /// A duration.
    pub(super) fn time(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<Duration>> {
        self.parse(at, value, |text| {
            parse_duration(text).map_err(|_| "write for example 10s, 500ms or 2min".to_owned())
        })
    }

    /// An amount of at least one byte.
    pub(super) fn bytes(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
    ) -> Result<Option<ByteCount>> {
        self.parse(at, value, |text| match text.parse::<ByteCount>() {
            Ok(bytes) if bytes.get() > 0 => Ok(bytes),
            _ => Err("write for example 1M for 10^6 or 1Mi for 2^20 bytes".to_owned()),
        })
    }

    /// An integer within a range.
    pub(super) fn integer(
        &mut self,
        at: &Location,
        value: Option<&Scalar>,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        self.parse(at, value, |text| {
            let (min, max) = (*range.start(), *range.end());
            text.trim()
                .parse::<u64>()
                .ok()
                .or_else(|| text.parse::<ByteCount>().ok().map(ByteCount::get))
                .filter(|integer| range.contains(integer))
                .ok_or_else(|| format!("write an integer from {min} to {max}"))
        })
    }
}

/// A text with every `{parameter}` replaced by its value; unchanged where that fails.
#[must_use]
pub fn fill_parameters(text: &str, parameters: &[(String, Scalar)]) -> String {
    replace_parameters(text, parameters, &mut BTreeSet::new()).unwrap_or_else(|_| text.to_owned())
}

/// A text with every `{parameter}` replaced; adds the parameters to `used`.
///
/// # Errors
/// The problem and the remedy.
fn replace_parameters(
    text: &str,
    parameters: &[(String, Scalar)],
    used: &mut BTreeSet<String>,
) -> std::result::Result<String, (String, String)> {
    let mut full = String::new();
    let mut rest = text;
    while let Some(brace) = rest.find(['{', '}']) {
        full.push_str(&rest[..brace]);
        let (brace_text, after) = rest[brace..].split_at(1);
        if let Some(unescaped) = after.strip_prefix(brace_text) {
            full.push_str(brace_text);
            rest = unescaped;
            continue;
        }
        let name = match (brace_text, after.find('}')) {
            ("{", Some(end)) => after[..end].trim(),
            _ => {
                return Err((
                    format!("{text:?} has an unmatched brace"),
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
        rest = &after[after.find('}').map_or(after.len(), |end| end + 1)..];
    }
    full.push_str(rest);
    Ok(full)
}

/// `true` when a parameter has the value `default`, which removes the key from a case.
fn is_default(written: &str, filled: &str) -> bool {
    filled == "default" && written != filled
}
