//! Blocks of zeros in a file that arrives.

use caudal_core::plan::TransferPlan;
use rustix::fs::ftruncate;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The unit of holes, bytes: the block size of most file systems.
const BLOCK: u64 = 4096;
/// A block without content.
const ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];

/// What becomes of blocks of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    /// They are written as everything else is.
    Written,
    /// They are left out: the file has holes there.
    Left,
}

impl Holes {
    pub(super) const fn of_plan(plan: &TransferPlan) -> Self {
        match plan.sparse {
            true => Self::Left,
            false => Self::Written,
        }
    }

    /// Writes a run of a file in which there is nothing from `offset` on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write(self, file: &File, run: &[u8], offset: u64) -> io::Result<()> {
        if self == Self::Written {
            return file.write_all_at(run, offset);
        }
        let mut rest = run;
        let mut at = offset;
        while !rest.is_empty() {
            let (zeros, content) = next_part(rest, at);
            at += zeros as u64;
            if content > 0 {
                file.write_all_at(&rest[zeros..zeros + content], at)?;
                at += content as u64;
            }
            rest = &rest[zeros + content..];
            // A hole at the end is only there when the file is as long.
            if content == 0 && file.metadata()?.len() < at {
                ftruncate(file, at)?;
            }
        }
        Ok(())
    }
}

/// The length of the zeros at the beginning of a run that begins at `offset` of its file, in whole blocks, and that of the content behind them.
fn next_part(run: &[u8], offset: u64) -> (usize, usize) {
    let mut zeros = 0;
    let mut content = 0;
    for block in (Blocks { run, offset }) {
        let is_zero = block.len() == ZEROS.len() && *block == ZEROS;
        match (is_zero, content) {
            (true, 0) => zeros += block.len(),
            (true, _) => break,
            (false, _) => content += block.len(),
        }
    }
    (zeros, content)
}

/// The blocks of a run: the first and the last may be parts of one.
struct Blocks<'a> {
    run: &'a [u8],
    offset: u64,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        if self.run.is_empty() {
            return None;
        }
        let to_border = (BLOCK - self.offset % BLOCK) as usize;
        let (block, rest) = self.run.split_at(to_border.min(self.run.len()));
        self.run = rest;
        self.offset += block.len() as u64;
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ScratchDirectory;
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// A file that arrives in runs of this length, with holes.
    fn arrived(content: &[u8], run_bytes: usize, name: &str) -> (Vec<u8>, u64) {
        let scratch = ScratchDirectory::new(name);
        let path = scratch.path().join("file");
        let file = File::create(&path).unwrap();
        let mut offset = 0;
        for run in content.chunks(run_bytes) {
            Holes::Left.write(&file, run, offset).unwrap();
            offset += run.len() as u64;
        }
        let blocks = file.metadata().unwrap().blocks();
        (std::fs::read(&path).unwrap(), blocks * 512)
    }

    #[test]
    fn blocks_of_zeros_are_holes_and_the_content_is_the_same() {
        let mut content = vec![0; 1 << 20];
        content[100_000..140_000].fill(7);
        content[500_000] = 1;
        for (nth, run_bytes) in [1 << 20, 262_144, 65_537, 5000].into_iter().enumerate() {
            let (found, stored) = arrived(&content, run_bytes, &format!("holes-{nth}"));
            assert!(found == content, "{run_bytes}");
            // Parts of blocks at the borders of runs are written; runs of 5000 B have hardly a block each.
            assert!(
                stored < 256 << 10 || run_bytes == 5000,
                "{run_bytes}: {stored}"
            );
        }
        let (nothing, stored) = arrived(&[0; 10_000], 10_000, "holes-all");
        assert_eq!((nothing.len(), nothing.iter().max()), (10_000, Some(&0)));
        assert!(stored <= 4096, "{stored}");
    }

    #[test]
    fn everything_is_written_where_no_holes_are_wanted() {
        let scratch = ScratchDirectory::new("no-holes");
        let file = File::create(scratch.path().join("file")).unwrap();
        Holes::Written.write(&file, &[0; 65_536], 0).unwrap();
        assert!(file.metadata().unwrap().blocks() * 512 >= 65_536);
    }
}
