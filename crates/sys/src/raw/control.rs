//! Control messages: cmsg(3).

use std::ffi::c_int;

use super::bytes::field;

/// The size of a `struct cmsghdr` as the kernel counts it: a `size_t` and two `int`.
const CONTROL_HEADER: usize = size_of::<usize>() + 2 * size_of::<c_int>();

/// The control data of one message, sent or received.
#[derive(Debug, Clone, Copy)]
#[repr(align(8))]
pub(crate) struct ControlBuffer([u8; 256]);

impl ControlBuffer {
    /// The length of the buffer, bytes.
    pub(crate) const LENGTH: usize = size_of::<[u8; 256]>();

    /// A buffer for the kernel to fill.
    pub(crate) const fn empty() -> Self {
        Self([0; 256])
    }

    /// Control data with these messages, each of a level, a kind and data, and its length in bytes.
    pub(crate) fn several(messages: &[(c_int, c_int, &[u8])]) -> (Self, usize) {
        let mut control = Self::empty();
        let mut filled = 0_usize;
        for (level, kind, data) in messages {
            let parts: [&[u8]; 4] = [
                &(CONTROL_HEADER + data.len()).to_ne_bytes(),
                &level.to_ne_bytes(),
                &kind.to_ne_bytes(),
                data,
            ];
            for part in parts {
                control.0[filled..filled + part.len()].copy_from_slice(part);
                filled += part.len();
            }
            filled = filled.next_multiple_of(size_of::<usize>());
        }
        (control, filled)
    }

    /// The start of the buffer, for the kernel to write to.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The first `filled` bytes, for the kernel to read.
    pub(crate) fn as_bytes(&self, filled: usize) -> &[u8] {
        &self.0[..filled]
    }

    /// The messages in the first `filled` bytes: level, kind and data of each.
    pub(crate) fn messages(&self, filled: usize) -> ControlMessages<'_> {
        ControlMessages(&self.0[..filled.min(Self::LENGTH)])
    }
}

/// An iterator over the messages of a [`ControlBuffer`].
pub(crate) struct ControlMessages<'a>(&'a [u8]);

impl<'a> Iterator for ControlMessages<'a> {
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let word = size_of::<usize>();
        let length = usize::from_ne_bytes(field(self.0, 0)?);
        let level = c_int::from_ne_bytes(field(self.0, word)?);
        let kind = c_int::from_ne_bytes(field(self.0, word + size_of::<c_int>())?);
        let data = self.0.get(CONTROL_HEADER..length)?;
        self.0 = self
            .0
            .get(length.next_multiple_of(word)..)
            .unwrap_or_default();
        Some((level, kind, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_message_reads_back_as_it_was_written() {
        for length in [0, 2, 4, 16, 48] {
            let data: Vec<u8> = (0..length).collect();
            let (control, filled) = ControlBuffer::several(&[(17, 104, data.as_slice())]);
            let read: Vec<_> = control.messages(filled).collect();
            assert_eq!(read, [(17, 104, data.as_slice())]);
        }
    }

    #[test]
    fn several_control_messages_read_back_in_their_order() {
        let messages: [(c_int, c_int, &[u8]); 3] =
            [(0, 2, &[7, 0, 0, 0]), (1, 37, &[1]), (41, 52, &[9; 16])];
        let (control, filled) = ControlBuffer::several(&messages);
        let read: Vec<_> = control.messages(filled).collect();
        assert_eq!(read, messages);
    }

    #[test]
    fn control_data_that_is_truncated_ends_the_iteration() {
        let (control, filled) = ControlBuffer::several(&[(17, 104, &[1, 2, 3, 4])]);
        assert_eq!(control.messages(filled - 5).count(), 0);
    }
}
