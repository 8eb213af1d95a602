//! `caudal iperf`: iperf 2's command line and output over our engines.

mod kept;
pub mod options;
pub mod text;
pub mod units;

use crate::exit::Exit;
use crate::output::document::command_of;
use crate::personality;
use crate::recording::Recording;
use caudal_engine::RunError;
use caudal_engine::guests::Guests;
use caudal_engine::iperf2::{Client, ClientOptions, Event, Outcome, Server, ServerOptions, Tell};
use caudal_report::import::Log;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::interface::local_addresses;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::Way;
use kept::Book;
use options::Options;
use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use text::Printer;

const USAGE: &str =
    "Usage: iperf [-s|-c host] [options]\nTry `iperf --help' for more information.\n";

const HELP: &str = "\
Usage: iperf [-s|-c host] [options]
       iperf [-h|--help] [-v|--version]

Client/Server:
  -b, --bandwidth #[kmgKMG | pps]  rate to send at in bits/sec or packets/sec
  -e, --enhanced           more columns
  -f, --format    [abkmgtABKMGT]   unit of the report
      --hide-ips           hide ip addresses within outputs
  -i, --interval  #        seconds between periodic reports
  -l, --len       #[kmKM]  length of buffer to read or write (TCP=128K, v4 UDP=1470, v6 UDP=1450)
  -m, --print_mss          print the TCP maximum segment size
  -o, --output    <file>   write the report to this file
  -p, --port      #        server port to listen on or connect to (5001)
      --sum-only           print sums only
  -u, --udp                UDP instead of TCP
      --utc                show times in UTC
  -w, --window    #[KM]    socket buffer size
  -B, --bind <host>[:<port>][%<dev>] local address, port and device; a multicast address of a server is joined
  -C, --compatibility      send no test header
  -M, --mss       #        TCP maximum segment size
  -N, --nodelay            disable Nagle's algorithm
  -S, --tos       #        the IP TOS byte, or a name such as ef
      --dscp      #        the DSCP
  -Z, --tcp-congestion <algo>  TCP congestion control
  -4, --v4   -6, --v6      address family

Server specific:
  -s, --server             run in server mode
  -t, --time      #        seconds to listen and receive
  -1, --singleclient       one client at a time
  -P, --parallel  #        end after so many clients
  -U, --single_udp         one UDP client at a time
  -D, --daemon             run in the background
  -H, --ssm-host <ip>      the only source of the multicast group to hear
      --skip-rx-copy       drop received payload in the kernel
  -V, --ipv6_domain        listen on IPv6 as well

Client specific:
  -c, --client    <host>[%dev]  run in client mode
      --connect-only[=#]   make connections only
  -d, --dualtest           both directions at once, the server connects back
      --fq-rate   #[kmgKMG]    pacing by the kernel
      --full-duplex        both directions at once on one connection
  -n, --num       #[kmgKMG]    bytes to transmit (instead of -t)
      --no-udp-fin         no report at the end of a UDP test
  -r, --tradeoff           both directions one after the other, the server connects back
  -t, --time      #        seconds to transmit (10), 0 for no end
      --trip-times         stamp what is sent, for one-way delays (takes clocks that agree)
      --txdelay-time #     seconds to hold back before the first write
      --txstart-time #     when to begin, in seconds since 1970
  -F, --file_input <name>  send a file
  -I, --stdin              send standard input
  -L, --listenport #       port to be connected back to
  -P, --parallel  #        connections at once
  -R, --reverse            the server sends
  -T, --ttl       #        time to live of multicast (1)
  -V, --ipv6_domain        use IPv6
  -X, --peer-detect        exchange versions

Miscellaneous:
  -x, --reportexclude [CDMSV]   exclude C(connection) D(data) M(multicast) S(settings) V(server) reports
  -y, --reportstyle C      report as comma-separated values
  -h, --help   -v, --version

Suffixes: k, m, g are powers of 1000; K, M, G are powers of 1024.
Most options can be set by an environment variable IPERF_<LONG NAME>, such as IPERF_BANDWIDTH, and the window
by TCP_WINDOW_SIZE. An option of iperf 2 that is not listed is refused by its name.
";

/// Runs `caudal iperf` with these words.
#[must_use]
pub fn main(words: &[String]) -> ExitCode {
    crate::end(crate::prepare().map(|interrupt| speak(words, interrupt)))
}

fn speak(words: &[String], interrupt: &'static Interrupt) -> Exit {
    let mut all = Options::of_environment(|name| std::env::var(name).ok());
    all.extend(words.iter().cloned());
    let options = match Options::parse(&all) {
        Ok(options) => options,
        Err(why) => {
            let _ = write!(std::io::stderr(), "iperf: {why}\n{USAGE}");
            return Exit::Failed;
        }
    };
    if options.help {
        let _ = std::io::stdout().write_all(HELP.as_bytes());
        return Exit::Done;
    }
    if options.version {
        let _ = writeln!(
            std::io::stdout(),
            "iperf version 2.1.8 (caudal {}, the layout and wire format of iperf 2.1.8)",
            env!("CARGO_PKG_VERSION")
        );
        return Exit::Done;
    }
    for note in &options.notes {
        let _ = writeln!(std::io::stderr(), "iperf: {note}");
    }
    if options.daemon {
        return daemon(words);
    }
    let mut shown = match Shown::open(&options) {
        Ok(shown) => shown,
        Err(why) => return fail(&why),
    };
    if options.server {
        serve(&options, &mut shown, interrupt)
    } else {
        let command = ["iperf"]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        run(options, &command_of(command), &mut shown, interrupt)
    }
}

fn fail(why: &str) -> Exit {
    personality::fail("iperf", why)
}

/// Starts the same server in the background, in a group of its own.
fn daemon(words: &[String]) -> Exit {
    let kept = words
        .iter()
        .filter(|word| !matches!(word.as_str(), "-D" | "--daemon"));
    // A cluster of letters keeps its other letters.
    let kept = kept.map(|word| match word.strip_prefix('-') {
        Some(letters)
            if !letters.starts_with('-') && letters.contains('D') && is_flags(letters) =>
        {
            format!("-{}", letters.replace('D', ""))
        }
        _ => word.clone(),
    });
    let Ok(program) = std::env::current_exe() else {
        return fail("cannot find this program to start it in the background");
    };
    use std::os::unix::process::CommandExt;
    let child = Command::new(program)
        .arg("iperf")
        .args(kept)
        .env_remove("IPERF_DAEMON")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match child {
        Ok(child) => {
            let _ = writeln!(
                std::io::stdout(),
                "Running Iperf Server as a daemon\nThe Iperf daemon process ID : {}",
                child.id()
            );
            Exit::Done
        }
        Err(cause) => fail(&format!("cannot start in the background: {cause}")),
    }
}

fn is_flags(letters: &str) -> bool {
    letters
        .chars()
        .all(|letter| "desmruvCDINRUVX146".contains(letter))
}

/// Where output goes, and how it looks.
struct Shown {
    printer: Printer,
    into: Box<dyn Write>,
}

impl Shown {
    fn open(options: &Options) -> Result<Self, String> {
        let into: Box<dyn Write> = match &options.output {
            Some(path) => Box::new(
                File::create(path)
                    .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?,
            ),
            None => Box::new(std::io::stdout()),
        };
        Ok(Self {
            printer: Printer::new(options, std::process::id(), device_of, || {
                realtime_ns() / 1_000_000_000
            }),
            into,
        })
    }

    fn write(&mut self, text: &str) {
        // A reader that has gone is no reason to end a server.
        let _ = self.into.write_all(text.as_bytes());
        let _ = self.into.flush();
    }

    fn take(&mut self, event: &Event) {
        let mut text = String::new();
        self.printer.take(&mut text, event);
        self.write(&text);
    }
}

fn device_of(address: SocketAddr) -> Option<String> {
    local_addresses()
        .into_iter()
        .find(|own| own.address == address.ip())
        .map(|own| own.interface)
}

fn teller(sender: Sender<Event>) -> Tell {
    Arc::new(move |event| {
        // Nobody listening is nobody's loss.
        let _ = sender.send(event);
    })
}

fn serve(options: &Options, shown: &mut Shown, interrupt: &'static Interrupt) -> Exit {
    let groups = options
        .bind
        .filter(std::net::IpAddr::is_multicast)
        .map(|group| (group, options.source_host));
    let (sender, events) = channel();
    let guests = Guests::new(Vec::new(), if options.single { 1 } else { 1024 });
    let started = Server::start(
        ServerOptions {
            bind: options.bind,
            v6: options.v6 && !options.v4,
            device: options.device.clone(),
            port: options.port,
            tcp: !options.udp,
            udp: options.udp,
            interval: options.interval,
            length: options.length,
            window: options.window,
            mss: options.mss,
            no_delay: options.no_delay,
            tos: options.tos,
            congestion: options.congestion.clone(),
            max_time: options.time.filter(|time| !time.is_zero()),
            groups: groups.into_iter().collect(),
            distribution: options.enhanced && !options.skip_copy,
            serial: options.single,
            discard: options.skip_copy,
            ..ServerOptions::default()
        },
        guests.clone(),
        teller(sender),
    );
    let server = match started {
        Ok(server) => server,
        Err(error) => return fail(&error.to_string()),
    };
    let (tcp, udp) = server.receive_buffers();
    let mut banner = String::new();
    let buffer = if options.udp { udp } else { tcp };
    shown
        .printer
        .server_banner(&mut banner, options.udp, server.port(), buffer);
    shown.write(&banner);
    let until = options
        .time
        .filter(|time| !time.is_zero())
        .map(|time| Instant::now() + time);
    loop {
        match events.recv_timeout(Duration::from_millis(20)) {
            Ok(Event::Trouble { peer, what }) => {
                let peer = peer.map_or_else(String::new, |peer| format!("{peer}: "));
                let _ = fail(&format!("{peer}{what}"));
            }
            Ok(event) => shown.take(&event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let over = until.is_some_and(|until| Instant::now() >= until && guests.inside() == 0);
        let enough = options
            .parallel
            .is_some_and(|most| guests.served() >= most as usize && guests.inside() == 0);
        if interrupt.count() > 0 || over || enough {
            break;
        }
    }
    server.stop();
    while let Ok(event) = events.try_recv() {
        shown.take(&event);
    }
    Exit::Done
}

fn resolve(options: &Options) -> Result<SocketAddr, String> {
    let host = options.host.clone().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = (bare, options.port)
        .to_socket_addrs()
        .map_err(|cause| format!("{host}: cannot find the host: {cause}"))?
        .collect();
    let fits = |address: &&SocketAddr| {
        options
            .bind
            .is_none_or(|bind| bind.is_ipv4() == address.is_ipv4())
            && if options.v6 {
                address.is_ipv6()
            } else {
                !options.v4 || address.is_ipv4()
            }
    };
    // IPv4 first, as the original does unless told otherwise.
    found
        .iter()
        .filter(fits)
        .min_by_key(|address| address.is_ipv6())
        .copied()
        .ok_or_else(|| format!("{host}: no address of the family asked for"))
}

/// What the command line says, as a test.
fn test(options: &mut Options) -> Result<ClientOptions, String> {
    let peer = resolve(options)?;
    let length = options.length.unwrap_or(match (options.udp, peer) {
        (false, _) => 128 << 10,
        (true, SocketAddr::V4(_)) => 1470,
        (true, SocketAddr::V6(_)) => 1450,
    });
    if options.udp {
        options.length.get_or_insert(length);
        let pps = options.pps.map(|pps| (pps * length as f64 * 8.0) as u64);
        let rate = pps.or(options.rate).unwrap_or(1 << 20);
        options.rate = Some(rate);
    } else if let Some(pps) = options.pps {
        options.rate = Some((pps * length as f64 * 8.0) as u64);
    }
    let endless = options.time == Some(Duration::ZERO);
    let time = if endless {
        None
    } else {
        Some(options.time.unwrap_or(Duration::from_secs(10)))
    };
    // A file or standard input is sent to its end, unless told otherwise.
    Ok(ClientOptions {
        bind: options.bind,
        local_port: options.bind_port,
        device: options.device.clone(),
        udp: options.udp,
        way: options.way,
        parallel: options.parallel.unwrap_or(1),
        length: options
            .length
            .filter(|given| !options.udp || *given != 1470),
        time,
        bytes: options.bytes,
        rate: options.rate,
        window: options.window,
        mss: options.mss,
        no_delay: options.no_delay,
        tos: options.tos,
        congestion: options.congestion.clone(),
        ttl: options.ttl,
        listen_port: options.listen_port.unwrap_or(options.port),
        interval: options.interval,
        compatible: options.compatible,
        detect: options.detect,
        trip_times: options.trip_times,
        no_udp_fin: options.no_udp_fin,
        source: options.source.clone(),
        distribution: options.enhanced && !options.skip_copy,
        discard: options.skip_copy,
        v6: options.v6,
        fq_rate: options.fq_rate,
        delay: options.delay,
        connect_only: options.connect_only,
        ..ClientOptions::new(peer)
    })
}

fn run(
    mut options: Options,
    command: &str,
    shown: &mut Shown,
    interrupt: &'static Interrupt,
) -> Exit {
    let keeping = Recording::by_environment();
    let test = match test(&mut options) {
        Ok(test) => test,
        Err(why) => return fail(&why),
    };
    if !options.udp
        && options.way == Way::Up
        && options.trip_times
        && options.length.is_some_and(|length| length < 92)
    {
        return fail("--trip-times takes writes of at least 92 bytes (-l)");
    }
    shown.printer.set_options(&options);
    let (sender, events) = channel();
    let tell = teller(sender);
    let peer = test.peer;
    let mut book = Book::open(&test, monotonic_ns(), realtime_ns());
    let runner = std::thread::Builder::new()
        .name("iperf".to_owned())
        .spawn(move || Client::run(&test, &tell, interrupt.fd()));
    let runner = match runner {
        Ok(runner) => runner,
        Err(cause) => return fail(&format!("cannot start a thread: {cause}")),
    };
    // The channel ends with the test.
    while let Ok(event) = events.recv() {
        book.take(&event, monotonic_ns());
        if let Event::Trouble { what, .. } = &event {
            let _ = fail(what);
        }
        shown.take(&event);
    }
    let outcome = runner.join();
    let (exit, error) = ending(outcome, options.udp, interrupt);
    let log = book.close(error.as_deref(), interrupt.count() > 0);
    keeping.record_log(
        Log {
            command: Some(command.to_owned()),
            ..log
        },
        Some(peer.ip().to_canonical()),
    );
    exit
}

/// Says what went wrong with a test, if anything did: how the program ends, and why.
fn ending(
    outcome: std::thread::Result<Result<Outcome, RunError>>,
    udp: bool,
    interrupt: &'static Interrupt,
) -> (Exit, Option<String>) {
    match outcome {
        Ok(Ok(outcome)) => {
            let was_ended = interrupt.count() > 0;
            for failure in outcome.failures.iter().filter(|_| !was_ended) {
                let _ = fail(failure);
            }
            match outcome.failures.into_iter().next() {
                Some(failure) if !was_ended => (Exit::Failed, Some(failure)),
                _ => (Exit::Done, None),
            }
        }
        Ok(Err(RunError::Connect { cause, .. })) => {
            let what = if udp { "udp" } else { "tcp" };
            let line = format!("{what} connect failed: {cause}");
            let _ = writeln!(std::io::stderr(), "{line}");
            (Exit::Failed, Some(line))
        }
        Ok(Err(error)) => (fail(&error.to_string()), Some(error.to_string())),
        Err(_) => {
            let what = "the test ended in an error of the program";
            (fail(what), Some(what.to_owned()))
        }
    }
}
