//! Traffic over a link of the lab, captured at both of its ends.

use super::tcpdump::TcpdumpCapture;
use crate::support::place::{Place, eventually};
use crate::support::{Running, SOON, Serve, run};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// How often a capture is taken again when this machine did not keep up.
const ATTEMPTS: usize = 4;
const HOSTS: [&str; 2] = ["h1", "h2"];

/// Two captures of the same traffic, and what the lab counted meanwhile.
pub struct LabCapture {
    place: Place,
    before: Value,
    after: Value,
}

/// A running lab of two hosts and one link.
struct CaptureLab {
    place: Place,
}

impl LabCapture {
    /// Captures the traffic of clients that run on h1 one after the other; the server is on h2.
    pub fn take(link: &str, clients: &[&str]) -> Self {
        Self::repeated(link, |lab, _| {
            for words in clients {
                let ended = run(&mut lab.on("h1", words), SOON);
                assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
            }
        })
    }

    /// The same with one client, in the middle of whose test the server stops for a while.
    pub fn take_with_a_pause(link: &str, client: &str) -> Self {
        Self::repeated(link, |lab, server| {
            let client = Running::start(&mut lab.on("h1", client));
            server.running.line_with("flow(s)");
            thread::sleep(Duration::from_millis(300));
            server.running.signal("STOP");
            thread::sleep(Duration::from_millis(1000));
            server.running.signal("CONT");
            let ended = client.wait(SOON);
            assert_eq!(ended.code, Some(0), "{ended:?}");
        })
    }

    fn repeated(link: &str, traffic: impl Fn(&CaptureLab, &Serve)) -> Self {
        for _ in 0..ATTEMPTS {
            if let Some(captured) = CaptureLab::up(link).capture(&traffic) {
                return captured;
            }
        }
        panic!("tcpdump or the emulator lost frames {ATTEMPTS} times");
    }

    /// The capture at h1 (0) or h2 (1).
    pub fn file(&self, end: usize) -> PathBuf {
        self.place.at(&format!("{}.pcap", HOSTS[end]))
    }

    /// What the lab counted of the link while the captures were running; `path` leads to a count of its way.
    pub fn counted(&self, way: &str, path: &[&str]) -> u64 {
        let of = |stats: &Value| {
            let way = &stats["links"][0][way];
            let found = path.iter().fold(way, |value, key| &value[*key]);
            // Reasons that did not occur are left out.
            found.as_u64().unwrap_or(0)
        };
        of(&self.after) - of(&self.before)
    }

    pub fn place(&self) -> &Place {
        &self.place
    }
}

impl CaptureLab {
    fn up(link: &str) -> Self {
        let place = Place::of("lab");
        let host = |name| {
            format!(
                r#"{{ name = "{name}", sysctl = {{ "net.ipv6.conf.all.disable_ipv6" = "1" }} }}"#
            )
        };
        let hosts = HOSTS.map(host).join(", ");
        let topology = format!(
            "seed = 7\nhost = [{hosts}]\nlink = [{{ between = [\"h1\", \"h2\"], {link}, segmentation = \"off\" }}]\n"
        );
        let file = place.file("link.toml", &topology);
        let ended = place.says(&format!("up {file} -q"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lab = Self { place };
        // Without ARP the link carries nothing but what the tests send.
        let addresses = HOSTS.map(|host| {
            let ended = run(
                &mut lab.program(host, "cat /sys/class/net/eth0/address"),
                SOON,
            );
            ended.stdout.trim().to_owned()
        });
        for (at, host) in HOSTS.iter().enumerate() {
            let (ip, mac) = (format!("10.0.0.{}", 2 - at), &addresses[1 - at]);
            let words = format!("ip neigh replace {ip} lladdr {mac} dev eth0 nud permanent");
            run(&mut lab.program(host, &words), SOON).done();
        }
        lab
    }

    /// A command line of any program on a host.
    fn program(&self, host: &str, words: &str) -> Command {
        self.place.command(&format!("exec {host} -- {words}"))
    }

    /// A command line of the binary under test on a host.
    fn on(&self, host: &str, words: &str) -> Command {
        self.program(host, &format!("{} {words}", env!("CARGO_BIN_EXE_caudal")))
    }

    fn stats(&self) -> Value {
        self.place.says("stats --json").json()
    }

    /// `None` when frames were lost by what captured them or by the emulator's reading.
    fn capture(self, traffic: &impl Fn(&Self, &Serve)) -> Option<LabCapture> {
        let server = Serve::of(&mut self.on("h2", "serve"));
        let captures = HOSTS.map(|host| {
            let file = self.place.at(&format!("{host}.pcap"));
            TcpdumpCapture::start(self.program(host, "tcpdump"), "eth0", 128, file)
        });
        let before = self.stats();
        traffic(&self, &server);
        for host in HOSTS {
            eventually("a connection does not end", || !self.has_connections(host));
        }
        eventually("the link holds frames", || {
            let link = &self.stats()["links"][0];
            ["forward", "backward"]
                .iter()
                .all(|way| link[way]["held"]["frames"] == 0)
        });
        // What was delivered last is yet to be written.
        thread::sleep(Duration::from_millis(200));
        let after = self.stats();
        let are_complete = captures.map(TcpdumpCapture::end);
        let unread = &after["emulator"]["whole"]["unread"];
        (are_complete == [true; 2] && unread == 0).then(|| LabCapture {
            place: self.place,
            before,
            after,
        })
    }

    /// `true` while a connection may still send.
    fn has_connections(&self, host: &str) -> bool {
        let ended = run(&mut self.program(host, "ss -Htan"), SOON);
        let over = ["LISTEN", "TIME-WAIT"];
        let state = |line: &str| {
            line.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        ended
            .stdout
            .lines()
            .any(|line| !over.contains(&state(line).as_str()))
    }
}
