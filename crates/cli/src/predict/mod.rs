//! `caudal predict`: what theory expects, with the arithmetic.
//!
//! Each question is a file with its flags and a [`Question`]: its parameters, and an answer for one value of each.

mod echo;
mod half_duplex;
mod link;
mod loss;
pub mod output;
mod share;
mod simulated;
pub mod sweep;
mod topology;
mod transfer;
mod window;

use crate::exit::{Exit, Failure};
use caudal_core::framing::{Framing, IpVersion};
use caudal_core::prediction::Prediction;
use caudal_core::units::{BitRate, ByteCount};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use sweep::{Kind, Sweep};

/// `caudal predict`
#[derive(Debug, Clone, Args)]
#[command(
    subcommand_required = true,
    after_help = "Any one value may be a list or a range to go through: --mtu 576,1500,9000, --loss 1e-5..1e-1, \
                  --mtu 576..9000/20 for 20 points. With --svg FILE the sweep is drawn.\n\n\
                  Examples:\n  \
                  caudal predict link --rate 10M --mtu 1500\n  \
                  caudal predict window --rate 60M --rtt 50ms --window 65535 --explain\n  \
                  caudal predict loss --rtt 20ms --loss 1e-5..1e-1 --svg loss.svg"
)]
pub struct PredictArgs {
    /// What is asked.
    #[command(subcommand)]
    pub question: Asked,
}

/// What is asked.
#[derive(Debug, Clone, Subcommand)]
pub enum Asked {
    /// What an Ethernet link carries: goodput by protocol, frames a second
    Link(link::LinkArgs),
    /// The window a path needs, and what a window allows
    Window(window::WindowArgs),
    /// What congestion control makes of loss: Mathis, PFTK, CUBIC
    Loss(loss::LossArgs),
    /// What flows that share a link get: TCP, UDP, policers, load balancing
    Share(share::ShareArgs),
    /// Round trips of messages over a link, alone and among several clients
    Echo(echo::EchoArgs),
    /// How long an amount takes over TCP and UDP
    Transfer(transfer::TransferArgs),
    /// What half duplex leaves of an Ethernet
    HalfDuplex(half_duplex::HalfDuplexArgs),
    /// What flows get over a test network, by formula and simulated
    Topology(topology::TopologyArgs),
}

/// Whether every parameter has one value: a simulation for each point of a sweep would take long.
fn is_single(parameters: &[Parameter]) -> bool {
    parameters.iter().all(|parameter| {
        let given = parameter.given.as_ref();
        given.is_none_or(|given| given.only().is_some())
    })
}

/// What is printed, and where.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct ShowArgs {
    /// Show the arithmetic with the numbers put in, what is assumed, and the sources
    #[arg(long)]
    pub explain: bool,
    /// Draw the sweep as an SVG figure into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object (schema caudal.predict/1)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values: a row for each prediction
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What surrounds the payload.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Framing")]
pub struct FramingArgs {
    /// The largest IP packet, 68 to 65535 bytes
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = sweep::packet, allow_hyphen_values = true)]
    pub mtu: Sweep,
    /// IPv6 instead of IPv4
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Frames carry an IEEE 802.1Q tag
    #[arg(long)]
    pub vlan: bool,
    /// TCP without timestamps
    #[arg(long)]
    pub no_timestamps: bool,
    /// TCP segments carry selective acknowledgements of so many blocks, 0 to 4
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=4), allow_negative_numbers = true)]
    pub sack: u8,
}

impl FramingArgs {
    /// The framing at one MTU.
    fn at(&self, mtu: f64) -> Result<Framing, Failure> {
        let (least, ip) = if self.ipv6 {
            (1280.0, IpVersion::V6)
        } else {
            (68.0, IpVersion::V4)
        };
        if !(least..=65_535.0).contains(&mtu) {
            return Err(Failure::usage(
                format!("--mtu {mtu:.0} is no MTU for this version of IP"),
                format!("it must lie between {least:.0} and 65535"),
            ));
        }
        let framing = Framing {
            mtu: mtu as u32,
            ip,
            vlan: self.vlan,
            timestamps: !self.no_timestamps,
            sack_blocks: self.sack,
        };
        if framing.tcp_payload_per_frame() == 0 || framing.udp_payload_per_frame() == 0 {
            return Err(Failure::usage(
                format!("--mtu {mtu:.0} leaves no room behind the headers"),
                "give a larger one, or --no-timestamps",
            ));
        }
        Ok(framing)
    }

    /// The framing in words.
    fn words(&self) -> String {
        let mut words = vec![if self.ipv6 { "IPv6" } else { "IPv4" }.to_owned()];
        if self.vlan {
            words.push("VLAN tag".to_owned());
        }
        words.push(if self.no_timestamps {
            "no TCP timestamps".to_owned()
        } else {
            "TCP timestamps".to_owned()
        });
        if self.sack > 0 {
            words.push(format!("{} SACK blocks", self.sack));
        }
        words.join(", ")
    }
}

/// A number that a question takes.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its flag without the dashes.
    pub name: &'static str,
    /// What it counts.
    pub kind: Kind,
    /// What was given; `None` where it was left out.
    pub given: Option<Sweep>,
}

impl Parameter {
    fn new(name: &'static str, kind: Kind, given: Option<&Sweep>) -> Self {
        Self {
            name,
            kind,
            given: given.cloned(),
        }
    }
}

/// One value of each parameter.
#[derive(Debug, Clone)]
pub struct Values(Vec<(&'static str, Option<f64>)>);

impl Values {
    fn get(&self, name: &str) -> Option<f64> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .and_then(|(_, value)| *value)
    }

    /// A parameter that clap makes sure is there.
    fn number(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_default()
    }

    fn rate(&self, name: &str) -> Option<BitRate> {
        self.get(name).and_then(BitRate::from_f64)
    }

    fn line(&self) -> BitRate {
        self.rate("rate").unwrap_or(BitRate::ZERO)
    }

    fn bytes(&self, name: &str) -> Option<ByteCount> {
        self.get(name).map(|bytes| ByteCount::new(bytes as u64))
    }

    fn time(&self, name: &str) -> Duration {
        self.get(name)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or_default()
    }

    /// A whole number; the parsers keep them well below 2^32.
    fn whole(&self, name: &str) -> Option<u32> {
        self.get(name).map(|value| value as u32)
    }
}

/// A question with all that is needed to answer it.
pub trait Question {
    /// Its name, as the subcommand's.
    fn name(&self) -> &'static str;

    /// The numbers it takes.
    fn parameters(&self) -> Vec<Parameter>;

    /// What was asked, in words, without the numbers.
    fn words(&self) -> String;

    /// The answer for one value of each parameter.
    ///
    /// # Errors
    /// When the values make no sense together.
    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure>;

    /// The names of predictions worth a column when a parameter is swept; names may end in `*`.
    fn columns(&self) -> &'static [&'static str];

    /// What is printed, and where.
    fn show(&self) -> &ShowArgs;
}

/// A question with its answers.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The parameters that have one value.
    pub fixed: Vec<(Parameter, f64)>,
    /// What the answers are for.
    pub answers: Answers,
}

/// One answer, or one for each value of a parameter.
#[derive(Debug, Clone)]
pub enum Answers {
    /// One.
    One(Vec<Prediction>),
    /// One for each value of a parameter.
    Sweep(Parameter, Vec<(f64, Vec<Prediction>)>),
}

/// Runs `caudal predict`.
///
/// # Errors
/// When the question makes no sense, or the answer cannot be written.
pub fn predict(args: &PredictArgs) -> Result<Exit, Failure> {
    let question: &dyn Question = match &args.question {
        Asked::Link(args) => args,
        Asked::Window(args) => args,
        Asked::Loss(args) => args,
        Asked::Share(args) => args,
        Asked::Echo(args) => args,
        Asked::Transfer(args) => args,
        Asked::HalfDuplex(args) => args,
        Asked::Topology(args) => return topology::predict(args),
    };
    let answered = answer(question)?;
    output::show(question, &answered)?;
    Ok(Exit::Done)
}

fn answer(question: &dyn Question) -> Result<Answered, Failure> {
    let parameters = question.parameters();
    let swept: Vec<&Parameter> = parameters
        .iter()
        .filter(|parameter| {
            parameter
                .given
                .as_ref()
                .is_some_and(|given| given.only().is_none())
        })
        .collect();
    let fixed: Vec<(Parameter, f64)> = parameters
        .iter()
        .filter_map(|parameter| Some((parameter.clone(), parameter.given.as_ref()?.only()?)))
        .collect();
    let known = |extra: Option<(&'static str, f64)>| {
        let fixed = fixed
            .iter()
            .map(|(parameter, value)| (parameter.name, Some(*value)));
        Values(
            fixed
                .chain(extra.map(|(name, value)| (name, Some(value))))
                .collect(),
        )
    };
    let answers = match swept.as_slice() {
        [] => Answers::One(question.answer(&known(None))?),
        [parameter] => {
            let values = parameter
                .given
                .as_ref()
                .map(|given| given.values(question.show().svg.is_some()))
                .unwrap_or_default();
            let rows = values
                .into_iter()
                .map(|value| {
                    Ok((
                        value,
                        question.answer(&known(Some((parameter.name, value))))?,
                    ))
                })
                .collect::<Result<_, Failure>>()?;
            Answers::Sweep((*parameter).clone(), rows)
        }
        [first, second, ..] => {
            return Err(Failure::usage(
                format!(
                    "--{} and --{} both have several values",
                    first.name, second.name
                ),
                "go through one at a time",
            ));
        }
    };
    if question.show().svg.is_some() && matches!(answers, Answers::One(_)) {
        return Err(Failure::usage(
            "--svg draws a sweep, and every value is a single one",
            "give a range, such as --mtu 576..9000 or --rtt 1ms..100ms",
        ));
    }
    Ok(Answered { fixed, answers })
}
