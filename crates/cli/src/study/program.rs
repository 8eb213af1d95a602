//! The commands of this program that trials start as processes of their own.

use caudal_core::plan::{Direction, FileProtocol, Transport};
use caudal_core::units::{ByteCount, format_duration};
use caudal_experiment::PathScope;
use caudal_study::{
    BulkEnd, BulkTask, CaptureTask, EchoTask, FileTask, FlowTask, FlowTraffic, PathTask,
    ProgramCommands,
};

use crate::lab::keep::DAEMON_ARGUMENTS;

/// The commands of this program.
pub(super) struct ThisProgram;

impl ProgramCommands for ThisProgram {
    fn lab_daemon(&self) -> Vec<String> {
        DAEMON_ARGUMENTS.map(str::to_owned).to_vec()
    }

    fn server(&self) -> Vec<String> {
        let words = ["serve", "--json-log", "--no-iperf3"];
        words.map(str::to_owned).to_vec()
    }

    fn capture(&self, task: &CaptureTask) -> Vec<String> {
        let mut words = vec![
            "own-capture".to_owned(),
            format!("--interface={}", task.interface),
        ];
        words.extend(
            task.output
                .as_ref()
                .map(|path| format!("--output={}", path.display())),
        );
        words.extend(task.offload.map(|is_on| {
            let state = if is_on { "on" } else { "off" };
            format!("--offload={state}")
        }));
        words
    }

    fn flow(&self, task: &FlowTask) -> Vec<String> {
        let mut command = FlowCommand::new(task);
        match &task.traffic {
            FlowTraffic::Bulk(bulk) => command.add_bulk(bulk),
            FlowTraffic::Echo(echo) => command.add_echo(echo),
            FlowTraffic::File(file) => command.add_file(file),
            FlowTraffic::Path(path) => command.add_path(path),
        }
        command.finish(task)
    }
}

/// The command line of a flow.
struct FlowCommand(Vec<String>);

impl FlowCommand {
    fn new(task: &FlowTask) -> Self {
        let (command, connections) = match &task.traffic {
            FlowTraffic::Bulk(bulk) => match bulk.transport {
                Transport::Tcp => ("tcp", Some("--parallel")),
                Transport::Udp => ("udp", Some("--parallel")),
            },
            FlowTraffic::Echo(_) => ("rtt", Some("--parallel")),
            // A file has one connection.
            FlowTraffic::File(_) => ("file", None),
            FlowTraffic::Path(_) => ("path", None),
        };
        let mut words = Self(vec![command.to_owned(), task.host.clone()]);
        words.add("--port", &task.port);
        if let Some(connections) = connections {
            words.add(connections, &task.connections);
        }
        words.add_some("--congestion", task.congestion.as_ref());
        words.add_some("--window", task.window.map(ByteCount::get));
        words.add_some("--dscp", task.dscp);
        words
    }

    fn add(&mut self, flag: &str, value: &impl ToString) {
        self.0.extend([flag.to_owned(), value.to_string()]);
    }

    fn add_some(&mut self, flag: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add(flag, &value);
        }
    }

    fn add_bulk(&mut self, bulk: &BulkTask) {
        let rate = bulk.rate_bps.map(|bps| format!("{bps:.0}"));
        self.add("--rate", &rate.as_deref().unwrap_or("max"));
        self.add("--interval", &format_duration(bulk.interval));
        self.add_some("--length", bulk.length);
        self.add_some("--mss", bulk.mss);
        match bulk.end {
            BulkEnd::Bytes(bytes) => self.add("--bytes", &bytes.get()),
            BulkEnd::Time { measure, omit } => {
                self.add("--time", &format_duration(measure));
                if !omit.is_zero() {
                    self.add("--omit", &format_duration(omit));
                }
            }
        }
        if bulk.direction == Direction::Down {
            self.0.push("--reverse".to_owned());
        }
    }

    fn add_echo(&mut self, echo: &EchoTask) {
        if echo.transport == Transport::Udp {
            self.add("--proto", &"udp");
        }
        self.add("--sizes", &echo.sizes);
        self.add_some("--every", echo.period.map(format_duration));
        self.add_some("--time", echo.time.map(format_duration));
        self.add_some("--count", echo.count);
    }

    fn add_file(&mut self, file: &FileTask) {
        let via = match file.via {
            FileProtocol::Tcp => "tcp",
            FileProtocol::Tls => "tls",
            FileProtocol::Rbt => "rbt",
            FileProtocol::Quic => "quic",
        };
        self.add("--via", &via);
        self.add("--sizes", &file.bytes.get());
        self.add_some("--write-size", file.write_bytes);
        self.add_some("--packet", file.packet_bytes);
        self.add_some("--mss", file.mss);
        self.add_some("--rate", file.rate_bps.map(|bps| format!("{bps:.0}")));
        if file.nagle {
            self.0.push("--nagle".to_owned());
        }
        if file.direction == Direction::Down {
            self.0.push("--reverse".to_owned());
        }
    }

    fn add_path(&mut self, path: &PathTask) {
        let measure = path.measure;
        self.0.push("--numeric".to_owned());
        let flags = [
            ("--no-routes", !path.routes),
            ("--no-capacity", !measure.has_links()),
            ("--peer", measure.has_ends()),
            (
                "--no-available",
                measure.has_ends() && !measure.has_available(),
            ),
            ("--no-duplex", measure.has_ends() && !measure.has_duplex()),
            ("--duplex", measure == PathScope::Duplex),
        ];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given);
        self.0.extend(given.map(|(flag, _)| flag.to_owned()));
        self.add("--time", &format_duration(path.time));
        let percent = path.accuracy.map(|part| format!("{}%", part * 100.0));
        self.add_some("--accuracy", percent);
        self.add_some("--primers", path.primers);
    }

    fn finish(mut self, task: &FlowTask) -> Vec<String> {
        self.0.extend(["--json".to_owned(), "--quiet".to_owned()]);
        let start = task.start_ns;
        let (seconds, nanoseconds) = (start / 1_000_000_000, start % 1_000_000_000);
        self.add("--at", &format!("{seconds}.{nanoseconds:09}"));
        if let FlowTraffic::Echo(echo) = &task.traffic {
            self.add("--raw", &echo.samples.display());
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;
    use std::time::Duration;

    fn task(traffic: FlowTraffic) -> FlowTask {
        FlowTask {
            host: "10.0.0.2".to_owned(),
            port: 5201,
            connections: 2,
            start_ns: 1_500_000_000,
            congestion: Some("cubic".to_owned()),
            window: None,
            dscp: None,
            traffic,
        }
    }

    #[test]
    fn a_flow_is_a_command_that_repeats_it_by_hand() {
        let bulk = task(FlowTraffic::Bulk(BulkTask {
            transport: Transport::Tcp,
            direction: Direction::Down,
            rate_bps: Some(4e6),
            interval: Duration::from_millis(100),
            length: None,
            mss: None,
            end: BulkEnd::Time {
                measure: Duration::from_secs(5),
                omit: Duration::from_secs(1),
            },
        }));
        assert_eq!(
            ThisProgram.flow(&bulk).join(" "),
            "tcp 10.0.0.2 --port 5201 --parallel 2 --congestion cubic --rate 4000000 \
             --interval 100ms --time 5s --omit 1s --reverse --json --quiet --at 1.500000000"
        );
        let echo = task(FlowTraffic::Echo(EchoTask {
            transport: Transport::Udp,
            sizes: "1..64".to_owned(),
            period: Some(Duration::from_millis(10)),
            time: None,
            count: Some(50),
            samples: "/proc/self/fd/0".into(),
        }));
        assert_eq!(
            ThisProgram.flow(&echo).join(" "),
            "rtt 10.0.0.2 --port 5201 --parallel 2 --congestion cubic --proto udp --sizes 1..64 \
             --every 10ms --count 50 --json --quiet --at 1.500000000 --raw /proc/self/fd/0"
        );
    }

    #[test]
    fn what_is_measured_of_a_path_is_said_by_flags() {
        for (measure, flags) in [
            (PathScope::Links, ""),
            (
                PathScope::Ends,
                "--no-capacity --peer --no-available --no-duplex ",
            ),
            (PathScope::Available, "--no-capacity --peer --no-duplex "),
            (PathScope::Duplex, "--no-capacity --duplex "),
            (PathScope::All, "--peer "),
        ] {
            let path = FlowTask {
                congestion: None,
                ..task(FlowTraffic::Path(PathTask {
                    measure,
                    time: Duration::from_secs(8),
                    accuracy: Some(0.03),
                    primers: None,
                    routes: false,
                }))
            };
            let words = ThisProgram.flow(&path);
            assert_eq!(
                words.join(" "),
                format!(
                    "path 10.0.0.2 --port 5201 --numeric --no-routes {flags}--time 8s --accuracy 3% \
                     --json --quiet --at 1.500000000"
                )
            );
            let parsed = Cli::try_parse_from(std::iter::once("caudal".to_owned()).chain(words));
            assert!(parsed.is_ok(), "{:?}", parsed.err());
        }
    }

    #[test]
    fn every_command_is_one_of_this_program() {
        let words = [ThisProgram.lab_daemon(), ThisProgram.server()];
        for words in words {
            let parsed = Cli::try_parse_from(std::iter::once("caudal".to_owned()).chain(words));
            assert!(parsed.is_ok(), "{:?}", parsed.err());
        }
    }
}
