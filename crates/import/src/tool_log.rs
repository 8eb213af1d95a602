//! A test as the log of any tool reports it.

use super::loaded::LoadedLog;
use super::log::Log;
use super::log_head::LogHead;
use super::openings::OpeningLog;
use super::round_trips::RoundTripLog;
use super::route::RouteLog;

/// A test as a log reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolLog {
    /// Of the throughput of TCP or UDP.
    Throughput(Box<Log>),
    /// Of round-trip times.
    RoundTrips(Box<RoundTripLog>),
    /// Of the hops of a path.
    Route(Box<RouteLog>),
    /// Of latency under load.
    Loaded(Box<LoadedLog>),
    /// Of the rate at which connections open.
    Openings(Box<OpeningLog>),
}

impl ToolLog {
    /// What every log reports.
    #[must_use]
    pub fn head(&self) -> LogHead {
        match self {
            Self::Throughput(log) => LogHead {
                format: log.format,
                version: log.version.clone(),
                side: log.side,
                peer: log.peer.clone(),
                command: log.command.clone(),
                title: log.title.clone(),
                started_ns: log.started_ns,
                is_complete: log.is_complete,
                error: log.error.clone(),
                warnings: log.warnings.clone(),
            },
            Self::RoundTrips(log) => log.head.clone(),
            Self::Route(log) => log.head.clone(),
            Self::Loaded(log) => log.head.clone(),
            Self::Openings(log) => log.head.clone(),
        }
    }

    /// The date of the start, to be set where a logger tells it.
    pub fn set_start(&mut self, started_ns: Option<i64>) {
        let own = match self {
            Self::Throughput(log) => &mut log.started_ns,
            Self::RoundTrips(log) => &mut log.head.started_ns,
            Self::Route(log) => &mut log.head.started_ns,
            Self::Loaded(log) => &mut log.head.started_ns,
            Self::Openings(log) => &mut log.head.started_ns,
        };
        *own = own.or(started_ns);
    }

    /// `true` when anything was measured.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        match self {
            Self::Throughput(log) => log.has_counts(),
            Self::RoundTrips(log) => log.sent > 0,
            Self::Route(log) => !log.hops.is_empty(),
            Self::Loaded(log) => log.has_counts(),
            Self::Openings(log) => log.opened > 0,
        }
    }

    /// The number of its flows.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        match self {
            Self::Throughput(log) => log.flows.len(),
            Self::Loaded(log) => log.flows.len(),
            Self::RoundTrips(_) | Self::Route(_) | Self::Openings(_) => 1,
        }
    }
}

impl From<Log> for ToolLog {
    fn from(log: Log) -> Self {
        Self::Throughput(Box::new(log))
    }
}

impl From<RoundTripLog> for ToolLog {
    fn from(log: RoundTripLog) -> Self {
        Self::RoundTrips(Box::new(log))
    }
}
