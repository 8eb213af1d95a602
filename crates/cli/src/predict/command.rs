//! The command line of `caudal predict`.

use super::output;
use super::question::{Question, evaluate};
use super::{echo, half_duplex, link, loss, share, topology, transfer, window};
use crate::exit::{Exit, Failure};
use clap::{Args, Subcommand};

/// `caudal predict`
#[derive(Debug, Clone, Args)]
#[command(
    subcommand_required = true,
    after_help = "One parameter may have a list or a range of values: --mtu 576,1500,9000, --loss 1e-5..1e-1, \
                  --mtu 576..9000/20 for 20 points. With --svg FILE the sweep is drawn.\n\n\
                  Examples:\n  \
                  caudal predict link --rate 10M --mtu 1500\n  \
                  caudal predict window --rate 60M --rtt 50ms --window 65535 --explain\n  \
                  caudal predict loss --rtt 20ms --loss 1e-5..1e-1 --svg loss.svg"
)]
pub struct PredictArgs {
    /// The question.
    #[command(subcommand)]
    pub question: PredictCommand,
}

/// The subcommands of `caudal predict`.
#[derive(Debug, Clone, Subcommand)]
pub enum PredictCommand {
    /// Goodput of an Ethernet link by protocol, frames per second
    Link(link::LinkArgs),
    /// The window that fills a path, and the goodput a window allows
    Window(window::WindowArgs),
    /// TCP goodput under random loss: Mathis, PFTK, CUBIC
    Loss(loss::LossArgs),
    /// Goodput of flows that share a link: TCP, UDP, policers
    Share(share::ShareArgs),
    /// Round-trip times of messages over a link
    Echo(echo::EchoArgs),
    /// Duration of a transfer over TCP and UDP
    Transfer(transfer::TransferArgs),
    /// Goodput and contention on a half-duplex Ethernet
    HalfDuplex(half_duplex::HalfDuplexArgs),
    /// Goodput of flows over a test network, by formula and simulated
    Topology(topology::PredictTopologyArgs),
}

/// Runs `caudal predict`.
///
/// # Errors
/// When the values contradict one another, or the predictions cannot be written.
pub fn predict(args: &PredictArgs) -> Result<Exit, Failure> {
    let question: &dyn Question = match &args.question {
        PredictCommand::Link(args) => args,
        PredictCommand::Window(args) => args,
        PredictCommand::Loss(args) => args,
        PredictCommand::Share(args) => args,
        PredictCommand::Echo(args) => args,
        PredictCommand::Transfer(args) => args,
        PredictCommand::HalfDuplex(args) => args,
        PredictCommand::Topology(args) => return topology::predict(args),
    };
    output::write_evaluation(&question.common().output, &evaluate(question)?)?;
    Ok(Exit::Done)
}
