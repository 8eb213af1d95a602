//! Anonymous memory.

use std::io;
use std::ptr;
use std::slice;

/// Private anonymous pages, zeroed, unmapped when dropped.
///
/// Pages that were never touched take no memory.
#[derive(Debug)]
pub(crate) struct Pages {
    start: ptr::NonNull<u8>,
    length: usize,
}

impl Pages {
    /// Maps `length` bytes, which are above 0.
    pub(crate) fn map(length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice replaces no other.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = ptr::NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// All bytes of the mapping.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for `length` bytes and lives as long as `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// All bytes of the mapping, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is writable for `length` bytes and borrowed for as long as the slice.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is the one `map` was given, and no slice of it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

// SAFETY: the pages have one owner, and are reached through borrows of it only.
unsafe impl Send for Pages {}
// SAFETY: a shared borrow only reads.
unsafe impl Sync for Pages {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_start_out_zero_and_keep_what_is_written() -> io::Result<()> {
        let mut pages = Pages::map(3 * 4096)?;
        assert!(pages.bytes().iter().all(|&byte| byte == 0));
        pages.bytes_mut()[5000] = 7;
        assert_eq!(pages.bytes()[5000], 7);
        Ok(())
    }
}
