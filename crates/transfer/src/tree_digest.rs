//! The BLAKE3 digest of a content from the digests of its units of 1 MiB, which are complete subtrees of BLAKE3's tree.
//!
//! Source: the BLAKE3 paper, section 2.1: the left subtree of a node is the largest complete one that leaves something to the right.

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use caudal_core::plan::RESUME_UNIT_BYTES;

/// The bytes of a unit.
pub(super) const UNIT_BYTES: u64 = RESUME_UNIT_BYTES;

/// The digest of the unit with this number, which has [`UNIT_BYTES`] unless it is the last of a content.
pub(super) fn unit_digest(number: u64, bytes: &[u8]) -> ChainingValue {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(number * UNIT_BYTES);
    hasher.update(bytes);
    hasher.finalize_non_root()
}

/// The digest of a content as its bytes arrive.
#[derive(Debug)]
pub(super) struct TreeDigest {
    /// The digests of complete subtrees, the largest first, without the latest unit.
    subtrees: Vec<ChainingValue>,
    /// The latest whole unit, which may be the last.
    latest: Option<ChainingValue>,
    /// Whole units so far.
    units: u64,
    /// The digest of the first unit as that of a whole content.
    first: Option<[u8; 32]>,
    /// The hasher of the unit under way.
    hasher: blake3::Hasher,
    /// Bytes of the unit under way.
    filled: u64,
}

impl TreeDigest {
    /// The digest of a content that begins with units of these digests, and goes on behind them.
    pub(super) fn new(units: &[ChainingValue]) -> Self {
        let mut digest = Self {
            subtrees: Vec::new(),
            latest: None,
            units: 0,
            first: None,
            hasher: blake3::Hasher::new(),
            filled: 0,
        };
        units.iter().for_each(|unit| digest.push(*unit));
        digest
    }

    /// Takes bytes; `complete` is called with the number and digest of each unit that they complete.
    pub(super) fn update(
        &mut self,
        mut bytes: &[u8],
        mut complete: impl FnMut(u64, &ChainingValue),
    ) {
        while !bytes.is_empty() {
            if self.filled == 0 {
                self.hasher = blake3::Hasher::new();
                self.hasher.set_input_offset(self.units * UNIT_BYTES);
            }
            let room = (UNIT_BYTES - self.filled).min(bytes.len() as u64) as usize;
            let (now, later) = bytes.split_at(room);
            self.hasher.update(now);
            self.filled += room as u64;
            bytes = later;
            if self.filled == UNIT_BYTES {
                if self.units == 0 {
                    self.first = Some(self.hasher.finalize().into());
                }
                let digest = self.hasher.finalize_non_root();
                complete(self.units, &digest);
                self.push(digest);
            }
        }
    }

    /// Takes a whole unit, or the last, by its digest.
    fn push(&mut self, digest: ChainingValue) {
        if let Some(before) = self.latest.replace(digest) {
            self.merge(before);
        }
        self.units += 1;
        self.filled = 0;
    }

    /// Joins `unit`, which has a successor, with the complete subtrees of which it is the last part.
    fn merge(&mut self, unit: ChainingValue) {
        let mut subtree = unit;
        // It is the last of `units`: each trailing zero of their number is a level that is complete with it.
        for _ in 0..self.units.trailing_zeros() {
            if let Some(left) = self.subtrees.pop() {
                subtree = merge_subtrees_non_root(&left, &subtree, Mode::Hash);
            }
        }
        self.subtrees.push(subtree);
    }

    /// The digest of everything; `None` for a single whole unit of which only its own digest is known.
    pub(super) fn finalize(mut self) -> Option<[u8; 32]> {
        if self.units == 0 {
            return Some(match self.filled {
                0 => blake3::hash(&[]).into(),
                _ => self.hasher.finalize().into(),
            });
        }
        if self.filled > 0 {
            let last = self.hasher.finalize_non_root();
            self.push(last);
        }
        let mut right = self.latest?;
        let Some(first) = self.subtrees.first().copied() else {
            return self.first;
        };
        while self.subtrees.len() > 1 {
            if let Some(left) = self.subtrees.pop() {
                right = merge_subtrees_non_root(&left, &right, Mode::Hash);
            }
        }
        Some(merge_subtrees_root(&first, &right, Mode::Hash).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 % 251) as u8).collect()
    }

    #[test]
    fn the_digest_of_the_units_is_that_of_the_whole() {
        const UNIT: usize = UNIT_BYTES as usize;
        for bytes in [
            0,
            1,
            UNIT - 1,
            UNIT,
            UNIT + 1,
            2 * UNIT,
            3 * UNIT,
            5 * UNIT + 7,
            8 * UNIT,
        ] {
            let content = content(bytes);
            let mut digest = TreeDigest::new(&[]);
            let mut units = Vec::new();
            for piece in content.chunks(300_007) {
                digest.update(piece, |number, unit| {
                    assert_eq!(number, units.len() as u64);
                    units.push(*unit);
                });
            }
            let whole: [u8; 32] = blake3::hash(&content).into();
            assert_eq!(digest.finalize(), Some(whole), "{bytes}");
            for (number, unit) in content.chunks_exact(UNIT).enumerate() {
                assert_eq!(unit_digest(number as u64, unit), units[number]);
            }
            // Continued behind some of its units.
            for known in 1..units.len() {
                let mut digest = TreeDigest::new(&units[..known]);
                digest.update(&content[known * UNIT..], |_, _| {});
                assert_eq!(digest.finalize(), Some(whole), "{bytes} behind {known}");
            }
        }
    }
}
