//! What to do next, with the flag or the command that does it.

use super::width::LineWidth;
use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_core::warning::WarningCode;
use caudal_core::window::Remedy;
use std::net::SocketAddr;

/// The port of `caudal serve`, which no command line names.
const USUAL_PORT: u16 = 5201;

/// The lines on a next step, which begin with `label`; the command is in a line of its own where both do not fit one, so that it can be
/// copied whole.
#[must_use]
pub fn next_step_lines(
    run: &Run,
    direction: Direction,
    remedy: &Remedy,
    label: &str,
    width: LineWidth,
) -> Vec<String> {
    let (text, command) = match remedy {
        Remedy::SetKernel { end, command } => (format!("at the {end}"), Some(command.clone())),
        _ => (remedy.to_string(), command(run, direction, remedy)),
    };
    let text = format!("{label}: {text}");
    let Some(command) = command else {
        return vec![text];
    };
    let line = format!("{text}: {command}");
    match width.columns() {
        Some(width) if line.chars().count() > width => {
            vec![format!("{text}:"), format!("    {command}")]
        }
        _ => vec![line],
    }
}

/// The flag of the same command or the other command that a remedy takes; `None` where it takes neither.
fn command(run: &Run, direction: Direction, remedy: &Remedy) -> Option<String> {
    let peer = PeerAddress::of_run(run);
    let reverse = match direction {
        Direction::Up => "",
        Direction::Down => " --reverse",
    };
    Some(match remedy {
        Remedy::SetWindow { window_bytes } => format!("-w {window_bytes}"),
        Remedy::MoreFlows { flows } => format!("-P {flows}"),
        Remedy::MeasureLonger { seconds } => format!("-t {seconds}"),
        Remedy::GiveLinkRate => "--link-rate RATE".to_owned(),
        // The hops of the way that the payload takes are seen from its sender.
        Remedy::FindLoss | Remedy::FindNarrowLink | Remedy::FindReordering => match direction {
            Direction::Up => format!("caudal path {}", peer.host),
            Direction::Down => "caudal path, at the server".to_owned(),
        },
        Remedy::FindPolicedRate => {
            format!(
                "caudal udp {}{} --find-rate 0{reverse}",
                peer.host, peer.port
            )
        }
        // Another program's server answers neither.
        Remedy::MeasureQueue if is_foreign(run) => "caudal quality, with caudal serve".to_owned(),
        Remedy::MeasureQueue => format!("caudal quality {}{}", peer.host, peer.port),
        Remedy::MeasureThroughput => {
            format!("caudal tcp {}{}{reverse}", peer.host, peer.port)
        }
        Remedy::RunServer => "caudal serve".to_owned(),
        _ => return None,
    })
}

fn is_foreign(run: &Run) -> bool {
    run.warnings
        .iter()
        .any(|warning| warning.code == WarningCode::ForeignServer)
}

/// The other end, as a command line names it: that of a path by the name that was given, else by its address.
struct PeerAddress {
    host: String,
    port: String,
}

impl PeerAddress {
    fn of_run(run: &Run) -> Self {
        let ends = run.path().and_then(|path| path.between_ends.as_ref());
        let server = ends.map(|ends| &ends.peer).or(run.plan.peer());
        let address = server.and_then(|peer| peer.as_received().parse::<SocketAddr>().ok());
        let name = run.path().map(|path| path.target.host.to_string());
        let address = address.map(|address| {
            let host = name.unwrap_or_else(|| address.ip().to_string());
            (host, address.port())
        });
        match address {
            Some((host, USUAL_PORT)) => Self {
                host,
                port: String::new(),
            },
            Some((host, port)) => Self {
                host,
                port: format!(" -p {port}"),
            },
            None => Self {
                host: "HOST".to_owned(),
                port: String::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sample::Role;

    fn run(peer: &str, warnings: &[&str]) -> Run {
        let warnings = warnings
            .iter()
            .map(|code| serde_json::json!({"code": code, "message": "", "remedy": ""}));
        let document = serde_json::json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"},
            "plan": {"kind": "tcp", "peer": peer}, "warnings": warnings.collect::<Vec<_>>(),
        });
        serde_json::from_value(document).unwrap()
    }

    #[test]
    fn a_step_names_its_flag_or_command() {
        let usual = run("10.0.0.2:5201", &[]);
        let other = run("[fd00::2]:5301", &["foreign_server"]);
        for (run, direction, remedy, expected) in [
            (
                &usual,
                Direction::Up,
                Remedy::FindLoss,
                "find the hop that loses packets: caudal path 10.0.0.2",
            ),
            (
                &usual,
                Direction::Down,
                Remedy::FindLoss,
                "find the hop that loses packets: caudal path, at the server",
            ),
            (
                &usual,
                Direction::Up,
                Remedy::MoreFlows { flows: 4 },
                "use 4 flows at once: -P 4",
            ),
            (
                &other,
                Direction::Down,
                Remedy::FindPolicedRate,
                "find the rate that the policer passes: caudal udp fd00::2 -p 5301 --find-rate 0 --reverse",
            ),
            (
                &usual,
                Direction::Up,
                Remedy::MeasureQueue,
                "see what the queue does to other traffic: caudal quality 10.0.0.2",
            ),
            (
                &other,
                Direction::Up,
                Remedy::MeasureQueue,
                "see what the queue does to other traffic: caudal quality, with caudal serve",
            ),
            (
                &usual,
                Direction::Up,
                Remedy::Nothing,
                "nothing to do: the link is full",
            ),
            (
                &usual,
                Direction::Up,
                Remedy::SetKernel {
                    end: Role::Receiver,
                    command: "sysctl -w a=\"1 2 3\"".to_owned(),
                },
                "at the receiver: sysctl -w a=\"1 2 3\"",
            ),
        ] {
            let lines =
                next_step_lines(run, direction, &remedy, "  next step", LineWidth::UNLIMITED);
            let text: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
            assert_eq!(text.join(" "), format!("next step: {expected}"));
        }
    }
}
