//! The commands of the program.

use super::serve::ServeArgs;
use super::tcp::TcpArgs;
use super::udp::UdpArgs;
use clap::{Args, Parser, Subcommand};

/// Measures what a network gives TCP and UDP, and why.
#[derive(Debug, Parser)]
#[command(
    name = "caudal",
    version,
    about,
    long_about = "Measures what a network gives TCP and UDP, with the statistics that make a number \
                  believable, and what limited it.\n\nWithout a HOST, tcp, udp, rtt and file measure this \
                  machine: they start a server of their own on loopback. For a network, run \
                  `caudal serve` on the other host.",
    after_help = "Rates take decimal suffixes (k, M, G, T), as 100M, 10mbit or 1.5Gbit/s; sizes take those and binary \
                  ones (Ki, Mi, Gi): 256K is 256 000 bytes, 256Ki is iperf3's 256K.\n\
                  From iperf3: `caudal serve` and `caudal tcp HOST` are its -s and -c HOST; `caudal iperf3` takes its own \
                  command lines.\n\
                  Exit codes: 0 done; 1 the test failed or was cut short; 2 bad usage; 3 peer unreachable \
                  or refused; 4 not permitted here; 5 an expectation was not met, \
                  or a comparison is worse; 6 a comparison cannot be decided.",
    max_term_width = 100
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES_COMPLETIONS: &str = "Examples:\n  \
    caudal completions bash > ~/.local/share/bash-completion/completions/caudal\n  \
    caudal completions zsh > ~/.zfunc/_caudal     where ~/.zfunc is in fpath, before compinit\n  \
    caudal completions fish > ~/.config/fish/completions/caudal.fish";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer any number of clients at once
    Serve(ServeArgs),
    /// Bulk TCP: goodput, round-trip time under load, and what limited it
    Tcp(TcpArgs),
    /// Bulk UDP: goodput, loss and its location, delay variation, reordering
    Udp(UdpArgs),
    /// A path in a minute: is it healthy, what is wrong first, what to do
    Check(crate::check::PathCheckArgs),
    /// Round-trip time, loss and delay each way; --sweep by message size
    Rtt(crate::rtt::RttArgs),
    /// Connections per second, and the times of TCP and TLS handshakes
    Connect(crate::connect::ConnectArgs),
    /// STAMP and TWAMP-Light: loss and delay each way, with any reflector
    Stamp(crate::stamp::StampArgs),
    /// Latency under load: what it adds, where, and what to do about it
    Quality(crate::quality::QualityArgs),
    /// File transfer over TCP, reliable UDP and QUIC, verified and compared
    File(crate::file::FileArgs),
    /// Every hop to any host: RTT, capacity, path MTU and the narrow link
    Path(crate::path::NetworkPathArgs),
    /// iperf 2's own options and output, with any server or clients of iperf 2 (`caudal iperf --help`)
    #[command(disable_help_flag = true, alias = "iperf2")]
    Iperf(ForeignArgs),
    /// nttcp's own options and output, with any nttcp (`caudal nttcp -?`)
    #[command(disable_help_flag = true)]
    Nttcp(ForeignArgs),
    /// A test network of hosts and emulated links on this machine
    Lab(crate::lab::LabArgs),
    /// An experiment from a file, repeated until it is accurate enough
    Study(crate::study::args::StudyArgs),
    /// Predictions for a link, a window, a loss rate, a mix of flows
    Predict(crate::predict::PredictArgs),
    /// A capture explained: flows, findings, diagrams; two ends compared
    Pcap(crate::pcap::PcapArgs),
    /// Recorded runs and studies: list, show, compare, import, export
    Report(crate::report::ReportArgs),
    /// Measurements repeated on a schedule, exported as metrics, with alerts
    Watch(crate::watch::WatchArgs),
    /// A recorded run, a server or a lab on the terminal's whole screen
    Top(crate::top::TopArgs),
    /// Tests, runs, studies and labs in your own browser
    Ui(crate::ui::UiArgs),
    /// The completions of a shell, to be read by it
    Completions(CompletionsArgs),
    /// iperf3's own options and output, with any server or clients of iperf3 (`caudal iperf3 --help`)
    #[command(disable_help_flag = true)]
    Iperf3(ForeignArgs),
    /// Capture an interface for a study, as caudal starts it itself
    #[command(hide = true)]
    OwnCapture(crate::capture::OwnCaptureArgs),
}

/// `caudal completions`
#[derive(Debug, Clone, Copy, Args)]
#[command(after_help = EXAMPLES_COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// The command line of another program.
#[derive(Debug, Clone, Args)]
pub struct ForeignArgs {
    /// That program's options, as its manual has them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    pub words: Vec<std::ffi::OsString>,
}
