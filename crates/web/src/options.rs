//! The treatment of browsers by a server.

use caudal_core::run::Run;
use caudal_core::units::ByteCount;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Keeps the tests of visitors.
pub trait VisitorArchive: fmt::Debug + Send + Sync {
    /// Records a test that was started at `started_ns` since 1970; `false` where it was not recorded.
    fn record(&self, run: &Run, started_ns: u64) -> bool;

    /// The page of the test with this id, as HTML; `None` where there is none, or the id is not that of a visitor's test.
    fn page(&self, id: &str) -> Option<String>;
}

/// The treatment of browsers by a server.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// Origins whose pages may measure against this server, beside its own page: `https://example.net`.
    pub origins: Vec<String>,
    /// The tests that one source, an IPv4 address or a /64 of IPv6, may begin in an hour.
    pub starts_per_hour: u32,
    /// The payload that tests of one source may carry in an hour, both directions together.
    pub bytes_per_hour: ByteCount,
    /// The duration of the phase without load.
    pub idle: Duration,
    /// The duration of each phase with load.
    pub time: Duration,
    /// Streams in each direction.
    pub streams: u32,
    /// What keeps the tests of visitors; `None` keeps none.
    pub archive: Option<Arc<dyn VisitorArchive>>,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            origins: Vec::new(),
            starts_per_hour: 60,
            bytes_per_hour: ByteCount::new(50_000_000_000),
            idle: Duration::from_secs(3),
            time: Duration::from_secs(8),
            streams: 4,
            archive: None,
        }
    }
}
