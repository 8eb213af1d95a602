//! The message sizes of a round-trip test, as people write them.

use super::MAX_SIZES;
use crate::units::ByteCount;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Message sizes in bytes, in the order they are measured, each once.
///
/// They are written as sizes and ranges of doubling sizes, separated by commas: `64`, `1,64,1Ki`, `1..64Ki`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSizes(Vec<u32>);

/// A text that is no list of message sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageSizesError {
    /// A part is no size.
    #[error("{0:?} is not a size; give sizes such as 1,64,1Ki or a range such as 1..64Ki")]
    NotASize(String),
    /// A size that no message has.
    #[error("the size {0} is out of range; it must lie between 1 and 16Mi")]
    OutOfRange(String),
    /// A range of no sizes.
    #[error("the range {0} ends before it begins")]
    EmptyRange(String),
    /// More than [`MAX_SIZES`].
    #[error("{0} sizes are too many; at most {MAX_SIZES}")]
    TooMany(usize),
}

impl MessageSizes {
    /// The sizes, bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }
}

impl FromStr for MessageSizes {
    type Err = MessageSizesError;

    fn from_str(text: &str) -> Result<Self, MessageSizesError> {
        let mut sizes: Vec<u32> = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((low, high)) => {
                    let (low, high) = (size(low)?, size(high.trim_start_matches('='))?);
                    if low > high {
                        return Err(MessageSizesError::EmptyRange(part.to_owned()));
                    }
                    let doubling = std::iter::successors(Some(low), |size| size.checked_mul(2));
                    sizes.extend(doubling.take_while(|size| *size <= high));
                }
                None => sizes.push(size(part)?),
            }
        }
        let mut seen = BTreeSet::new();
        sizes.retain(|size| seen.insert(*size));
        if sizes.len() > MAX_SIZES {
            return Err(MessageSizesError::TooMany(sizes.len()));
        }
        Ok(Self(sizes))
    }
}

fn size(text: &str) -> Result<u32, MessageSizesError> {
    let bytes: ByteCount = text
        .trim()
        .parse()
        .map_err(|_| MessageSizesError::NotASize(text.to_owned()))?;
    u32::try_from(bytes.get())
        .ok()
        .filter(|size| *size > 0)
        .ok_or_else(|| MessageSizesError::OutOfRange(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_or_doubled_and_each_counts_once() {
        let cases: [(&str, &[u32]); 5] = [
            ("1", &[1]),
            ("1,64,1Ki", &[1, 64, 1024]),
            ("1..16", &[1, 2, 4, 8, 16]),
            ("3..20,64,6", &[3, 6, 12, 64]),
            ("16Mi", &[16 << 20]),
        ];
        for (text, expected) in cases {
            let sizes: MessageSizes = text.parse().unwrap();
            assert_eq!(sizes.as_slice(), expected, "{text}");
        }
        for bad in ["", "0", "x", "8..4", "1,,2", "0..4", "5Gi", "-1", "1.."] {
            assert!(bad.parse::<MessageSizes>().is_err(), "{bad:?}");
        }
    }
}
