//! `caudal predict echo`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::args::ProtocolArg;
use crate::exit::Failure;
use caudal_core::plan::MessageSizes;
use caudal_core::plan::{MAX_MESSAGE, Transport};
use caudal_core::prediction::Prediction;
use caudal_predict::echo::{EchoPath, predict_echo};
use caudal_predict::question::{Parameter, ParameterKind, ParameterValues, Sweep, SweepResolution};
use clap::Args;

/// `caudal predict echo`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict echo --rate 100M                      17 sizes, as caudal rtt measures them\n  \
    caudal predict echo --rate 100M --clients 1,2,4,8    the same for several clients at once\n  \
    caudal predict echo --rate 1G --delay 5ms --sizes 1448 --explain")]
pub struct EchoArgs {
    /// The line rate
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// The one-way propagation delay
    #[arg(short, long, value_name = "TIME", default_value = "0", value_parser = values::time, allow_hyphen_values = true)]
    delay: Sweep,
    /// The processing time of both hosts per round trip
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::time, allow_hyphen_values = true)]
    hosts: Sweep,
    /// Message sizes, as 1,64,1Ki, or 1..64Ki for powers of two
    #[arg(
        short = 'l',
        long,
        value_name = "SIZE,…",
        default_value = "1..64Ki",
        allow_hyphen_values = true
    )]
    sizes: MessageSizes,
    /// Number of parallel clients, each with one outstanding message
    #[arg(short = 'P', long, value_name = "N,…", default_value = "1", value_parser = values::count, allow_hyphen_values = true)]
    clients: Sweep,
    /// The protocol
    #[arg(long, value_enum, value_name = "tcp|udp", default_value = "tcp")]
    proto: ProtocolArg,
    /// Both directions share the medium
    #[arg(long)]
    half_duplex: bool,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl EchoArgs {
    /// The numbers of clients to predict for; with several, each has a column.
    fn counts(&self) -> Vec<f64> {
        self.clients.values(SweepResolution::Table)
    }
}

impl Question for EchoArgs {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let sizes: Vec<String> = self
            .sizes
            .as_slice()
            .iter()
            .map(ToString::to_string)
            .collect();
        let sizes = Sweep::parse(ParameterKind::Packet, &sizes.join(",")).ok();
        // With several clients, each number has a column.
        let clients = Some(&self.clients).filter(|clients| !clients.is_swept());
        Parameter::given([
            ("rate", Some(&self.rate)),
            ("delay", Some(&self.delay)),
            ("hosts", Some(&self.hosts)),
            ("sizes", sizes.as_ref()),
            ("mtu", Some(&self.common.framing.mtu)),
            ("clients", clients),
        ])
    }

    fn subject(&self) -> String {
        let proto = match self.proto {
            ProtocolArg::Tcp => "TCP",
            ProtocolArg::Udp => "UDP",
        };
        let duplex = if self.half_duplex {
            ", half duplex"
        } else {
            ""
        };
        format!(
            "Round trips of messages over {proto}{duplex}: {}",
            self.common.framing
        )
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        let path = EchoPath {
            transport: match self.proto {
                ProtocolArg::Tcp => Transport::Tcp,
                ProtocolArg::Udp => Transport::Udp,
            },
            rate: values.line_rate(),
            delay: values.time("delay"),
            hosts: values.time("hosts"),
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
            half_duplex: self.half_duplex,
        };
        let size = values
            .whole("sizes")
            .filter(|size| *size <= MAX_MESSAGE)
            .ok_or_else(|| {
                Failure::usage("a message has at most 16Mi bytes", "give smaller --sizes")
            })?;
        let counts = self.counts();
        if let [clients] = counts.as_slice() {
            return Ok(predict_echo(&path, size, *clients as u32));
        }
        if counts.len() > 64 {
            return Err(Failure::usage(
                "--clients has more than 64 values",
                "give fewer",
            ));
        }
        let columns = counts.iter().filter_map(|clients| {
            let clients = *clients as u32;
            let mut rtt = predict_echo(&path, size, clients).into_iter().next()?;
            rtt.name = format!("rtt_of_{clients}_clients");
            rtt.title = format!("{clients} client{}", if clients == 1 { "" } else { "s" });
            Some(rtt)
        });
        Ok(columns.collect())
    }

    fn columns(&self) -> &'static [&'static str] {
        &["rtt", "stop_and_wait", "saturation", "rtt_of_*"]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
