//! What a trial of a search measured.

/// The measurements of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrialObservation {
    /// Datagrams sent.
    pub sent: u64,
    /// Of these, datagrams lost.
    pub lost: u64,
    /// The rate the sender reached, bit/s of payload a flow.
    pub reached_bps: f64,
    /// The result of [`undelivered_fraction`](super::undelivered_fraction).
    pub undelivered: Option<f64>,
}
