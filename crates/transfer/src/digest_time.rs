//! The time that an end has for the digest of a content before it moves anything (protocol.md, section 4.2).

use super::prepared_content::MAX_READ_BEFORE;
use std::time::Duration;

/// The time for any content.
const BASE: Duration = Duration::from_secs(60);
/// The rate at which a content is read for its digest at least, bytes a second: that of a disk, or of a processor that others use.
const BYTES_PER_S: u64 = 10_000_000;

/// The time that a peer has to compute the digest of a content of `bytes`.
pub(crate) const fn time_for_digest(bytes: u64) -> Duration {
    BASE.saturating_add(Duration::from_secs(bytes / BYTES_PER_S))
}

/// The time that a sender has to begin with a content of `total` bytes, where that is longer than what any peer has: one that large is read
/// for its digest first.
#[must_use]
pub fn time_to_begin(total: Option<u64>) -> Option<Duration> {
    total
        .filter(|bytes| *bytes > MAX_READ_BEFORE)
        .map(time_for_digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_first_has_a_minute_and_a_hundred_nanoseconds_a_byte() {
        assert_eq!(time_to_begin(None), None);
        assert_eq!(time_to_begin(Some(MAX_READ_BEFORE)), None);
        assert_eq!(
            time_to_begin(Some(100_000_000_000)),
            Some(Duration::from_secs(10_060))
        );
        assert!(time_to_begin(Some(u64::MAX)) > Some(Duration::from_secs(60)));
    }
}
