//! `caudal predict share`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values, is_single, simulated};
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_core::units::{BitRate, parse_duration};
use caudal_predict::share::{
    ContentionPoint, SharingParameters, TokenBucketPolicer, predict_sharing,
};
use clap::{Args, ValueEnum};
use std::time::Duration;

/// Where flows meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeetingArg {
    /// From several senders into one output
    Receiver,
    /// In the interface of one sender
    Sender,
}

/// `caudal predict share`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict share --rate 10M --udp 8M,8M             two floods into one output\n  \
    caudal predict share --rate 10M --tcp 1 --udp 3M        TCP beside UDP that heeds nothing\n  \
    caudal predict share --rate 10M --tcp 2 --udp 20M --meet sender\n  \
    caudal predict share --rate 100M --tcp 2 --rtt 10ms,40ms\n  \
    caudal predict share --rate 10G --tcp 8 --paths 4       flows hashed onto paths")]
pub struct ShareArgs {
    /// The line rate of what is shared
    #[arg(short = 'b', long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// TCP flows that always have data [default: 2, or none beside --udp]
    #[arg(long, value_name = "N", value_parser = sweep::count, allow_hyphen_values = true)]
    tcp: Option<Sweep>,
    /// The payload rates that UDP flows offer, as 8M,8M
    #[arg(
        long,
        value_name = "RATE,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    udp: Vec<BitRate>,
    /// Where the flows meet
    #[arg(
        long,
        value_enum,
        value_name = "receiver|sender",
        default_value = "receiver"
    )]
    meet: MeetingArg,
    /// The round-trip times of TCP flows that differ in them; the one of a policed flow
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true)]
    rtt: Vec<Duration>,
    /// A policer in the way lets so much through
    #[arg(long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    policer: Option<Sweep>,
    /// And so much at once [default: 10 full segments]
    #[arg(long, value_name = "SIZE", requires = "policer", value_parser = sweep::amount, allow_hyphen_values = true)]
    burst: Option<Sweep>,
    /// Flows are spread over so many paths by a hash of their addresses and ports
    #[arg(long, value_name = "N", value_parser = sweep::count, allow_hyphen_values = true)]
    paths: Option<Sweep>,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for ShareArgs {
    fn name(&self) -> &'static str {
        "share"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rate", Kind::Rate, Some(&self.rate)),
            Parameter::new("tcp", Kind::Count, self.tcp.as_ref()),
            Parameter::new("policer", Kind::Rate, self.policer.as_ref()),
            Parameter::new("burst", Kind::Amount, self.burst.as_ref()),
            Parameter::new("paths", Kind::Count, self.paths.as_ref()),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn words(&self) -> String {
        let meet = match self.meet {
            MeetingArg::Receiver => "several senders into one output",
            MeetingArg::Sender => "one sender's interface",
        };
        let udp: Vec<String> = self.udp.iter().map(ToString::to_string).collect();
        let udp = if udp.is_empty() {
            String::new()
        } else {
            format!("; UDP offers {}", udp.join(" and "))
        };
        format!(
            "What flows that share a link get: {meet}{udp}; {}",
            self.framing.words()
        )
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        if self.udp.len() > 64 || self.rtt.len() > 64 {
            return Err(Failure::usage(
                "a list has more than 64 values",
                "give fewer flows",
            ));
        }
        if self.udp.contains(&BitRate::ZERO) || self.rtt.iter().any(Duration::is_zero) {
            return Err(Failure::usage(
                "--udp and --rtt take values above 0",
                "leave out flows that send nothing",
            ));
        }
        let framing = self.framing.at(values.number("mtu"))?;
        let beside = if self.udp.is_empty() { 2 } else { 0 };
        let tcp = values
            .whole("tcp")
            .unwrap_or_else(|| (self.rtt.len() as u32).max(beside));
        if tcp > 1000 && self.meet == MeetingArg::Sender {
            return Err(Failure::usage(
                "--tcp is more than 1000 flows from one sender",
                "give fewer",
            ));
        }
        let policer = values.rate("policer").map(|rate| TokenBucketPolicer {
            rate,
            burst: values.bytes("burst").unwrap_or_else(|| {
                caudal_core::units::ByteCount::new(10 * u64::from(framing.tcp_payload_per_frame()))
            }),
        });
        if policer.is_some() && self.rtt.is_empty() && self.udp.is_empty() {
            return Err(Failure::usage(
                "--policer needs the round-trip time of the TCP flow, or UDP flows",
                "give --rtt 20ms, or --udp 20M",
            ));
        }
        let question = SharingParameters {
            rate: values.line(),
            framing,
            tcp,
            udp: self.udp.clone(),
            contention_point: match self.meet {
                MeetingArg::Receiver => ContentionPoint::Receiver,
                MeetingArg::Sender => ContentionPoint::Sender,
            },
            rtts: self.rtt.clone(),
            policer,
            paths: values.whole("paths"),
        };
        let mut answers = predict_sharing(&question);
        if is_single(&self.parameters()) {
            answers.extend(simulated::share(&question));
        }
        Ok(answers)
    }

    fn columns(&self) -> &'static [&'static str] {
        let swept =
            |given: &Option<Sweep>| given.as_ref().is_some_and(|given| given.only().is_none());
        if self.paths.is_some() {
            return &["hash_collision", "paths_used", "balanced_goodput"];
        }
        if swept(&self.policer) || swept(&self.burst) {
            return &["policed_tcp_goodput", "policed_udp_loss"];
        }
        &[
            "tcp_goodput",
            "tcp_goodput_per_flow",
            "tcp_goodput_1",
            "udp_goodput_1",
            "udp_loss",
        ]
    }

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
