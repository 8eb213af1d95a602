//! The name and version of this program, and the identities of its runs.

/// The name and version this program reports to a peer.
pub const TOOL: &str = concat!("caudal ", env!("CARGO_PKG_VERSION"));

/// An identity for a run: 128 random bits as 32 hexadecimal digits.
#[must_use]
pub fn new_run_id() -> String {
    let mut id = [0_u8; 16];
    // A kernel without random numbers is older than any this program runs on; runs then share an identity.
    let _ = getrandom::fill(&mut id);
    hex::encode(id)
}
