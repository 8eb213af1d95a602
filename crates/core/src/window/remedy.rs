//! What to do next about what limited a connection.

use crate::sample::Role;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A remedy of what limited a connection, or the measurement that finds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "remedy", rename_all = "snake_case")]
pub enum Remedy {
    /// There is nothing to do: the link is full.
    Nothing,
    /// Set a setting of the kernel.
    SetKernel {
        /// The end at which it is set.
        end: Role,
        /// The command line that sets it.
        command: String,
    },
    /// Ask for larger socket buffers, or leave them to the kernel.
    SetWindow {
        /// The size to ask for, bytes.
        window_bytes: u64,
    },
    /// Use more flows at once.
    MoreFlows {
        /// Their number.
        flows: u64,
    },
    /// Measure for longer: the window was still growing.
    MeasureLonger {
        /// The time, s.
        seconds: u64,
    },
    /// Give the rate of the link, from which the window follows.
    GiveLinkRate,
    /// Find the hop that loses packets.
    FindLoss,
    /// Find the narrow link of the path.
    FindNarrowLink,
    /// Find out whether the path has several routes, which reorder.
    FindReordering,
    /// Find the rate that a policer passes.
    FindPolicedRate,
    /// Measure what the queue does to other traffic.
    MeasureQueue,
    /// Measure whether a connection fills the path.
    MeasureThroughput,
    /// Relieve the processor of an end.
    RelieveProcessor {
        /// The end.
        end: Role,
    },
    /// Look at the program at an end: the network waits for it.
    CheckProgram {
        /// The end.
        end: Role,
    },
    /// Leave the socket buffer of the program at an end to the kernel.
    LeaveToKernel {
        /// The end.
        end: Role,
    },
    /// Ask for a higher rate.
    RaiseRate,
    /// Run a server of caudal's at the other end, which reports more.
    RunServer,
    /// Measure again.
    MeasureAgain,
}

impl fmt::Display for Remedy {
    /// The remedy as one sentence, without the flags and commands of any program but sysctl(8).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Nothing => "nothing to do: the link is full",
            Self::SetKernel { end, command } => return write!(f, "at the {end}: {command}"),
            Self::SetWindow { window_bytes } => {
                let bytes = ByteCount::new(*window_bytes);
                return write!(f, "ask for a window of {bytes}, or leave it to the kernel");
            }
            Self::MoreFlows { flows } => return write!(f, "use {flows} flows at once"),
            Self::MeasureLonger { seconds } => {
                return write!(f, "measure for {seconds} s: the window was still growing");
            }
            Self::GiveLinkRate => "give the rate of the link, to know its window",
            Self::FindLoss => "find the hop that loses packets",
            Self::FindNarrowLink => "find the narrow link of the path",
            Self::FindReordering => "find out whether the path has several routes",
            Self::FindPolicedRate => "find the rate that the policer passes",
            Self::MeasureQueue => "see what the queue does to other traffic",
            Self::MeasureThroughput => "see whether a connection fills the path",
            Self::RelieveProcessor { end } => {
                return write!(
                    f,
                    "use more flows or a faster {end}: the network may give more"
                );
            }
            Self::CheckProgram { end } => {
                return write!(f, "look at the {end}'s program: the network waits for it");
            }
            Self::LeaveToKernel { end } => {
                return write!(
                    f,
                    "let the kernel tune the {end}'s buffer, which its program sets"
                );
            }
            Self::RaiseRate => "ask for a higher rate, to find the limit of the path",
            Self::RunServer => "run a server of caudal's at the other end, which reports more",
            Self::MeasureAgain => "measure again, for longer",
        };
        f.write_str(text)
    }
}

/// What to do next, as documents carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// The remedy.
    #[serde(flatten)]
    pub remedy: Remedy,
    /// The same as a sentence.
    pub text: String,
}

impl From<Remedy> for NextStep {
    fn from(remedy: Remedy) -> Self {
        Self {
            text: remedy.to_string(),
            remedy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_its_remedy_with_what_belongs_to_it_and_a_sentence() {
        let step = NextStep::from(Remedy::MoreFlows { flows: 4 });
        let json = serde_json::to_value(&step).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"remedy": "more_flows", "flows": 4, "text": "use 4 flows at once"})
        );
        assert_eq!(serde_json::from_value::<NextStep>(json).unwrap(), step);
        let kernel = Remedy::SetKernel {
            end: Role::Receiver,
            command: "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1563840\"".to_owned(),
        };
        assert_eq!(
            kernel.to_string(),
            "at the receiver: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1563840\""
        );
    }
}
