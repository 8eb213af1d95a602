//! A lab for the tests of `caudal path`.

use super::place::Place;
use super::reference::{Reference, disagreements};
use super::{Ended, Running, run};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// The time limit of a command: hops at the kernel's default limit are probed three times as long as asked.
const LIMIT: Duration = Duration::from_secs(240);
/// The times that a measurement is made on a machine which stalls, or on which others take the processors.
const TIMES: u32 = 4;

/// Hosts and routers without the kernel's limits on ICMP errors, for which the capacity of hops would take minutes.
const NO_ICMP_LIMITS: &str = "sysctl = { \"net.ipv4.icmp_ratelimit\" = \"0\", \"net.ipv4.icmp_msgs_per_sec\" = \"1000000\", \
    \"net.ipv4.icmp_msgs_burst\" = \"100000\", \"net.ipv6.icmp.ratelimit\" = \"0\" }\n";

/// A lab that stays up until it is dropped.
pub struct PathLab {
    pub place: Place,
    name: String,
}

impl PathLab {
    #[track_caller]
    pub fn up(topology: &str) -> Self {
        let place = Place::of("lab");
        let file = place.file("path.toml", &format!("{NO_ICMP_LIMITS}{topology}"));
        Self::up_in(place, &file)
    }

    /// A preset as it is, with the kernel's limits on ICMP errors.
    #[track_caller]
    pub fn preset(preset: &str) -> Self {
        Self::up_in(Place::of("lab"), preset)
    }

    #[track_caller]
    fn up_in(place: Place, what: &str) -> Self {
        let name = place.path().file_name().unwrap();
        let name = name.to_string_lossy().into_owned();
        place.says(&format!("up {what} --name {name} -q")).done();
        Self { place, name }
    }

    pub fn on(&self, host: &str, words: &str) -> Command {
        let mut command = self
            .place
            .command(&format!("exec --lab {} {host} --", self.name));
        command.args(words.split(' ')).env("CAUDAL_STORE", "none");
        command
    }

    #[track_caller]
    pub fn does(&self, host: &str, words: &str) -> String {
        run(&mut self.on(host, words), LIMIT).done().stdout
    }

    /// Has a host's firewall do something with packets, as nft(8) writes it.
    #[track_caller]
    pub fn rule(&self, host: &str, hook: &str, rule: &str) {
        self.does(host, "nft add table inet t");
        self.does(
            host,
            &format!("nft add chain inet t on-{hook} {{ type filter hook {hook} priority 0 ; }}"),
        );
        self.does(host, &format!("nft add rule inet t on-{hook} {rule}"));
    }

    /// Starts a server on h2 with these flags.
    #[track_caller]
    pub fn serve(&self, flags: &str) -> Running {
        let words = format!("{} serve {flags}", env!("CARGO_BIN_EXE_caudal"));
        let server = Running::start(&mut self.on("h2", words.trim_end()));
        server.line_with("listening on ");
        server
    }

    /// Interrupts a command that runs in this lab as ^C does: `lab exec` passes no signal on.
    pub fn interrupt(&self, running: &Running) {
        let program = Command::new("pkill")
            .args(["-INT", "-P", &running.pid().to_string()])
            .status();
        if !program.is_ok_and(|status| status.success()) {
            running.signal("INT");
        }
    }

    pub fn path(&self, words: &str) -> Ended {
        run(&mut self.path_command(words), LIMIT)
    }

    pub fn path_command(&self, words: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_caudal");
        self.on("h1", &format!("{program} path {words}"))
    }
}

/// Fails where a run is not as docs/reference/json.md says.
#[track_caller]
pub fn is_documented(run: &Value) {
    let words = ["always", "path"];
    let wrong = disagreements(run, &Reference::read("json.md").expand("run"), &words, &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Measures until a measurement is as it should be, some times at most: a machine that stalls delays answers.
pub fn measured(holds: impl Fn() -> Result<(), String>) {
    let mut last = String::new();
    for _ in 0..TIMES {
        match holds() {
            Ok(()) => return,
            Err(reason) => {
                println!("once more, as {reason}");
                last = reason;
            }
        }
    }
    panic!("{last}");
}
