//! Predictions for flows that share a link: overload, fair shares, bias by round-trip time, policers and load balancing.

mod balancing;
mod output;
mod parameters;
mod policer;
mod rtt_bias;
mod sharing;

pub use balancing::{hash_collision, paths_used};
pub use output::{overload_loss, tcp_beside_udp};
pub use parameters::{ContentionPoint, SharingParameters, TokenBucketPolicer};
pub use policer::policed_tcp;
pub use rtt_bias::shares_by_rtt;
pub use sharing::predict_sharing;
