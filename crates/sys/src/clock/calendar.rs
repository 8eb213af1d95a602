//! Dates and times of the calendar, in UTC or in the machine's time zone.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

/// A time of the calendar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// The year.
    pub year: i32,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second, 60 in a leap second.
    pub second: u8,
    /// The time zone's abbreviation, such as `CET`.
    pub zone: String,
}

impl LocalTime {
    /// The time `seconds` after the epoch: in UTC when `utc`, else in the machine's time zone.
    ///
    /// `None` for a time beyond the calendar.
    pub fn at(seconds: u64, utc: bool) -> Option<Self> {
        let parts = broken_down(seconds, utc)?;
        let zone = if utc || parts.tm_zone.is_null() {
            "UTC".to_owned()
        } else {
            // SAFETY: the name of a zone that the C library gives ends with a NUL and is never freed.
            unsafe { CStr::from_ptr(parts.tm_zone) }
                .to_string_lossy()
                .into_owned()
        };
        Some(Self {
            year: parts.tm_year + 1900,
            month: parts.tm_mon as u8 + 1,
            day: parts.tm_mday as u8,
            hour: parts.tm_hour as u8,
            minute: parts.tm_min as u8,
            second: parts.tm_sec as u8,
            zone,
        })
    }
}

/// The time `seconds` after the epoch in a format of strftime(3): in UTC when `utc`, else in the machine's time
/// zone. `None` for a format whose result is empty or longer than 1000 bytes.
pub fn format_time(seconds: u64, format: &str, utc: bool) -> Option<String> {
    let format = CString::new(format).ok()?;
    let parts = broken_down(seconds, utc)?;
    let mut text = [0_u8; 1000];
    // SAFETY: `text` is writable for its length, the format ends with a NUL, and `parts` is filled.
    let length = unsafe {
        libc::strftime(
            text.as_mut_ptr().cast(),
            text.len(),
            format.as_ptr(),
            &parts,
        )
    };
    let text = text.get(..length).filter(|text| !text.is_empty())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// The `struct tm` of a time; `None` beyond the calendar.
fn broken_down(seconds: u64, utc: bool) -> Option<libc::tm> {
    let seconds = seconds.try_into().ok()?;
    let convert = if utc {
        libc::gmtime_r
    } else {
        libc::localtime_r
    };
    let mut parts = MaybeUninit::<libc::tm>::uninit();
    // SAFETY: `seconds` is readable and `parts` has room for what the call fills.
    let filled = unsafe { convert(&seconds, parts.as_mut_ptr()) };
    if filled.is_null() {
        return None;
    }
    // SAFETY: the call has succeeded, so it has filled all of it.
    Some(unsafe { parts.assume_init() })
}
