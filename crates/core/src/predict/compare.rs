//! An observation beside its prediction.
use super::prediction::Prediction;
/// x
#[derive(Debug, Clone)]
pub struct Compared {
    /// p
    pub prediction: Prediction,
}
