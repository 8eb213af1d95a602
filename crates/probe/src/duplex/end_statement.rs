//! What an end's own report says of the duplex of its link.

use super::counter_evidence::{CounterEvidence, counter_evidence};
use super::end_link::{EndLink, EndLinkState};
use super::readings::EndErrors;
use crate::rate_estimate::Confidence;
use caudal_core::interface::InterfaceLink;

/// One end of the link behind an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CableEnd {
    /// The interface that reports.
    Own,
    /// Its link partner: a switch, or another host.
    Partner,
}

/// What the link behind an interface is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndLinkFinding {
    /// Both its ends are full duplex.
    Full,
    /// Both its ends are half duplex.
    MatchedHalf,
    /// One of its ends is half duplex and the other full.
    Mismatch {
        /// The half-duplex end.
        half: CableEnd,
    },
    /// One of its ends may be half duplex and the other full.
    SuspectedMismatch {
        /// The end that would be the half-duplex one.
        half: CableEnd,
    },
    /// A radio: both directions share its channel, and there is no duplex mode of Ethernet.
    Radio,
    /// A virtual interface: its report says nothing about a cable.
    Virtual,
    /// No Ethernet interface.
    NotEthernet,
    /// The report does not say.
    CannotTell,
}

/// The duplex mode of the link behind an interface, with confidence and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndLinkStatement {
    /// The finding.
    pub finding: EndLinkFinding,
    /// The confidence in it.
    pub confidence: Confidence,
    /// Why, in one sentence.
    pub reason: String,
    /// What to do, where there is something.
    pub remedy: Option<&'static str>,
}

const NEGOTIATE: &str =
    "enable autonegotiation at both ends of the link, with all modes advertised";
const CHECK_PARTNER: &str =
    "look up the duplex mode of the partner; best, enable autonegotiation at both ends of the link";
const CHECK_CABLE: &str = "check the cable and its connectors";

impl EndLinkStatement {
    /// What an interface's report says of its link, and what its counters add, by the `errors` they grew by during runs of one direction
    /// and of both; `None` without such runs.
    #[must_use]
    pub fn from_report(link: &InterfaceLink, errors: Option<EndErrors>) -> Self {
        let state = EndLink::from(link).state;
        let name = &link.interface;
        let evidence = errors.and_then(|errors| counter_evidence(Some(state), errors));
        if let Some(evidence) = evidence {
            return from_counters(link, state, evidence);
        }
        let errors = errors.unwrap_or_default();
        let statement = from_state(link, state);
        match state {
            EndLinkState::NegotiatedFull { .. } | EndLinkState::NegotiatedHalf
                if errors.late_collisions > 0 =>
            {
                Self::cannot_tell(&format!(
                    "{name} counted {} late collisions, although its partner negotiated its duplex mode with it: the network is longer than allowed, or an interface is faulty",
                    errors.late_collisions
                ))
            }
            EndLinkState::NegotiatedFull { .. } if errors.bad_frames() > 0 => Self {
                // CRC errors in one direction alone are a cable's, and no doubt of the duplex mode.
                confidence: if errors.bad_frames_alone == 0 {
                    Confidence::Medium
                } else {
                    statement.confidence
                },
                reason: format!(
                    "{}; it counted {} CRC (FCS) errors, as by a bad cable",
                    statement.reason,
                    errors.bad_frames()
                ),
                remedy: Some(CHECK_CABLE),
                ..statement
            },
            _ => statement,
        }
    }

    fn new(finding: EndLinkFinding, confidence: Confidence, reason: String) -> Self {
        Self {
            finding,
            confidence,
            reason,
            remedy: None,
        }
    }

    fn cannot_tell(cause: &str) -> Self {
        let reason = format!("cannot tell, because {cause}");
        Self::new(EndLinkFinding::CannotTell, Confidence::Low, reason)
    }

    fn with_remedy(self, remedy: &'static str) -> Self {
        Self {
            remedy: Some(remedy),
            ..self
        }
    }
}

fn from_counters(
    link: &InterfaceLink,
    state: EndLinkState,
    evidence: CounterEvidence,
) -> EndLinkStatement {
    let name = &link.interface;
    let (half, reason) = match evidence {
        CounterEvidence::HalfHere { late_collisions } => (
            CableEnd::Own,
            format!(
                "{name} counted {late_collisions} late collisions, so it is half duplex and its partner does not defer to it"
            ),
        ),
        CounterEvidence::HalfAtPartner { crc_errors } => (
            CableEnd::Partner,
            format!(
                "{name} counted {crc_errors} CRC (FCS) errors while both directions were busy and none before: a half-duplex partner broke off its frames"
            ),
        ),
    };
    let confidence = match half {
        CableEnd::Partner if state == EndLinkState::Unknown => Confidence::Medium,
        _ => Confidence::High,
    };
    EndLinkStatement::new(EndLinkFinding::Mismatch { half }, confidence, reason)
        .with_remedy(NEGOTIATE)
}

/// What the report says without counters.
fn from_state(link: &InterfaceLink, state: EndLinkState) -> EndLinkStatement {
    use EndLinkFinding::{Full, MatchedHalf, NotEthernet, Radio, Virtual};
    let name = &link.interface;
    let said = EndLinkStatement::new;
    match state {
        EndLinkState::Gigabit => said(
            Full,
            Confidence::High,
            format!(
                "{name} runs at {}, where half duplex does not exist",
                speed(link)
            ),
        ),
        EndLinkState::NegotiatedFull { .. } | EndLinkState::ForcedFull | EndLinkState::Full => {
            from_full(link, state)
        }
        EndLinkState::NegotiatedHalf => said(
            MatchedHalf,
            Confidence::High,
            format!("{name} negotiated half duplex with a partner that negotiates as well"),
        )
        .with_remedy("let both ends of the link advertise full duplex"),
        EndLinkState::ParallelHalf { .. } | EndLinkState::ForcedHalf | EndLinkState::Half => {
            from_half(link, state)
        }
        EndLinkState::Wireless => said(
            Radio,
            Confidence::High,
            format!(
                "{name} is wireless: both directions share a radio channel, and Ethernet's duplex modes do not apply"
            ),
        ),
        EndLinkState::Virtual => said(
            Virtual,
            Confidence::High,
            format!(
                "{name} is a virtual interface{}: what it reports says nothing about a cable",
                made_by(link)
            ),
        ),
        EndLinkState::NotEthernet => said(
            NotEthernet,
            Confidence::High,
            format!("{name} is no Ethernet interface"),
        ),
        EndLinkState::Contradictory => EndLinkStatement::cannot_tell(&format!(
            "{name} reports a duplex mode that does not follow from its speed and from what both ends advertise"
        )),
        EndLinkState::NoLink => EndLinkStatement::cannot_tell(&format!("{name} detects no link")),
        EndLinkState::Unknown => EndLinkStatement::cannot_tell(&format!(
            "the driver of {name} does not report its duplex mode, or knows no modes"
        )),
    }
}

fn from_full(link: &InterfaceLink, state: EndLinkState) -> EndLinkStatement {
    let name = &link.interface;
    let speed = speed(link);
    match state {
        EndLinkState::NegotiatedFull {
            partner_is_known: true,
        } => EndLinkStatement::new(
            EndLinkFinding::Full,
            Confidence::High,
            format!("{name} negotiated {speed} full duplex with a partner that advertises full duplex"),
        ),
        EndLinkState::NegotiatedFull {
            partner_is_known: false,
        } => EndLinkStatement::new(
            EndLinkFinding::Full,
            Confidence::Medium,
            format!(
                "{name} runs {speed} full duplex with autonegotiation, which takes a partner that negotiates full duplex, although its driver does not report the partner's modes"
            ),
        ),
        EndLinkState::ForcedFull => EndLinkStatement::new(
            EndLinkFinding::SuspectedMismatch {
                half: CableEnd::Partner,
            },
            Confidence::Low,
            format!(
                "{name} is set to {speed} full duplex without autonegotiation, and a partner that negotiates falls back to half duplex"
            ),
        )
        .with_remedy(CHECK_PARTNER),
        _ => EndLinkStatement::cannot_tell(&format!(
            "{name} runs full duplex, and whether it negotiates with its partner is not known"
        ))
        .with_remedy(CHECK_PARTNER),
    }
}

fn from_half(link: &InterfaceLink, state: EndLinkState) -> EndLinkStatement {
    let name = &link.interface;
    let suspected = EndLinkFinding::SuspectedMismatch {
        half: CableEnd::Own,
    };
    match state {
        EndLinkState::ParallelHalf {
            partner_is_known: true,
        } => EndLinkStatement::new(
            suspected,
            Confidence::Medium,
            format!(
                "{name} negotiates and its partner does not, so it fell back to half duplex, which is a mismatch if the partner is set to full duplex"
            ),
        )
        .with_remedy(NEGOTIATE),
        EndLinkState::ParallelHalf {
            partner_is_known: false,
        } => EndLinkStatement::new(
            suspected,
            Confidence::Low,
            format!(
                "{name} runs half duplex with autonegotiation and reports no modes of its partner, which may not negotiate and be set to full duplex"
            ),
        )
        .with_remedy(NEGOTIATE),
        EndLinkState::ForcedHalf => EndLinkStatement::cannot_tell(&format!(
            "{name} is set to half duplex without autonegotiation: a partner that negotiates falls back to half duplex too, one that is set to full duplex does not"
        ))
        .with_remedy(CHECK_PARTNER),
        _ => EndLinkStatement::cannot_tell(&format!(
            "{name} runs half duplex, and whether its partner does is not known"
        ))
        .with_remedy(CHECK_PARTNER),
    }
}

/// The speed of the link for people.
fn speed(link: &InterfaceLink) -> String {
    let rate = EndLink::from(link).rate;
    rate.map_or_else(|| "an unknown speed".to_owned(), |rate| rate.to_string())
}

/// The kind of a virtual interface, or its driver, in brackets.
fn made_by(link: &InterfaceLink) -> String {
    let made_by = link.kind.as_ref().or(link.driver.as_ref());
    made_by.map_or_else(String::new, |name| format!(" ({name})"))
}
