//! Help on one screen of 24 lines (`-h`): what to name and the flags that matter for most. `--help` has all of them, by group.

use clap::{Arg, Command};

/// The arguments of a command that `-h` shows, by their ids, each with its meaning in a few words.
type Shown = &'static [(&'static str, &'static str)];

const HOST: (&str, &str) = (
    "host",
    "The host that runs `caudal serve`; without it this machine",
);
const TIME: (&str, &str) = ("time", "Duration, as 30s or 5m, 0 until ^C [default: 10s]");
const REVERSE: (&str, &str) = ("reverse", "Measure from the server to here");
const BIDIR: (&str, &str) = ("bidir", "Measure both directions at once");
const PARALLEL: (&str, &str) = ("parallel", "Flows in each direction [default: 1]");
const JSON: (&str, &str) = ("json", "Print one JSON object when done");
const VERBOSE: (&str, &str) = ("verbose", "Show everything");
const EXPLAIN: (&str, &str) = ("explain", "Show the arithmetic and the assumptions");
const SVG: (&str, &str) = ("svg", "Draw the sweep as an SVG figure into FILE");
const MTU: (&str, &str) = ("mtu", "The largest IP packet in bytes [default: 1500]");

/// The commands whose arguments are too many for a screen.
const COMMANDS: [(&[&str], Shown); 25] = [
    (
        &["serve"],
        &[
            ("port", "The port, TCP and UDP [default: 5201]"),
            ("all", "Answer iperf 2 and nttcp on their ports too"),
            ("allow", "Answer these networks only"),
            ("token_file", "Answer those only who know the token in FILE"),
            ("max_rate", "The rate allowed to each client"),
            (
                "files",
                "Serve the files of a directory to `caudal file --get`",
            ),
            (
                "accept_files",
                "Keep what `caudal file --send` sends in a directory",
            ),
        ],
    ),
    (
        &["ui"],
        &[
            ("port", "The port on 127.0.0.1 and ::1 [default: 5280]"),
            ("store", "The store of what is recorded and shown"),
            ("listen", "Listen beyond loopback, with a password and TLS"),
        ],
    ),
    (
        &["tcp"],
        &[
            HOST,
            TIME,
            REVERSE,
            BIDIR,
            PARALLEL,
            ("rate", "Payload rate of each flow, as 100M [default: max]"),
            (
                "until",
                "Repeat until the mean is known to this part, as 5%",
            ),
            JSON,
        ],
    ),
    (
        &["udp"],
        &[
            HOST,
            TIME,
            REVERSE,
            BIDIR,
            ("rate", "Payload rate of each flow, as 100M, or max"),
            ("length", "Payload of a datagram in bytes"),
            (
                "find_rate",
                "Find the highest rate with at most this loss, as 0.1%",
            ),
            JSON,
        ],
    ),
    (
        &["rtt"],
        &[
            HOST,
            ("proto", "tcp or udp [default: tcp]"),
            TIME,
            ("every", "Send on a schedule, as 10ms, without waiting"),
            ("length", "Size of the messages [default: 64]"),
            ("sweep", "17 message sizes, from 1 to 65536 bytes"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["connect"],
        &[
            ("host", "The host, also as HOST:PORT of any TCP server"),
            ("parallel", "Connections being opened at once [default: 1]"),
            TIME,
            ("rate", "Begin N connections per second on a schedule"),
            ("tls", "Make a handshake of TLS 1.3 on each connection"),
            ("my_server", "The server is yours: more than one a second"),
            JSON,
        ],
    ),
    (
        &["stamp"],
        &[
            ("host", "The host with a reflector; without it this machine"),
            ("port", "The reflector's UDP port [default: 862]"),
            ("time", "Duration, as 30s or 5m [default: 10s]"),
            ("every", "Send a packet every so often [default: 10ms]"),
            ("length", "Payload of a packet, 14 bytes and more"),
            ("dscp", "The DSCP to send with, as EF or 46"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["quality"],
        &[
            HOST,
            ("time", "Duration of each phase with load [default: 10s]"),
            ("idle", "Duration of the phase without load [default: 5s]"),
            ("parallel", "Flows in each direction [default: 4]"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["check"],
        &[
            HOST,
            ("quick", "Take 15 s instead of a minute"),
            ("max_bytes", "Move no more than about this in all"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["file"],
        &[
            HOST,
            (
                "send",
                "Send this file or directory (`serve --accept-files`)",
            ),
            ("get", "Fetch this file of the server (`serve --files`)"),
            ("to", "The place for what is fetched"),
            ("resume", "Go on where an earlier transfer ended"),
            ("via", "tcp, tls, rbt, quic, or several to compare"),
            ("sizes", "Generated bytes instead of a file, as 100M"),
            JSON,
        ],
    ),
    (
        &["top"],
        &[
            ("runs", "The runs to play [default: last]"),
            ("serve", "The clients of a server on this machine"),
            ("lab", "A lab with its counters, queues and drops"),
            ("study", "A study with its trials and the time left"),
            ("watch", "The tests of a watched path over days"),
            ("speed", "Play at this multiple of the speed"),
        ],
    ),
    (
        &["watch"],
        &[
            ("what", "A file of paths (NAME.toml), or hosts"),
            ("test", "What to run for each host, as \"tcp -t 5\""),
            ("every", "The time between two tests [default: 5m]"),
            ("max_bytes", "The bytes that all tests of a day may move"),
            ("prometheus", "Serve the last results as metrics"),
        ],
    ),
    (
        &["path"],
        &[
            ("host", "Any host; nothing has to run there"),
            ("watch", "Watch the hops as mtr does, until ^C"),
            ("peer", "Measure with `caudal serve` there, both ways"),
            ("no_capacity", "Hops only, at once"),
            ("rfc6349", "TCP throughput by window (RFC 6349)"),
            ("numeric", "Do not look names up"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["pcap"],
        &[
            (
                "files",
                "Captures: pcap or pcapng, also packed with gzip or zstd",
            ),
            ("filter", "Only packets that match, as 'host 192.0.2.1'"),
            ("flow", "Look at this flow"),
            ("ladder", "Draw its segments as a sequence diagram"),
            ("graph", "Draw a graph of it"),
            JSON,
        ],
    ),
    (
        &["report", "list"],
        &[
            (
                "words",
                "Words that a run has in its host, title or command",
            ),
            ("kind", "Only of this kind, such as tcp or study"),
            ("tag", "Only with this tag"),
            ("since", "Only from then on, as 7d or 2026-11-01"),
            ("parts", "The parts of runs too"),
            JSON,
        ],
    ),
    (
        &["report", "compare"],
        &[
            (
                "first",
                "The reference: an id, last~1, tag:NAME, study:NAME, a file",
            ),
            ("second", "What is compared with it"),
            ("metric", "Only this metric, as goodput"),
            (
                "fail_if_worse",
                "Exit code 5 when B is worse by more, as 5%",
            ),
            ("margin", "Test whether B is within this part of A"),
            VERBOSE,
            JSON,
        ],
    ),
    (
        &["report", "export"],
        &[
            ("id", "The run or the study: an id, or last"),
            ("html", "A report in one file, to look at and to print"),
            ("md", "Markdown"),
            ("csv", "Every value, a row each"),
            ("json", "The document"),
            ("svg", "The figures"),
            ("output", "Write to FILE, or into a directory, as report/"),
        ],
    ),
    (
        &["report", "import"],
        &[
            (
                "files",
                "Logs as the tools wrote them, also packed with gzip",
            ),
            ("tag", "Put a tag on the runs"),
        ],
    ),
    (
        &["study", "resume"],
        &[
            ("id", "The study's id, or enough of its beginning"),
            ("out", "Write the report and every trial into a directory"),
            ("quiet", "Print the findings only"),
            JSON,
        ],
    ),
    (
        &["study", "run"],
        &[
            ("what", "Experiments that come with the program, or files"),
            ("quick", "Fewer and shorter trials"),
            ("set", "Change a parameter first, as time.measure=5s"),
            (
                "hosts",
                "Use hosts that run `caudal serve`, as h2=192.0.2.7",
            ),
            JSON,
        ],
    ),
    (
        &["predict", "link"],
        &[("rate", "The line rate"), MTU, EXPLAIN, SVG, JSON],
    ),
    (
        &["predict", "window"],
        &[
            ("rate", "The line rate"),
            ("rtt", "The round-trip time"),
            ("window", "What this window allows"),
            MTU,
            EXPLAIN,
            SVG,
            JSON,
        ],
    ),
    (
        &["predict", "loss"],
        &[
            ("loss", "The fraction of segments lost, as 0.1%"),
            ("rtt", "The round-trip time"),
            ("rate", "The line rate, as a further bound"),
            EXPLAIN,
            SVG,
            JSON,
        ],
    ),
    (
        &["predict", "share"],
        &[
            ("rate", "The line rate of the shared link"),
            ("tcp", "Number of TCP flows [default: 2]"),
            ("udp", "The payload rates that UDP flows offer, as 8M,8M"),
            ("rtt", "The round-trip times of the TCP flows"),
            ("policer", "The rate of a policer on the path"),
            EXPLAIN,
            JSON,
        ],
    ),
    (
        &["predict", "transfer"],
        &[
            ("bytes", "The amount of data"),
            ("rate", "The line rate of the bottleneck"),
            ("rtt", "The round-trip time without queues"),
            ("loss", "The fraction of segments lost"),
            ("window", "The window, as a further bound"),
            EXPLAIN,
            JSON,
        ],
    ),
];

/// More of them, whose arguments are few enough but for the groups that all predictions share.
const MORE: [(&[&str], Shown); 3] = [
    (
        &["predict", "echo"],
        &[
            ("rate", "The line rate"),
            ("delay", "The one-way propagation delay [default: 0]"),
            ("sizes", "Message sizes, as 1,64,1Ki [default: 1..64Ki]"),
            ("clients", "Number of clients at once [default: 1]"),
            EXPLAIN,
            JSON,
        ],
    ),
    (
        &["predict", "half-duplex"],
        &[("rate", "The line rate"), EXPLAIN, JSON],
    ),
    (
        &["predict", "topology"],
        &[
            ("what", "A topology file, or a preset such as dumbbell"),
            (
                "changes",
                "Change a key of a link first, as bottleneck.rate=5M",
            ),
            ("flows", "A flow, as 'h1>h3:cubic' or 'h1>h3:udp=8M'"),
            ("time", "Duration of the simulated flows [default: 20s]"),
            EXPLAIN,
            JSON,
        ],
    ),
];

/// The commands that the first screen leaves to its last line.
const FOLDED: [&str; 6] = ["stamp", "iperf", "iperf3", "nttcp", "completions", "help"];
/// Maximum number of examples on a screen.
const MAX_EXAMPLES: usize = 3;
/// Maximum width of an example.
const MAX_WIDTH: usize = 80;

/// The program's commands with the help of `-h`.
#[must_use]
pub fn with_short_help(mut cli: Command) -> Command {
    for (path, shown) in COMMANDS.iter().chain(&MORE) {
        cli = at(cli, path, &|command| short(command, shown, path));
    }
    for below in ["lab", "study", "report", "predict"] {
        cli = cli.mut_subcommand(below, |command| {
            let command = command.disable_help_subcommand(true);
            let command = command.mut_args(|argument| argument.hide(true));
            let more = format!("Flags of each: caudal {below} COMMAND -h");
            with_examples(command, 1, &more)
        });
    }
    let hidden = |command: Command| command.hide(true);
    for name in FOLDED.iter().filter(|name| **name != "help") {
        cli = cli.mut_subcommand(name, hidden);
    }
    cli.disable_help_subcommand(true)
        .disable_version_flag(true)
        .mut_args(|argument| argument.hide(true))
        .help_template("{about}\n\n{usage-heading} {usage}\n\nCommands:\n{subcommands}{after-help}")
        .after_help("Also stamp, iperf, iperf3, nttcp, completions. Flags: COMMAND -h, all: --help")
}

/// Changes the command at a path below.
fn at(command: Command, path: &[&str], change: &dyn Fn(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        [name, below @ ..] => command.mut_subcommand(name, |command| at(command, below, change)),
    }
}

/// A command that shows these arguments in this order, and nothing of the others.
fn short(command: Command, shown: Shown, path: &[&str]) -> Command {
    let place = |argument: &Arg| {
        let id = argument.get_id().as_str();
        shown.iter().position(|(shown, _)| *shown == id)
    };
    let command = command.mut_args(|argument| {
        let Some(nth) = place(&argument) else {
            return argument.hide(true);
        };
        let has_values = argument.get_action().takes_values();
        argument
            .help_heading(None::<&str>)
            .display_order(nth)
            .help(shown[nth].1)
            .long_help(None::<&str>)
            .hide_default_value(has_values)
            .hide_possible_values(has_values)
            .hide_env(has_values)
    });
    let more = format!("All flags, by group: caudal {} --help", path.join(" "));
    with_examples(command, MAX_EXAMPLES, &more)
}

/// A command with its first examples and where to find more.
fn with_examples(command: Command, count: usize, more: &str) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let (_, examples) = text.split_once("Examples:\n").unwrap_or_default();
    let examples = examples.lines().take_while(|line| line.starts_with("  "));
    let examples = examples.filter(|line| line.chars().count() <= MAX_WIDTH);
    let mut lines: Vec<&str> = examples.take(count).collect();
    if !lines.is_empty() {
        lines.insert(0, "Examples:");
        lines.push("");
    }
    lines.push(more);
    command
        .after_help(lines.join("\n"))
        .after_long_help(None::<&str>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn check(command: &mut Command, path: &str, longest: &mut Vec<String>) {
        let text = command.clone().term_width(80).render_help().to_string();
        let lines = text.trim_end().lines().count();
        if lines > 24 {
            longest.push(format!("{path}: {lines} lines\n{text}"));
        }
        // The usage names every argument that has to be given, whatever the width.
        let mut others = text.lines().filter(|line| !line.starts_with("Usage: "));
        assert!(
            others.all(|line| line.chars().count() <= MAX_WIDTH),
            "{text}"
        );
        let names: Vec<String> = command
            .get_subcommands()
            .filter(|below| !FOLDED.contains(&below.get_name()))
            .map(|below| below.get_name().to_owned())
            .collect();
        for name in names {
            let below = command.find_subcommand_mut(&name).unwrap();
            check(below, &format!("{path} {name}"), longest);
        }
    }

    #[test]
    fn every_command_explains_itself_on_a_screen_of_24_lines() {
        let mut cli = with_short_help(Cli::command());
        cli.build();
        let mut longest = Vec::new();
        check(&mut cli, "caudal", &mut longest);
        assert!(longest.is_empty(), "{}", longest.join("\n"));
    }

    #[test]
    fn every_argument_that_is_shown_exists() {
        for (path, shown) in COMMANDS.iter().chain(&MORE) {
            let mut cli = Cli::command();
            let mut command = &mut cli;
            for name in *path {
                command = command.find_subcommand_mut(name).unwrap();
            }
            for (id, _) in *shown {
                let mut arguments = command.get_arguments();
                assert!(
                    arguments.any(|argument| argument.get_id() == *id),
                    "{path:?} {id}"
                );
            }
        }
    }
}
