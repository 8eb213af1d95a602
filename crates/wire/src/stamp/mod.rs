//! The packets of STAMP (RFC 8762) with its extensions (RFC 8972), and of TWAMP-Light (RFC 5357 appendix I), whose fields stand at the
//! same places.

mod error_estimate;
mod extensions;
mod key;
mod packet;
mod time;

pub use error_estimate::ErrorEstimate;
pub use extensions::{
    AnsweredExtension, DirectMeasurement, ExtensionKind, FollowUp, ReflectionFacts, TimeSource,
    TimestampMethod, append_extension, append_hmac, append_padding, extensions, reflect_extensions,
    verify_hmac_extension,
};
pub use key::StampKey;
pub use packet::{
    AUTHENTICATED_BYTES, MIN_BYTES, OPEN_BYTES, PORT, ReflectedStamp, SENT_TTL, SenderStamp,
    StampError, StampMode, decode_reply, decode_request, encode_request, seal_reply, write_reply,
};
pub use time::TimestampFormat;
