//! The flag of caudal for each option of iperf3.

use Equivalent::{Flag, Nothing, Same};

/// What an option of iperf3 is on the command line of caudal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equivalent {
    /// The same letter and name.
    Same,
    /// This flag or command.
    Flag(&'static str),
    /// Nothing.
    Nothing,
}

/// An option of iperf3, and what it is here.
#[derive(Debug, Clone, Copy)]
pub struct Iperf3Equivalent {
    /// Its usual name in iperf3, without the dashes.
    pub option: &'static str,
    /// What it is here.
    pub here: Equivalent,
    /// The difference, or the reason why there is nothing; empty when there is none.
    pub note: &'static str,
}

const fn row(option: &'static str, here: Equivalent, note: &'static str) -> Iperf3Equivalent {
    Iperf3Equivalent { option, here, note }
}

/// Every option of iperf3, in the order of its manual.
#[rustfmt::skip]
pub const EQUIVALENTS: [Iperf3Equivalent; 71] = [
    row("port", Same, "also as `HOST:PORT` and `[IPv6]:PORT`"),
    row("format", Nothing, "a value carries the unit that fits it; `--json` and `--csv` have base units"),
    row("interval", Same, "10 ms or more, also as `100ms`; `-q` shows no intervals"),
    row("pidfile", Nothing, "the service manager knows the process of `caudal serve`"),
    row("file", Same, "the sender's file only, `-` for standard input; a receiver writes none"),
    row("affinity", Same, "the processors of this end's flows in turn; the server's are its own choice"),
    row("bind", Same, "an address alone; an interface is `--device NAME`"),
    row("bind-dev", Flag("--device NAME"), ""),
    row("verbose", Flag("-v"), ""),
    row("json", Same, "documents of caudal (`caudal.run/1`), and an object for a failure; the exit code stays that of the failure"),
    row("json-stream", Same, "events of caudal"),
    row("json-stream-full-output", Flag("--json-stream"), "the last event holds the whole run"),
    row("logfile", Flag("-o FILE"), "of a client; redirect the output of `caudal serve`"),
    row("forceflush", Nothing, "every line is flushed"),
    row("timestamps", Nothing, "`--json` has the dates; for text pipe it through `ts`"),
    row("rcv-timeout", Nothing, "a silent peer is given up after a fixed time"),
    row("snd-timeout", Nothing, "a silent peer is given up after a fixed time"),
    row("cntl-ka", Nothing, "readings cross the control connection throughout a test"),
    row("mptcp", Flag("--mptcp"), ""),
    row("debug", Flag("-v"), ""),
    row("version", Flag("caudal --version"), "`-v` shows more"),
    row("help", Same, ""),
    row("server", Flag("caudal serve"), "many clients at once, those of iperf3 included"),
    row("daemon", Nothing, "start `caudal serve` from the service manager"),
    row("one-off", Same, "of `caudal serve`"),
    row("server-bitrate-limit", Flag("caudal serve --max-rate RATE"), "the limit of each test, not of all together"),
    row("idle-timeout", Flag("caudal serve --idle-timeout TIME"), "disconnects an idle client; the server itself needs no restart"),
    row("server-max-duration", Flag("caudal serve --max-time TIME"), ""),
    row("rsa-private-key-path", Same, "of `caudal serve`, for clients of iperf3; caudal's own use `--token-file`"),
    row("authorized-users-path", Same, "of `caudal serve`"),
    row("time-skew-threshold", Same, "of `caudal serve`"),
    row("use-pkcs1-padding", Same, "of `caudal serve`"),
    row("client", Flag("caudal tcp HOST"), "the host stands alone"),
    row("udp", Flag("caudal udp HOST"), "1 Mbit/s is 10^6 bit/s, not 2^20; datagrams fill the path MTU"),
    row("sctp", Nothing, "tests are over TCP and UDP"),
    row("xbind", Nothing, "tests are over TCP and UDP"),
    row("nstreams", Nothing, "tests are over TCP and UDP"),
    row("connect-timeout", Nothing, "a host that does not answer is given up after a fixed time"),
    row("bitrate", Flag("-b RATE"), "payload of each flow, as in iperf3; 0 and `max` for no limit; no `/BURST`"),
    row("pacing-timer", Nothing, "departures have no common timer"),
    row("fq-rate", Nothing, "`-b` paces each flow"),
    row("no-fq-socket-pacing", Nothing, "the program paces; the kernel does where its congestion control does"),
    row("time", Same, "0 until ^C, as in iperf3; also `500ms`, `2min`, `1h`"),
    row("bytes", Same, "exact, in each direction; 1M is 10^6 bytes, 1Mi is iperf3's 1M"),
    row("blockcount", Nothing, "`-n` takes the product with `-l`"),
    row("length", Same, "128K is 128 000 bytes, 128Ki is iperf3's 128K"),
    row("cport", Flag("--local-port PORT"), "of the first flow; those of the others follow it"),
    row("parallel", Same, "up to 1024"),
    row("reverse", Same, ""),
    row("bidir", Same, ""),
    row("window", Same, "256K is 256 000 bytes, 256Ki is iperf3's 256K"),
    row("congestion", Same, "of the sender"),
    row("set-mss", Flag("-M BYTES"), ""),
    row("no-delay", Flag("-N"), ""),
    row("version4", Flag("-4"), ""),
    row("version6", Flag("-6"), ""),
    row("tos", Flag("--dscp NAME|N"), "the upper six bits of the TOS byte: its value divided by 4; the other two are ECN: `--ecn ect0`, `ect1` or `ce` for UDP, `--ecn on` for TCP, which negotiates it"),
    row("dscp", Same, "the same names and numbers"),
    row("flowlabel", Nothing, "the kernel chooses it"),
    row("zerocopy", Same, ""),
    row("skip-rx-copy", Flag("--discard"), "of `caudal tcp`"),
    row("omit", Same, "also `500ms`, and `auto` to find the warm-up"),
    row("title", Nothing, "`caudal report tag last NAME` marks the run afterwards"),
    row("extra-data", Nothing, "`caudal report tag last NAME` marks the run afterwards"),
    row("get-server-output", Nothing, "the result holds the counters of both ends"),
    row("udp-counters-64bit", Nothing, "sequence numbers have 64 bits"),
    row("gsro", Nothing, "segmentation offload is used where the rate allows it"),
    row("repeating-payload", Nothing, "`--verify` checks every byte of UDP"),
    row("dont-fragment", Nothing, "datagrams fit the path MTU unless `-l` says otherwise"),
    row("username", Nothing, "`caudal iperf3` has logins; servers of caudal take `--token-file`"),
    row("rsa-public-key-path", Nothing, "`caudal iperf3` has logins; servers of caudal take `--token-file`"),
];
