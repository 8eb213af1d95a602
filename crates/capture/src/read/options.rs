//! The options of a pcapng block.
//!
//! Source: draft-ietf-opsawg-pcapng, section 3.5.

use crate::bytes::ByteOrder;

/// `opt_endofopt`.
const END: u16 = 0;
/// `opt_comment`.
pub(crate) const COMMENT: u16 = 1;

/// The options of a block, as they come; a cut-off option ends them.
pub(crate) struct BlockOptions<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> BlockOptions<'a> {
    /// The options in `bytes`.
    pub(crate) const fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }
}

impl<'a> Iterator for BlockOptions<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.len() < 4 {
            return None;
        }
        let code = self.order.u16(self.bytes, 0);
        let length = usize::from(self.order.u16(self.bytes, 2));
        let value = self.bytes.get(4..4 + length)?;
        self.bytes = self
            .bytes
            .get(4 + length.next_multiple_of(4)..)
            .unwrap_or(&[]);
        (code != END).then_some((code, value))
    }
}
