//! `caudal predict share`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_core::units::{BitRate, ByteCount, parse_duration};
use caudal_predict::question::{Parameter, ParameterValues, Sweep, have_single_values};
use caudal_predict::share::{
    ContentionPoint, SharingParameters, TokenBucketPolicer, predict_sharing,
};
use caudal_predict::simulated::simulate_sharing;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// The point where flows contend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ContentionPointArg {
    /// Several senders into one output port
    Receiver,
    /// The interface of one sender
    Sender,
}

/// `caudal predict share`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict share --rate 10M --udp 8M,8M             two overloading flows into one output\n  \
    caudal predict share --rate 10M --tcp 1 --udp 3M        TCP beside unresponsive UDP\n  \
    caudal predict share --rate 10M --tcp 2 --udp 20M --meet sender\n  \
    caudal predict share --rate 100M --tcp 2 --rtt 10ms,40ms\n  \
    caudal predict share --rate 10G --tcp 8 --paths 4       flows hashed onto paths")]
pub struct ShareArgs {
    /// The line rate of the shared link
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// Number of TCP flows that always have data [default: 2, or none beside --udp]
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true)]
    tcp: Option<Sweep>,
    /// The payload rates that UDP flows offer, as 8M,8M
    #[arg(
        long,
        value_name = "RATE,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    udp: Vec<BitRate>,
    /// The point where the flows contend
    #[arg(
        long,
        value_enum,
        value_name = "receiver|sender",
        default_value = "receiver"
    )]
    meet: ContentionPointArg,
    /// The round-trip time of each TCP flow where they differ, or of the policed flow
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = parse_duration, allow_hyphen_values = true)]
    rtt: Vec<Duration>,
    /// The rate of a policer on the path
    #[arg(long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    policer: Option<Sweep>,
    /// The burst of that policer [default: 10 full segments]
    #[arg(long, value_name = "SIZE", requires = "policer", value_parser = values::amount, allow_hyphen_values = true)]
    burst: Option<Sweep>,
    /// Number of paths over which flows are spread by a hash of addresses and ports
    #[arg(long, value_name = "N", value_parser = values::count, allow_hyphen_values = true)]
    paths: Option<Sweep>,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for ShareArgs {
    fn name(&self) -> &'static str {
        "share"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("rate", Some(&self.rate)),
            ("tcp", self.tcp.as_ref()),
            ("policer", self.policer.as_ref()),
            ("burst", self.burst.as_ref()),
            ("paths", self.paths.as_ref()),
            ("mtu", Some(&self.common.framing.mtu)),
        ])
    }

    fn subject(&self) -> String {
        let meet = match self.meet {
            ContentionPointArg::Receiver => "several senders into one output",
            ContentionPointArg::Sender => "one sender's interface",
        };
        let udp: Vec<String> = self.udp.iter().map(ToString::to_string).collect();
        let udp = if udp.is_empty() {
            String::new()
        } else {
            format!("; UDP offers {}", udp.join(" and "))
        };
        format!(
            "Goodput of flows that share a link: {meet}{udp}; {}",
            self.common.framing
        )
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
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
        let framing = self.common.framing.at_mtu(values.number("mtu"))?;
        let default = if self.udp.is_empty() { 2 } else { 0 };
        let tcp = values
            .whole("tcp")
            .unwrap_or_else(|| (self.rtt.len() as u32).max(default));
        if tcp > 1000 && self.meet == ContentionPointArg::Sender {
            return Err(Failure::usage(
                "--tcp is more than 1000 flows from one sender",
                "give fewer",
            ));
        }
        let policer = values.rate("policer").map(|rate| TokenBucketPolicer {
            rate,
            burst: values
                .bytes("burst")
                .unwrap_or_else(|| ByteCount::new(10 * u64::from(framing.tcp_payload_per_frame()))),
        });
        if policer.is_some() && self.rtt.is_empty() && self.udp.is_empty() {
            return Err(Failure::usage(
                "--policer needs the round-trip time of the TCP flow, or UDP flows",
                "give --rtt 20ms, or --udp 20M",
            ));
        }
        let parameters = SharingParameters {
            rate: values.line_rate(),
            framing,
            tcp,
            udp: self.udp.clone(),
            contention_point: match self.meet {
                ContentionPointArg::Receiver => ContentionPoint::Receiver,
                ContentionPointArg::Sender => ContentionPoint::Sender,
            },
            rtts: self.rtt.clone(),
            policer,
            paths: values.whole("paths"),
        };
        let mut predictions = predict_sharing(&parameters);
        if have_single_values(&self.parameters()) {
            predictions.extend(simulate_sharing(&parameters));
        }
        Ok(predictions)
    }

    fn columns(&self) -> &'static [&'static str] {
        let swept = |given: &Option<Sweep>| given.as_ref().is_some_and(Sweep::is_swept);
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

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
