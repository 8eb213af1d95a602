//! The payload of a TCP sender.

use super::budget::ByteBudget;
use crate::socket::is_retryable;
use caudal_sys::tcp::{self, SplicedSource};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

/// The header that a protocol writes into the beginning of every block.
pub trait StampBlock: Send {
    /// The length of the header: no block is shorter.
    fn header_bytes(&self) -> usize;
    /// Writes the header of a block, which is sent next.
    fn stamp(&mut self, block: &mut [u8]);
}

/// The payload of a TCP sender.
pub enum Payload {
    /// One block again and again, shared by the flows of a test.
    Block(Arc<Vec<u8>>),
    /// One block again and again, with a new header each time.
    Stamped {
        /// The block.
        block: Vec<u8>,
        /// The writer of its header.
        stamper: Box<dyn StampBlock>,
    },
    /// The same pages again and again, handed over without a copy.
    Pages(SplicedSource),
    /// A regular file, handed over by the kernel.
    File {
        /// The file.
        file: File,
        /// The bytes of it that were sent.
        offset: u64,
    },
    /// A source that can only be read, such as a pipe.
    Stream {
        /// The source.
        source: File,
        /// Room for one block.
        buffer: Vec<u8>,
    },
}

/// The next block of a payload.
pub(super) enum NextBlock {
    /// This many bytes of it are to be sent.
    Ready(usize),
    /// The payload is used up.
    End,
    /// There is none yet: the budget was refunded.
    Again,
}

impl Payload {
    /// The payload read from a file, in blocks of `length` bytes; `-` is standard input.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path, length: usize) -> io::Result<Self> {
        let is_stdin = path.as_os_str() == "-";
        let file = if is_stdin {
            File::from(io::stdin().as_fd().try_clone_to_owned()?)
        } else {
            File::open(path)?
        };
        let is_regular = file.metadata()?.is_file();
        Ok(if is_regular && !is_stdin {
            Self::File { file, offset: 0 }
        } else {
            Self::Stream {
                source: file,
                buffer: vec![0; length],
            }
        })
    }

    /// The size of the blocks that belong to one flow, bytes.
    pub(super) const fn own_bytes(&self) -> usize {
        match self {
            Self::Stamped { block, .. } | Self::Stream { buffer: block, .. } => block.len(),
            Self::Block(_) | Self::Pages(_) | Self::File { .. } => 0,
        }
    }

    /// `true` when blocks are sent whole, whatever the rate.
    pub(super) const fn has_whole_blocks(&self) -> bool {
        matches!(self, Self::Stamped { .. })
    }

    /// `true` when blocks are read from a source that may have none yet.
    pub(super) const fn is_read(&self) -> bool {
        matches!(self, Self::Stream { .. })
    }

    /// Prepares the next block, for which `claimed` bytes were taken from the budget.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(super) fn prepare(&mut self, claimed: usize, budget: &ByteBudget) -> io::Result<NextBlock> {
        match self {
            Self::Stamped { block, stamper } => {
                let size = claimed.max(stamper.header_bytes()).min(block.len());
                stamper.stamp(&mut block[..size]);
                Ok(NextBlock::Ready(size))
            }
            Self::Stream { source, buffer } => {
                let room = claimed.min(buffer.len());
                match source.read(&mut buffer[..room]) {
                    Ok(0) => Ok(NextBlock::End),
                    Ok(count) => {
                        // A pipe gives what it has: the rest is for the next read.
                        budget.refund((claimed - count) as u64);
                        Ok(NextBlock::Ready(count))
                    }
                    Err(cause) if is_retryable(&cause) => {
                        budget.refund(claimed as u64);
                        Ok(NextBlock::Again)
                    }
                    Err(cause) => Err(cause),
                }
            }
            Self::Block(_) | Self::Pages(_) | Self::File { .. } => Ok(NextBlock::Ready(claimed)),
        }
    }

    /// Hands `left` bytes of the block, from `at` on, to the kernel: the number it took.
    ///
    /// # Errors
    /// Those of the kernel.
    #[inline]
    pub(super) fn send_some(
        &mut self,
        socket: BorrowedFd<'_>,
        at: usize,
        left: usize,
    ) -> io::Result<usize> {
        match self {
            Self::Block(block) => tcp::send_some(socket, &block[at..at + left]),
            Self::Stamped { block, .. } => tcp::send_some(socket, &block[at..at + left]),
            Self::Pages(pages) => pages.send_some(socket, left),
            Self::File { file, offset } => tcp::send_file_some(socket, file.as_fd(), offset, left),
            Self::Stream { buffer, .. } => tcp::send_some(socket, &buffer[at..at + left]),
        }
    }
}
