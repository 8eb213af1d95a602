//! Two network namespaces with a link between them, built and torn down.

use super::{Ended, Running, Serve, caudal, run, uninstalled};
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The server's address in its namespace.
pub const SERVER: &str = "10.77.0.2";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// What stands in the way of namespaces with `programs` in them; `None` for nothing.
pub fn missing(programs: &[&str]) -> Option<String> {
    let mut needed = ["ip"].iter().chain(programs);
    if let Some(missing) = needed.find_map(|program| uninstalled(program)) {
        return Some(missing);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // CAP_SYS_ADMIN is bit 21, linux/capability.h.
    if effective.is_none_or(|mask| mask & (1 << 21) == 0) {
        return Some("network namespaces take root".to_owned());
    }
    let probe = Command::new("unshare").args(["-n", "true"]).status();
    (!probe.is_ok_and(|status| status.success()))
        .then(|| "this kernel grants no network namespace".to_owned())
}

/// What stands in the way of a link with a rate; `None` for nothing.
pub fn missing_shaper() -> Option<String> {
    missing(&["tc"]).or_else(|| {
        let words = "-n tc qdisc add dev lo root tbf rate 1mbit burst 5000 limit 5000";
        let probe = Command::new("unshare").args(words.split(' ')).output();
        let has = probe.is_ok_and(|probe| probe.status.success());
        (!has).then(|| "this kernel has no token bucket filter".to_owned())
    })
}

/// A client's and a server's namespace, joined by a pair of virtual Ethernet interfaces.
pub struct Network {
    pub client: String,
    pub server: String,
}

impl Network {
    pub fn build() -> Self {
        sweep();
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("caudal-test-{}-{nth}{end}", std::process::id());
        let network = Self {
            client: name("c"),
            server: name("s"),
        };
        for space in [&network.client, &network.server] {
            ip(&format!("netns add {space}"));
            ip(&format!("-n {space} link set lo up"));
        }
        ip(&format!(
            "link add name v0 netns {} type veth peer name v0 netns {}",
            network.client, network.server
        ));
        for (space, address) in [(&network.client, "10.77.0.1"), (&network.server, SERVER)] {
            // Nothing but the test is to speak in there: no address is detected or announced.
            let quiet = "net.ipv6.conf.v0.disable_ipv6=1";
            let _ = inside(space, "sysctl").args(["-q", "-w", quiet]).status();
            ip(&format!("-n {space} addr add {address}/24 dev v0"));
            ip(&format!("-n {space} link set v0 up"));
        }
        network
    }

    /// Gives the link a rate in both directions: frame by frame, counted as on an Ethernet wire.
    pub fn shape(&self, rate: &str) {
        for space in [&self.client, &self.server] {
            // The kernel is not to hand over several segments as one frame.
            ip(&format!("-n {space} link set v0 gso_max_segs 1"));
            let words = format!(
                "qdisc add dev v0 root stab overhead 24 mpu 84 tbf rate {rate} burst 3200 limit 60000"
            );
            let added = inside(space, "tc").args(words.split(' ')).output().unwrap();
            assert!(
                added.status.success(),
                "{}",
                String::from_utf8_lossy(&added.stderr)
            );
        }
    }

    /// Starts a server in its namespace.
    pub fn serve(&self, words: &str) -> Serve {
        let mut command = inside(&self.server, env!("CARGO_BIN_EXE_caudal"));
        command
            .args(["serve", "-p", "5201"])
            .args(words.split_whitespace());
        Serve::of(&mut command)
    }

    /// A client's command line in its namespace, with these words after the address.
    pub fn client(&self, words: &str) -> Command {
        let mut words = words.split_whitespace();
        let mut command = inside(&self.client, env!("CARGO_BIN_EXE_caudal"));
        command.args(words.next()).arg(SERVER).args(words);
        command
    }

    #[track_caller]
    pub fn run_client(&self, words: &str) -> Ended {
        run(&mut self.client(words), Duration::from_secs(60))
    }

    /// Reads a counter of `/proc/net/snmp` in one of the namespaces.
    pub fn snmp(space: &str, group: &str, name: &str) -> u64 {
        let output = inside(space, "cat").arg("/proc/net/snmp").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with(&format!("{group}:")))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let at = lines[0].iter().position(|word| *word == name).unwrap();
        lines[1][at].parse().unwrap()
    }

    /// Adds rules to a chain of nftables that sees what comes into a namespace.
    pub fn rules(space: &str, rules: &[&str]) {
        let mut all = vec![
            "add table inet t".to_owned(),
            "add chain inet t in { type filter hook input priority 0 ; }".to_owned(),
        ];
        all.extend(
            rules
                .iter()
                .map(|rule| format!("add rule inet t in {rule}")),
        );
        for line in all {
            let added = inside(space, "nft").arg(&line).output().unwrap();
            assert!(
                added.status.success(),
                "{line}: {}",
                String::from_utf8_lossy(&added.stderr)
            );
        }
    }

    /// The packets each counting rule of that chain has seen, in order.
    pub fn counted(space: &str) -> Vec<u64> {
        let output = inside(space, "nft")
            .args(["list", "chain", "inet", "t", "in"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .filter_map(|line| {
                line.split("packets ")
                    .nth(1)?
                    .split_whitespace()
                    .next()?
                    .parse()
                    .ok()
            })
            .collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for space in [&self.client, &self.server] {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
    }
}

/// A command line inside a namespace.
pub fn inside(space: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", space, program]);
    command
}

/// Starts a program in a namespace.
pub fn start(space: &str, program: &str, words: &str) -> Running {
    Running::start(inside(space, program).args(words.split_whitespace()))
}

fn ip(words: &str) {
    let done = Command::new("ip")
        .args(words.split_whitespace())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "ip {words}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// Takes away what a test that was killed has left behind.
pub fn sweep() {
    let Ok(spaces) = fs::read_dir("/run/netns") else {
        return;
    };
    for space in spaces.flatten() {
        let name = space.file_name().to_string_lossy().into_owned();
        let owner = name
            .strip_prefix("caudal-test-")
            .and_then(|rest| rest.split('-').next());
        if let Some(owner) = owner
            && !fs::exists(format!("/proc/{owner}")).unwrap_or(true)
        {
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
        }
    }
}

/// The binary under test, outside any namespace: for what needs no network of its own.
pub fn on_loopback(words: &str) -> Ended {
    run(
        &mut caudal(words.split_whitespace()),
        Duration::from_secs(60),
    )
}
