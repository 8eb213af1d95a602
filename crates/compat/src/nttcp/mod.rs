//! `caudal nttcp`: nttcp's command line and rows of figures over our engines.

mod kept;

use crate::exit::{Exit, on_one_line};
use crate::output::document::command_of;
use crate::personality;
use crate::recording::Recording;
use caudal_engine::guests::Guests;
use caudal_engine::nttcp::{Event, Server, ServerOptions, run};
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::nttcp::{Request, title};
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

const HELP: &str = "\
Usage: nttcp [local options] host [remote options]
       nttcp -i [-p port]
  -t          send (default)            -r          receive
  -u          UDP instead of TCP        -l#         bytes in a buffer (4096)
  -n#         buffers (2048)            -x#         bytes in all; computes -n or -l
  -w#         socket buffers in kilobytes (TCP)     -D   no delay (TCP)
  -g#         gap in microseconds between writes
  -T          print a row of titles     -f format   columns, such as %9b%8.2rt%12.4rbr%8c
  -p#         control port (5037)       -i          wait for clients
  -v          verbose   -V  version     -?          this text
Columns: l BufLen, n BufCnt, b Bytes, c Calls, rt Real s, ct CPU s, rbr Real-MBit/s, cbr CPU-MBit/s, rcr Real-C/s,
ccr CPU-C/s, each as %width.decimals. Options in NTTCP_LOC_OPT come before the local ones, those in NTTCP_REM_OPT
before the remote ones. An option of nttcp that is not listed is refused by its name.
";

/// A command line: what this side does, where the other is, and what is for it alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// This side.
    pub local: Request,
    /// The other side.
    pub host: Option<String>,
    /// Words for the other side.
    pub remote: Vec<String>,
}

impl Line {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// One line that names what cannot be.
    pub fn parse(
        words: &[String],
        local_defaults: &str,
        remote_defaults: &str,
    ) -> Result<Self, String> {
        let mut line = Self::default();
        let mut defaults = local_defaults.split_whitespace();
        while let Some(word) = defaults.next() {
            if !line
                .local
                .take(word, &mut defaults)
                .map_err(|error| error.to_string())?
            {
                return Err(format!("NTTCP_LOC_OPT: {word:?} is no option"));
            }
        }
        line.remote
            .extend(remote_defaults.split_whitespace().map(str::to_owned));
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if !line
                .local
                .take(word, &mut words)
                .map_err(|error| error.to_string())?
            {
                line.host = Some(word.to_owned());
                break;
            }
        }
        line.remote.extend(words.map(str::to_owned));
        // What the other side would refuse is said here.
        let mut check = Request::default();
        let mut remote = line.remote.iter().map(String::as_str);
        while let Some(word) = remote.next() {
            let is_option = check
                .take(word, &mut remote)
                .map_err(|error| format!("for the other side: {error}"))?;
            if !is_option {
                return Err(format!(
                    "{word:?}: several hosts mean multicast (-m), which is not here"
                ));
            }
        }
        let asked = line.local.listen || line.local.help || line.local.version;
        if line.host.is_none() && !asked {
            return Err("a host is needed, or -i to wait for clients".to_owned());
        }
        Ok(line)
    }
}

fn fail(why: &str) -> Exit {
    personality::fail("nttcp", why)
}

/// Runs `caudal nttcp` with these words.
#[must_use]
pub fn main(words: &[String]) -> ExitCode {
    crate::end(crate::prepare().map(|interrupt| speak(words, interrupt)))
}

fn speak(words: &[String], interrupt: &'static Interrupt) -> Exit {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let line = match Line::parse(
        words,
        &variable("NTTCP_LOC_OPT"),
        &variable("NTTCP_REM_OPT"),
    ) {
        Ok(line) => line,
        Err(why) => {
            let _ = fail(&why);
            let _ = writeln!(std::io::stderr(), "Try `nttcp -?' for more information.");
            return Exit::Failed;
        }
    };
    let mut out = std::io::stdout();
    if line.local.help {
        let _ = out.write_all(HELP.as_bytes());
        return Exit::Done;
    }
    if line.local.version {
        let _ = writeln!(
            out,
            "nttcp, version 1.47 (caudal {}, the protocol and rows of nttcp 1.47)",
            env!("CARGO_PKG_VERSION")
        );
        return Exit::Done;
    }
    if line.local.listen {
        return serve(&line.local, interrupt);
    }
    let host = line.host.clone().unwrap_or_default();
    let found = (host.as_str(), line.local.port)
        .to_socket_addrs()
        .map(|found| found.min_by_key(SocketAddr::is_ipv6));
    let peer = match found {
        Ok(Some(peer)) => peer,
        Ok(None) => return fail(&format!("{host} has no address")),
        Err(cause) => return fail(&format!("cannot find the host {host}: {cause}")),
    };
    let (local, remote) = if line.local.verbose {
        ("nttcp-l: ", "nttcp-1: ")
    } else {
        ("", "")
    };
    if line.local.verbose {
        let over = if line.local.udp { "UDP" } else { "TCP" };
        let way = if line.local.transmit { "to" } else { "from" };
        let _ = writeln!(
            out,
            "{local}{over} {way} {peer}, {} bytes",
            line.local.bytes()
        );
    }
    let keeping = Recording::by_environment();
    let began_ns = realtime_ns();
    match run(peer, &line.local, &line.remote, interrupt.fd()) {
        Ok(outcome) => {
            if line.local.title {
                let _ = writeln!(out, "{}", title(&line.local.format));
            }
            let _ = writeln!(out, "{}", outcome.local.show('l', &line.local.format));
            for line in &outcome.remote {
                let clean = on_one_line(line);
                // What the far side prefixes itself is not prefixed again.
                let prefix = if clean.starts_with("nttcp-") {
                    ""
                } else {
                    remote
                };
                let _ = writeln!(out, "{prefix}{clean}");
            }
            let mut log = kept::log(&outcome, peer, &line.local, &line.remote);
            let was_ended = interrupt.count() > 0;
            let mut exit = Exit::Done;
            if outcome.remote.is_empty() {
                let what = "the other side gave no figures";
                exit = fail(what);
                log.error = (!was_ended).then(|| what.to_owned());
            }
            log.is_complete = exit == Exit::Done && !was_ended;
            log.started_ns = i64::try_from(began_ns).ok();
            let words = ["nttcp"]
                .into_iter()
                .chain(words.iter().map(String::as_str));
            log.command = Some(command_of(words));
            keeping.record_log(log, Some(peer.ip().to_canonical()));
            exit
        }
        Err(error) => fail(&error.to_string()),
    }
}

fn serve(request: &Request, interrupt: &'static Interrupt) -> Exit {
    let verbose = request.verbose;
    let server = Server::start(
        ServerOptions {
            bind: None,
            port: request.port,
            max_rate: None,
            max_time: None,
            idle: Duration::from_secs(80),
        },
        Guests::new(Vec::new(), 256),
        Arc::new(move |event: Event| {
            if event.refused || verbose {
                let peer = event
                    .peer
                    .map_or_else(String::new, |peer| format!("{peer}: "));
                let _ = fail(&format!("{peer}{}", event.words));
            }
        }),
    );
    let server = match server {
        Ok(server) => server,
        Err(error) => return fail(&error.to_string()),
    };
    if verbose {
        let _ = writeln!(
            std::io::stdout(),
            "nttcp-l: waiting on port {}",
            server.port()
        );
    }
    while interrupt.count() == 0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    Exit::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Line, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Line::parse(&words, "", "")
    }

    #[test]
    fn options_after_the_host_go_to_the_other_side() {
        let line = read("-T -l8192 -n 100 host -w64").unwrap();
        assert!(line.local.title && line.local.transmit);
        assert_eq!((line.local.length, line.local.count), (8192, 100));
        assert_eq!(line.host.as_deref(), Some("host"));
        assert_eq!(line.remote, ["-w64"]);
    }

    #[test]
    fn the_environment_comes_first() {
        let words = ["-n5".to_owned(), "host".to_owned()];
        let line = Line::parse(&words, "-l100 -n9", "-D").unwrap();
        assert_eq!((line.local.length, line.local.count), (100, 5));
        assert_eq!(line.remote, ["-D"]);
    }

    #[test]
    fn what_is_not_here_is_refused_by_name() {
        for (line, word) in [
            ("-c host", "-c of nttcp"),
            ("-m host", "-m of nttcp"),
            ("host other", "multicast"),
            ("host -R5", "-R of nttcp"),
            ("-q host", "-q"),
            ("-T", "a host is needed"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
