//! The arguments of `caudal pcap`.

use caudal_capture::{CaptureFilter, GraphKind};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "Several files are one capture: their frames are numbered one after the other.\n\n\
    Examples:\n  \
    caudal pcap transfer.pcap\n  \
    caudal pcap transfer.pcap --flows --filter 'host 10.0.0.1 and port 5201'\n  \
    caudal pcap transfer.pcap --flow 3\n  \
    caudal pcap transfer.pcap --flow 3 --ladder\n  \
    caudal pcap transfer.pcap --flow 3 --graph rtt -o rtt.svg\n  \
    caudal pcap --sender client.pcap --receiver server.pcap\n  \
    ssh host tcpdump -i eth0 -s 128 -w - not port 22 | caudal pcap -";

/// `caudal pcap`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct PcapArgs {
    /// Captures in the formats pcap and pcapng, also compressed with gzip or zstd; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "sender")]
    pub files: Vec<PathBuf>,
    /// Only these frames: host ADDRESS, port NUMBER, proto tcp|udp|icmp, time FROM..TO, joined by "and"
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<CaptureFilter>,
    /// The capture of the same flow at the end that sends
    #[arg(
        long,
        value_name = "FILE",
        requires = "receiver",
        conflicts_with_all = ["files", "flows", "ladder", "graph", "csv"],
        help_heading = "Two ends"
    )]
    pub sender: Option<PathBuf>,
    /// The capture at the end that receives: loss and delay each way, the clocks, and what changed between
    #[arg(
        long,
        value_name = "FILE",
        requires = "sender",
        help_heading = "Two ends"
    )]
    pub receiver: Option<PathBuf>,
    /// The form of the answer.
    #[command(flatten)]
    pub views: PcapViewArgs,
    /// The output.
    #[command(flatten)]
    pub output: PcapOutputArgs,
}

/// What is shown of a capture; its summary otherwise.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Shown")]
pub struct PcapViewArgs {
    /// Show the table of flows, the most bytes first
    #[arg(long, conflicts_with_all = ["flow", "ladder", "graph"])]
    pub flows: bool,
    /// Show one flow in detail, by its number in the table
    #[arg(long, value_name = "N")]
    pub flow: Option<u64>,
    /// Draw the sequence diagram of a flow: as text, or as SVG into a FILE.svg; of the largest without --flow
    #[arg(long, conflicts_with_all = ["graph", "csv"])]
    pub ladder: bool,
    /// Begin the sequence diagram, which has 1000 frames at most, with this frame
    #[arg(long, value_name = "FRAME", requires = "ladder")]
    pub from_frame: Option<u64>,
    /// Draw a graph of a flow as SVG: time-sequence, throughput, rtt, inflight or window
    #[arg(long, value_name = "GRAPH", conflicts_with = "csv")]
    pub graph: Option<GraphKind>,
}

impl PcapViewArgs {
    /// `true` when the frames of one flow are drawn.
    pub(super) const fn is_drawn(&self) -> bool {
        self.ladder || self.graph.is_some()
    }
}

/// The formats of the output, and its destination.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct PcapOutputArgs {
    /// Print one JSON object (schema caudal.pcap/1, of two ends caudal.pcap-ends/1)
    #[arg(short = 'J', long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values: a row for each flow
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the problems only, of the findings, and no flows
    #[arg(short, long)]
    pub quiet: bool,
    /// Print every finding
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
}
