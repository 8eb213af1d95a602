//! The arguments of iperf 2's options as values, and the errors of those that make no sense.

use crate::iperf2::units;
use crate::option_table::OptionArgument;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// Maximum number of ports in a range.
const MAX_PORTS: u16 = 1024;

/// The error for an argument that is not `expected`.
pub(super) fn invalid(argument: &OptionArgument<'_>, expected: &str) -> String {
    let OptionArgument { name, text, .. } = argument;
    format!("option --{name}: {text:?} is not {expected}")
}

/// A number that may have a suffix.
pub(super) fn amount(argument: &OptionArgument<'_>, expected: &str) -> Result<f64, String> {
    units::parse(argument.text)
        .filter(|number| *number >= 0.0 && *number < 1e18)
        .ok_or_else(|| invalid(argument, expected))
}

/// A number within `range`.
pub(super) fn within<T: FromStr + PartialOrd>(
    argument: &OptionArgument<'_>,
    range: RangeInclusive<T>,
    expected: &str,
) -> Result<T, String> {
    let number = argument.text.parse().ok();
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| invalid(argument, expected))
}

/// A port.
pub(super) fn port(argument: &OptionArgument<'_>) -> Result<u16, String> {
    within(argument, 1..=65_535, "a port between 1 and 65535")
}

/// A port, or the first and the last of a range.
pub(super) fn ports(argument: &OptionArgument<'_>) -> Result<(u16, Option<u16>), String> {
    let Some((first, last)) = argument.text.split_once('-') else {
        return Ok((port(argument)?, None));
    };
    let expected =
        "a port between 1 and 65535, or a range of at most 1024 of them, such as 5001-5004";
    let read = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    match (read(first), read(last)) {
        (Some(first), Some(last)) if first <= last && last - first < MAX_PORTS => {
            Ok((first, Some(last)))
        }
        _ => Err(invalid(argument, expected)),
    }
}

/// The length of a request or a reply of a test of response times, bytes.
pub(super) fn message_bytes(argument: &OptionArgument<'_>) -> Result<u32, String> {
    let expected = "a number of bytes between 64 and 1M";
    let bytes = amount(argument, expected)?;
    if !(64.0..=f64::from(1 << 20)).contains(&bytes) {
        return Err(invalid(argument, expected));
    }
    Ok(bytes as u32)
}

/// A time in seconds.
pub(super) fn seconds(argument: &OptionArgument<'_>) -> Result<Duration, String> {
    within(argument, 0.0..=1e9, "a number of seconds").map(Duration::from_secs_f64)
}

/// A reporting interval; `None` for the end only.
pub(super) fn interval(argument: &OptionArgument<'_>) -> Result<Option<Duration>, String> {
    let expected = "a number of seconds; intervals by frame (f) are not here";
    let seconds: f64 = within(argument, 0.0..=1e6, expected)?;
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds.max(0.005))))
}

/// The time until one in seconds since 1970.
pub(super) fn time_until(argument: &OptionArgument<'_>) -> Result<Duration, String> {
    let start: Option<f64> = argument.text.parse().ok();
    let start = start.ok_or_else(|| invalid(argument, "a time in seconds since 1970"))?;
    let now = caudal_sys::clock::realtime_ns() as f64 / 1e9;
    if start < now || start > now + 1e7 {
        let expected = "a time yet to come, in seconds since 1970";
        return Err(invalid(argument, expected));
    }
    Ok(Duration::from_secs_f64(start - now))
}

/// A host, and the device that may follow behind a percent sign.
pub(super) fn split_device(text: &str) -> (&str, Option<String>) {
    match text.split_once('%') {
        Some((host, device)) => (host, Some(device.to_owned())),
        None => (text, None),
    }
}

/// The names of TOS bytes.
const TOS: &[(&str, u8)] = &[
    ("af11", 0x28),
    ("af12", 0x30),
    ("af13", 0x38),
    ("af21", 0x48),
    ("af22", 0x50),
    ("af23", 0x58),
    ("af31", 0x68),
    ("af32", 0x70),
    ("af33", 0x78),
    ("af41", 0x88),
    ("af42", 0x90),
    ("af43", 0x98),
    ("cs0", 0x00),
    ("cs1", 0x20),
    ("cs2", 0x40),
    ("cs3", 0x60),
    ("cs4", 0x80),
    ("cs5", 0xa0),
    ("cs6", 0xc0),
    ("cs7", 0xe0),
    ("ef", 0xb8),
    ("le", 0x04),
    ("nqb", 0xb4),
    ("nqb2", 0x14),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0x80),
    ("ac_vo", 0xc0),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];

/// A number, hexadecimal with `0x` and octal with `0` in front.
fn number(text: &str) -> Option<u32> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return u32::from_str_radix(&text[1..], 8).ok();
    }
    text.parse().ok()
}

/// The TOS byte of a number or a name.
pub(super) fn tos(text: &str) -> Option<u8> {
    TOS.iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, tos)| *tos)
        .or_else(|| number(text).and_then(|tos| u8::try_from(tos).ok()))
}

/// The TOS byte of a DSCP, a number or a name.
pub(super) fn dscp(text: &str) -> Option<u8> {
    let number = number(text).filter(|dscp| *dscp < 64);
    let named = || TOS.iter().find(|(name, _)| *name == text);
    number
        .map(|dscp| (dscp as u8) << 2)
        .or_else(|| named().map(|(_, tos)| *tos))
}
