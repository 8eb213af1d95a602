//! How the flows of a test opened: which got an answer, and what stands in the way of the others.

use crate::plan::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Minimum number of ways to choose the flows that opened for it to be no chance that they are the first ones.
const MIN_CHOICES: u128 = 20;
/// Maximum number of ports that a text lists.
const MAX_PORTS: usize = 8;

/// The outcome of opening one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpeningOutcome {
    /// It is open.
    Opened,
    /// No answer came.
    NoAnswer,
    /// The server received what was sent, and its answers did not arrive.
    AnswerLost,
    /// A reset or an ICMP message refused it.
    Refused,
}

/// The opening of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenedFlow {
    /// The flow's number in the plan that was asked for.
    pub flow: u32,
    /// The client's port; absent where there was no socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port: Option<u16>,
    /// The outcome.
    pub outcome: OpeningOutcome,
}

/// What stands in the way where some flows of a test open and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpeningPattern {
    /// Those that were begun first opened and the rest did not: a limit on connections.
    Limit,
    /// Flows that opened were begun after ones that did not: the path treats flows differently.
    Paths,
    /// Either of both.
    Unclear,
    /// None opened.
    Blocked,
}

/// How the flows of a test opened, in the order in which they were begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpeningReport {
    /// The transport protocol.
    pub transport: Transport,
    /// Each flow.
    pub flows: Vec<OpenedFlow>,
    /// The time for which an answer was waited for, s.
    pub waited_s: f64,
    /// What stands in the way of those that did not open.
    pub pattern: OpeningPattern,
}

impl OpeningPattern {
    /// The pattern of flows that opened (`true`) or did not, in the order in which they were begun.
    ///
    /// Where `n` of `n + m` flows open at random, the chance that they are the first ones is 1 in `(n + m)! / (n! m!)`.
    #[must_use]
    pub fn of(transport: Transport, opened: &[bool]) -> Self {
        let first = opened.iter().take_while(|opened| **opened).count();
        let all = opened.iter().filter(|opened| **opened).count();
        if all == 0 {
            return Self::Blocked;
        }
        // UDP flows are begun at one time, so their order says nothing.
        if first < all || transport == Transport::Udp {
            return Self::Paths;
        }
        match choices(opened.len(), all) >= MIN_CHOICES {
            true => Self::Limit,
            false => Self::Unclear,
        }
    }
}

/// The number of ways to choose `chosen` of `all`, or [`MIN_CHOICES`] where it is more.
fn choices(all: usize, chosen: usize) -> u128 {
    let fewer = chosen.min(all - chosen) as u128;
    let mut ways = 1;
    for nth in 0..fewer {
        ways = ways * (all as u128 - nth) / (nth + 1);
        if ways >= MIN_CHOICES {
            return MIN_CHOICES;
        }
    }
    ways
}

impl OpeningReport {
    /// The opening of these flows, each of which was waited for at most `waited_s`.
    #[must_use]
    pub fn new(transport: Transport, flows: Vec<OpenedFlow>, waited_s: f64) -> Self {
        let opened: Vec<bool> = flows.iter().map(OpenedFlow::is_open).collect();
        Self {
            transport,
            pattern: OpeningPattern::of(transport, &opened),
            flows,
            waited_s,
        }
    }

    /// The number of flows that opened.
    #[must_use]
    pub fn opened(&self) -> usize {
        self.flows.iter().filter(|flow| flow.is_open()).count()
    }

    /// `true` when every flow that did not open has this outcome.
    fn all_failed_by(&self, outcome: OpeningOutcome) -> bool {
        let mut failed = self.flows.iter().filter(|flow| !flow.is_open());
        failed.all(|flow| flow.outcome == outcome)
    }

    /// The ports of those that opened, or did not, as text.
    fn ports(&self, opened: bool) -> String {
        let flows = self.flows.iter().filter(|flow| flow.is_open() == opened);
        let ports: Vec<u16> = flows.filter_map(|flow| flow.source_port).collect();
        let shown: Vec<String> = ports.iter().take(MAX_PORTS).map(u16::to_string).collect();
        let more = match ports.len().saturating_sub(MAX_PORTS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", shown.join(", "))
    }

    /// The number of those that did not open and what became of them.
    fn failures(&self) -> String {
        let failed = self.flows.len() - self.opened();
        let waited = match self.waited_s < 1.0 {
            true => format!("{:.0} ms", self.waited_s * 1e3),
            false => format!("{:.0} s", self.waited_s),
        };
        let became = if self.all_failed_by(OpeningOutcome::Refused) {
            "refused".to_owned()
        } else if self.all_failed_by(OpeningOutcome::AnswerLost) {
            format!("without an answer in {waited}, though the server received what they sent")
        } else {
            format!("without an answer in {waited}")
        };
        format!(
            "{failed} {became} (source port{} {})",
            if failed == 1 { "" } else { "s" },
            self.ports(false)
        )
    }

    /// What stands in the way where no flow opened, while the control connection stands.
    fn blocked(&self) -> &'static str {
        let refused = self.all_failed_by(OpeningOutcome::Refused);
        let lost = self.all_failed_by(OpeningOutcome::AnswerLost);
        match self.transport {
            Transport::Tcp if refused => {
                "something refuses every connection after the first of a source"
            }
            Transport::Tcp => {
                "something lets only the first connection through (a limit for each source, or a firewall's table of connections that is full)"
            }
            Transport::Udp if refused => "UDP to that port is rejected there, or on the way",
            Transport::Udp if lost => "UDP from the server is dropped on the return path",
            Transport::Udp => "UDP to the server is dropped on the path to it",
        }
    }
}

impl OpenedFlow {
    const fn is_open(&self) -> bool {
        matches!(self.outcome, OpeningOutcome::Opened)
    }
}

/// The flows that opened, the others with their ports, and what stands in their way.
impl fmt::Display for OpeningReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flows = match self.transport {
            Transport::Tcp => "data connections",
            Transport::Udp => "UDP flows",
        };
        let (opened, all) = (self.opened(), self.flows.len());
        let failures = self.failures();
        if opened == 0 {
            return write!(
                f,
                "the control connection stands, but {}: {failures}; {}",
                match all {
                    1 => format!("no {} opened", flows.trim_end_matches('s')),
                    _ => format!("none of {all} {flows} opened"),
                },
                self.blocked()
            );
        }
        write!(
            f,
            "{opened} of {all} {flows} opened (source port{} {}), {failures}: ",
            if opened == 1 { "" } else { "s" },
            self.ports(true)
        )?;
        let limit = format!(
            "a limit of about {} connections stands in the way, the control connection among them",
            opened + 1
        );
        let paths = "the path treats flows differently, as where one of several links or servers drops what it is given";
        match self.pattern {
            OpeningPattern::Limit => f.write_str(&limit),
            OpeningPattern::Unclear => write!(f, "either {limit}, or {paths}"),
            OpeningPattern::Paths | OpeningPattern::Blocked => f.write_str(paths),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(transport: Transport, opened: &str, failed_by: OpeningOutcome) -> OpeningReport {
        let flows = opened.chars().zip(0..).map(|(opened, flow)| OpenedFlow {
            flow,
            source_port: Some(40_000 + 2 * flow as u16),
            outcome: match opened {
                '1' => OpeningOutcome::Opened,
                _ => failed_by,
            },
        });
        OpeningReport::new(transport, flows.collect(), 5.0)
    }

    #[test]
    fn a_limit_is_told_from_a_path_by_the_order_where_that_is_no_chance() {
        let tcp = |opened| opening(Transport::Tcp, opened, OpeningOutcome::NoAnswer).pattern;
        assert_eq!(tcp("11110000"), OpeningPattern::Limit);
        assert_eq!(tcp("11101000"), OpeningPattern::Paths);
        assert_eq!(tcp("01111111"), OpeningPattern::Paths);
        assert_eq!(tcp("11111110"), OpeningPattern::Unclear);
        assert_eq!(tcp("10"), OpeningPattern::Unclear);
        assert_eq!(tcp("0000"), OpeningPattern::Blocked);
        let many = format!("{}{}", "1".repeat(500), "0".repeat(524));
        assert_eq!(tcp(&many), OpeningPattern::Limit);
        let udp = opening(Transport::Udp, "11110000", OpeningOutcome::NoAnswer);
        assert_eq!(udp.pattern, OpeningPattern::Paths);
    }

    #[test]
    fn the_text_names_the_ports_and_what_stands_in_the_way() {
        let text = |transport, opened, failed_by| opening(transport, opened, failed_by).to_string();
        let limit = text(Transport::Tcp, "1110000", OpeningOutcome::NoAnswer);
        assert_eq!(
            limit,
            "3 of 7 data connections opened (source ports 40000, 40002, 40004), 4 without an answer in 5 s \
             (source ports 40006, 40008, 40010, 40012): a limit of about 4 connections stands in the way, the control \
             connection among them"
        );
        let paths = text(Transport::Udp, "0101", OpeningOutcome::NoAnswer);
        assert!(
            paths.starts_with("2 of 4 UDP flows opened (source ports 40002, 40006), 2 without")
        );
        assert!(paths.contains("the path treats flows differently"));
        let back = text(Transport::Udp, "0", OpeningOutcome::AnswerLost);
        assert!(back.contains("though the server received") && back.contains("the return path"));
        let rejected = text(Transport::Udp, "0", OpeningOutcome::Refused);
        assert!(rejected.starts_with("the control connection stands, but no UDP flow opened: 1"));
        assert!(rejected.contains("1 refused (source port 40000); UDP to that port is rejected"));
        let first = text(Transport::Tcp, "000", OpeningOutcome::NoAnswer);
        assert!(first.contains("only the first connection through"));
        let many = text(Transport::Tcp, "0000000000", OpeningOutcome::Refused);
        assert!(many.contains(" and 2 more)"));
    }
}
