//! STAMP (RFC 8762) with its extensions (RFC 8972), and TWAMP-Light (RFC 5357 appendix I): the reflector that a server runs, and the
//! sender of a test.

mod own_clock;
mod packet_layout;
mod packet_record;
mod rate_limit;
mod received_replies;
mod reflector;
mod reflector_options;
mod sender;
mod session_table;
mod stamp_rows;

pub use packet_layout::stamp_bytes;
pub use reflector::StampReflectorServer;
pub use reflector_options::{ReflectedCounts, ReflectorOptions};
pub use sender::{StampOutcome, StampSender};
