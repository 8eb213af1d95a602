//! Linux hosts on emulated links: measurements agree with the topology.
//!
//! A measurement in real time is repeated when the emulator reports a stall, and twice where it was in time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use caudal_lab::{Lab, LabIdentity, LabReport, LinkChange, LinkState};
use caudal_link::counters::DropReason;
use caudal_simulate::scenario::{Scenario, SimFlow, Traffic};
use caudal_simulate::simulate;
use caudal_simulate::tcp::TcpSettings;
use caudal_sys::udp;
use caudal_topology::{Preset, Topology, TopologyFile};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

#[path = "../../cli/tests/support/awake.rs"]
mod awake;

use awake::Awake;

/// A test: its name, the programs it needs, its function.
type Case = (&'static str, &'static [&'static str], fn());

/// Labs of 10 Mbit/s at once: their emulators leave the processors idle most of the time.
const SLOW_AT_ONCE: usize = 3;

/// Tests over links of 10 Mbit/s, and those that measure no rate; the longest first.
const SLOW: [Case; 13] = [
    (
        "tcp_beside_3_mbit_of_udp_gets_the_rest",
        &["iperf3"],
        || beside_udp("3M", 6.46),
    ),
    (
        "tcp_beside_6_mbit_of_udp_gets_the_rest",
        &["iperf3"],
        || beside_udp("6M", 3.51),
    ),
    (
        "the_simulation_predicts_reno_at_a_full_queue",
        &["iperf3"],
        || simulated(&bottleneck("reno")),
    ),
    (
        "the_simulation_predicts_cubic_at_a_full_queue",
        &["iperf3"],
        || simulated(&bottleneck("cubic")),
    ),
    ("the_simulation_predicts_half_duplex", &["iperf3"], || {
        simulated(&star(", duplex = \"half\"", "", ""));
    }),
    (
        "counters_agree_with_the_kernels_and_with_captures_to_the_frame",
        &["iperf3", "tcpdump"],
        counts,
    ),
    ("tcp_goodput_is_10_mbit_less_headers", &["iperf3"], || {
        tcp_goodput("10M", 9.415, 0.007);
    }),
    (
        "two_flows_into_one_output_lose_the_excess",
        &["iperf3"],
        overload,
    ),
    (
        "half_duplex_collides_and_its_counters_explain_the_goodput",
        &["iperf3"],
        half_duplex,
    ),
    ("udp_goodput_is_10_mbit_less_headers", &["iperf3"], || {
        udp_goodput("10M", "12M", 9.571, 0.007);
    }),
    ("a_link_is_changed_while_it_is_up", &["ping"], changes),
    (
        "packets_of_several_frames_arrive_intact_and_are_counted_as_frames",
        &["iperf3"],
        segmentation,
    ),
    (
        "hosts_resolve_one_another_and_show_their_settings",
        &["ethtool", "getent"],
        identity,
    ),
];

/// Tests that need the machine to themselves.
const ALONE: [Case; 7] = [
    ("tcp_goodput_is_100_mbit_less_headers", &["iperf3"], || {
        tcp_goodput("100M", 94.15, 0.015);
    }),
    ("udp_goodput_is_100_mbit_less_headers", &["iperf3"], || {
        udp_goodput("100M", "120M", 95.71, 0.015);
    }),
    (
        "a_round_trip_is_the_sum_of_delays_and_serialisation_times",
        &["ping"],
        round_trip,
    ),
    ("pchar_measures_the_rates_of_links", &["pchar"], pchar),
    ("a_policer_passes_its_rate", &["iperf3"], policer),
    (
        "flows_are_spread_over_equal_paths",
        &["iperf3"],
        equal_paths,
    ),
    (
        "forty_links_come_up_and_leave_nothing_behind",
        &["ip", "ping"],
        forty_links,
    ),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(SLOW_AT_ONCE);
    let awake = Awake::keep();
    let slow = libtest_mimic::run(&arguments, trials(&SLOW));
    drop(awake);
    arguments.test_threads = Some(1);
    let alone = libtest_mimic::run(&arguments, trials(&ALONE));
    if slow.has_failed() {
        slow.exit_code()
    } else {
        alone.exit_code()
    }
}

fn trials(cases: &[Case]) -> Vec<Trial> {
    let trial = |&(name, programs, test): &Case| {
        let missing = missing(programs);
        let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
        let trial = Trial::test(name, {
            let missing = missing.clone();
            move || match missing {
                Some(missing) => Err(Failed::from(missing)),
                None => {
                    test();
                    Ok(())
                }
            }
        });
        if let Some(missing) = &missing
            && !required
        {
            eprintln!("{name} is ignored: {missing}");
        }
        trial.with_ignored_flag(missing.is_some() && !required)
    };
    cases.iter().map(trial).collect()
}

/// The reason why a test cannot run; `None` when it can.
fn missing(programs: &[&str]) -> Option<String> {
    let paths = std::env::var("PATH").unwrap_or_default();
    let is_there = |program: &str| {
        let all = paths.split(':').chain(["/usr/sbin", "/sbin"]);
        all.into_iter()
            .any(|path| PathBuf::from(path).join(program).is_file())
    };
    if let Some(program) = programs.iter().find(|program| !is_there(program)) {
        return Some(format!("{program} is not installed"));
    }
    caudal_sys::namespace::NetworkNamespace::create()
        .err()
        .map(|error| format!("network namespaces cannot be created: {error}"))
}

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// A lab in a directory of its own.
struct TestLab {
    inner: Lab,
    directory: PathBuf,
}

impl TestLab {
    fn from_text(text: &str) -> Self {
        let file: TopologyFile = toml::from_str(text).unwrap();
        Self::from_file(&file)
    }

    fn from_file(file: &TopologyFile) -> Self {
        let topology = Topology::resolve(file).unwrap();
        let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let id = format!("test-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(format!("caudal-lab-{id}"));
        fs::create_dir_all(&directory).unwrap();
        let identity = LabIdentity {
            name: "test",
            id: &id,
            directory: &directory,
        };
        let lab = Lab::build(&topology, &identity).unwrap();
        Self {
            inner: lab,
            directory,
        }
    }

    fn command(&self, host: &str, command_line: &str) -> Command {
        let mut arguments = command_line.split_whitespace();
        let program = arguments.next().unwrap();
        let mut command = self.inner.command(host, program).unwrap();
        command.args(arguments);
        command
    }

    fn run(&self, host: &str, command_line: &str) -> String {
        let output: Output = self.command(host, command_line).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{command_line} on {host}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    fn start(&self, host: &str, command_line: &str) -> Background {
        let mut command = self.command(host, command_line);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Background(child.unwrap())
    }

    /// Starts an iperf3 server and waits until it listens.
    fn iperf3_server(&self, host: &str, port: u16) -> Background {
        let server = self.start(host, &format!("iperf3 -s -p {port}"));
        for _ in 0..200 {
            let listening = self.run(host, "cat /proc/net/tcp6 /proc/net/tcp");
            if listening.contains(&format!(":{port:04X} ")) {
                return server;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("iperf3 does not listen on {host}");
    }

    fn report(&self) -> LabReport {
        self.inner.report().unwrap()
    }
}

impl Drop for TestLab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A program in the background, killed when this is dropped.
struct Background(Child);

impl Background {
    /// Waits for its end; gives its output.
    fn finish(mut self) -> String {
        let mut text = String::new();
        let stdout = self.0.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut { stdout }, &mut text).unwrap();
        self.0.wait().unwrap();
        text
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats a failed measurement while the emulator reports stalls, and at most twice where it was in time, because the
/// scheduler may delay the programs that measure as well.
fn measure(topology: &str, measurement: impl Fn(&TestLab) -> Result<(), String>) {
    const MAX_ATTEMPTS: usize = 8;
    const MAX_IN_TIME: usize = 3;
    let mut last = String::new();
    let mut in_time = 0;
    for attempt in 1..=MAX_ATTEMPTS {
        let lab = TestLab::from_text(topology);
        lab.inner.mark();
        let result = measurement(&lab);
        let emulator = lab.report().emulator.unwrap();
        let Err(problem) = result else { return };
        in_time += usize::from(!emulator.run.must_repeat);
        last = format!("{problem} ({:?})", emulator.run);
        assert!(
            in_time < MAX_IN_TIME,
            "in {MAX_IN_TIME} attempts, the last: {last}"
        );
        eprintln!("attempt {attempt} of {MAX_ATTEMPTS}: {last}");
    }
    panic!("the emulator stalled in most of {MAX_ATTEMPTS} attempts: {last}");
}

fn within(what: &str, value: f64, expected: f64, part: f64) -> Result<(), String> {
    if (value - expected).abs() <= expected * part {
        return Ok(());
    }
    Err(format!(
        "{what} is {value:.3}, not {expected} within {:.1} %",
        part * 100.0
    ))
}

fn between(what: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!("{what} is {value:.3}, not {low} to {high}"))
}

fn pair(keys: &str) -> String {
    format!(
        "congestion = \"cubic\"\nhost = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\nlink = [{{ between = [\"h1\", \"h2\"], {keys} }}]"
    )
}

fn star(first: &str, others: &str, last: &str) -> String {
    format!(
        "congestion = \"cubic\"\nhost = [{{ name = \"h1\" }}, {{ name = \"h2\" }}, {{ name = \"h3\" }}]\nswitch = [{{ name = \"s1\" }}]\nlink = [{{ between = [\"h1\", \"s1\"], rate = \"10M\" {first} }}, {{ between = [\"h2\", \"s1\"], rate = \"10M\" {others} }}, {{ between = [\"h3\", \"s1\"], rate = \"10M\" {last} }}]"
    )
}

fn link<'a>(report: &'a LabReport, name: &str) -> &'a LinkState {
    report.links.iter().find(|link| link.name == name).unwrap()
}

/// The rate at the receiver of an iperf3 client in Mbit/s.
fn received(json: &str) -> f64 {
    let value: Value = serde_json::from_str(json).unwrap();
    let end = &value["end"];
    assert!(value["error"].is_null(), "{}", value["error"]);
    end["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6
}

fn tcp_goodput(rate: &str, expected: f64, part: f64) {
    measure(&pair(&format!("rate = \"{rate}\"")), |lab| {
        let _server = lab.iperf3_server("h2", 5201);
        let json = lab.run("h1", "iperf3 -4 -c h2 -t 5 -O 2 -J");
        within("TCP goodput", received(&json), expected, part)
    });
}

fn udp_goodput(rate: &str, offered: &str, expected: f64, part: f64) {
    measure(&pair(&format!("rate = \"{rate}\"")), |lab| {
        let _server = lab.iperf3_server("h2", 5201);
        let command_line = format!("iperf3 -4 -u -b {offered} -l 1472 -c h2 -t 5 -J");
        let json = lab.run("h1", &command_line);
        within("UDP goodput", received(&json), expected, part)
    });
}

fn round_trip() {
    // Each way: packet, header, check sequence and preamble at 100 ns per bit, and 5 ms.
    let expected = |packet: f64| 2.0 * ((packet + 14.0 + 4.0 + 8.0) * 8.0 * 1e-4 + 5.0);
    measure(&pair("rate = \"10M\", delay = \"5ms\""), |lab| {
        for (payload, packet) in [(56, 84.0), (1472, 1500.0)] {
            let text = lab.run("h1", &format!("ping -4 -q -c 20 -i 0.05 -s {payload} h2"));
            let min = text
                .split("mdev = ")
                .nth(1)
                .unwrap()
                .split('/')
                .next()
                .unwrap();
            let min: f64 = min.parse().unwrap();
            between(
                "the minimum RTT",
                min,
                expected(packet),
                expected(packet) + 0.3,
            )?;
        }
        Ok(())
    });
}

fn overload() {
    let queue = ", queue = { frames = 20 }";
    measure(&star("", "", queue), |lab| {
        let servers = [5201, 5202].map(|port| lab.iperf3_server("h3", port));
        let command_line = |port| format!("iperf3 -4 -u -b 8M -l 1472 -c h3 -p {port} -t 6 -J");
        let one = lab.start("h1", &command_line(5201));
        let other = lab.start("h2", &command_line(5202));
        let counts = [one.finish(), other.finish()].map(|json| {
            let value: Value = serde_json::from_str(&json).unwrap();
            let sum = &value["end"]["sum"];
            (
                sum["lost_packets"].as_f64().unwrap(),
                sum["packets"].as_f64().unwrap(),
            )
        });
        drop(servers);
        let lost = (counts[0].0 + counts[1].0) / (counts[0].1 + counts[1].1) * 100.0;
        let report = lab.report();
        let last = &link(&report, "h3-s1").backward;
        let dropped = last.dropped();
        // Every datagram that iperf3 misses was dropped by the switch, or by a socket that was not read in time. iperf3 does
        // not know of drops after the last datagram it received.
        let unread = receive_buffer_errors(&lab.run("h3", "cat /proc/net/snmp"));
        let missed = counts[0].0 + counts[1].0;
        let unseen = dropped as f64 + unread - missed;
        between("drops that iperf3 did not see", unseen, 0.0, 40.0)?;
        if unread > 20.0 {
            return Err(format!(
                "{unread} datagrams were dropped at a socket: {lost} % lost"
            ));
        }
        between("the loss in percent", lost, 39.2, 41.2)
    });
}

/// The datagrams dropped at sockets with a full buffer, from `/proc/net/snmp`.
fn receive_buffer_errors(snmp: &str) -> f64 {
    let lines: Vec<Vec<&str>> = snmp
        .lines()
        .filter(|line| line.starts_with("Udp:"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let at = lines[0]
        .iter()
        .position(|name| *name == "RcvbufErrors")
        .unwrap();
    lines[1][at].parse().unwrap()
}

fn beside_udp(rate: &str, expected: f64) {
    measure(&star("", "", ""), |lab| {
        let _servers = [5201, 5202].map(|port| lab.iperf3_server("h3", port));
        let udp = format!("iperf3 -4 -u -b {rate} -l 1472 -c h3 -p 5201 -t 14");
        let udp = lab.start("h1", &udp);
        thread::sleep(Duration::from_millis(300));
        let json = lab.run("h2", "iperf3 -4 -c h3 -p 5202 -t 8 -O 3 -J");
        udp.finish();
        within("TCP goodput", received(&json), expected, 0.03)
    });
}

fn half_duplex() {
    measure(&star(", duplex = \"half\"", "", ""), |lab| {
        let _server = lab.iperf3_server("h2", 5201);
        let json = lab.run("h1", "iperf3 -4 -c h2 -t 5 -O 1 -J");
        let report = lab.report();
        let shared = link(&report, "h1-s1");
        let (host, switch) = (&shared.forward, &shared.backward);
        let [at_host, at_switch] = [host, switch].map(|it| it.collisions().unwrap());
        // Both ends count every collision, and none is late on a short cable.
        if at_host.all == 0 || at_host.all != at_switch.all {
            return Err(format!("collisions: {} and {}", at_host.all, at_switch.all));
        }
        assert_eq!((at_host.late, at_switch.late), (0, 0));
        for direction in [host, switch] {
            assert_eq!(
                direction.offered(),
                direction.delivered().frames + direction.dropped() + direction.held()
            );
        }
        between("half-duplex goodput", received(&json), 6.0, 9.1)
    });
}

fn pchar() {
    // pchar sends more probes a second than the kernel answers by default.
    let line = r#"
        sysctl = { "net.ipv4.icmp_ratelimit" = "0", "net.ipv4.icmp_msgs_per_sec" = "1000000", "net.ipv4.icmp_msgs_burst" = "100000" }
        host = [{ name = "h1" }, { name = "h2" }]
        router = [{ name = "r1" }, { name = "r2" }]
        link = [
          { between = ["h1", "r1"], rate = "100M" },
          { between = ["r1", "r2"], rate = "10M" },
          { between = ["r2", "h2"], rate = "50M" },
        ]
    "#;
    measure(line, |lab| {
        let target = lab.inner.topology().node("h2").unwrap();
        let target = lab.inner.topology().addresses_of(target)[0];
        // Half of its default sizes and twice its repetitions, without its quarter of a second between probes.
        let command_line = format!("pchar -n -g 0.001 -R 64 -I 64 -t 1 {target}");
        let text = lab.run("h1", &command_line);
        let capacity = |line: &str| -> Option<f64> {
            let value = line
                .trim()
                .strip_prefix("Hop char:")?
                .split("bw = ")
                .nth(1)?;
            value.split_whitespace().next()?.parse().ok()
        };
        let found: Vec<f64> = text
            .lines()
            .filter_map(capacity)
            .map(|kbit| kbit / 1e3)
            .collect();
        let [first, second, third] = found[..] else {
            return Err(format!("pchar printed {text}"));
        };
        within("the first link", first, 100.0, 0.1)?;
        within("the second link", second, 10.0, 0.1)?;
        within("the third link", third, 50.0, 0.1)
    });
}

fn policer() {
    let file = Preset::by_name("policed").unwrap().file(None).unwrap();
    measure(&toml::to_string(&file).unwrap(), |lab| {
        let _server = lab.iperf3_server("h2", 5201);
        let json = lab.run("h1", "iperf3 -4 -u -b 94.5M -l 1472 -c h2 -t 5 -J");
        let value: Value = serde_json::from_str(&json).unwrap();
        let loss = value["end"]["sum"]["lost_percent"].as_f64().unwrap();
        let report = lab.report();
        let dropped = link(&report, "h1-r1").forward.dropped_by_reason();
        let is_policed = |(reason, _): &(DropReason, u64)| *reason == DropReason::Policed;
        assert!(dropped.iter().any(is_policed));
        between(
            "the rate that a 15 Mbit/s policer passes",
            received(&json),
            14.2,
            15.0,
        )?;
        between("the loss in percent", loss, 84.0, 86.0)
    });
}

/// A link of 10 Mbit/s with a round-trip time of 20 ms and a queue of one bandwidth-delay product.
fn bottleneck(congestion: &str) -> String {
    let keys = "rate = \"10M\", delay = \"10ms\", queue = { bytes = 25000 }";
    pair(keys).replace("cubic", congestion)
}

/// Checks that the goodput of Linux from h1 to h2 is within 5 % of the simulated one.
fn simulated(text: &str) {
    const OMITTED: usize = 2;
    let file: TopologyFile = toml::from_str(text).unwrap();
    let topology = Topology::resolve(&file).unwrap();
    let settings = TcpSettings::between(&topology, "h1", "h2").unwrap();
    let flow = SimFlow::between("h1", "h2", Traffic::tcp(settings));
    let scenario = Scenario::new(vec![flow], Duration::from_secs(10));
    let result = simulate(&topology, &scenario).unwrap();
    let intervals = &result.flows[0].intervals[OMITTED..];
    let simulated = intervals
        .iter()
        .map(|interval| interval.goodput.as_f64())
        .sum::<f64>();
    let simulated = simulated / intervals.len() as f64 / 1e6;
    measure(text, |lab| {
        let _server = lab.iperf3_server("h2", 5201);
        let command_line = format!("iperf3 -4 -c h2 -t 8 -O {OMITTED} -J");
        let json = lab.run("h1", &command_line);
        within("TCP goodput", received(&json), simulated, 0.05)
    });
}

/// The number of packets in the capture file `path`.
fn captured(path: &PathBuf) -> u64 {
    const HEADER: usize = 24;
    let bytes = fs::read(path).unwrap();
    let (mut at, mut packets) = (HEADER, 0);
    while let Some(length) = bytes.get(at + 8..at + 12) {
        at += 16 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        packets += 1;
    }
    packets
}

fn counts() {
    // Kernel and captures count packets: single frames, so that these are the same.
    let text = pair(
        "rate = \"10M\", delay = \"2ms\", loss = \"3%\", queue = { frames = 30 }, segmentation = \"off\"",
    );
    let lab = TestLab::from_text(&text);
    let files = ["h1", "h2"].map(|host| lab.directory.join(format!("{host}.pcap")));
    let captures = ["h1", "h2"].map(|host| {
        let file = files[usize::from(host == "h2")].display().to_string();
        let command_line =
            format!("tcpdump -i eth0 -s 64 -B 8192 --immediate-mode -U -Z root -w {file}");
        lab.start(host, &command_line)
    });
    let ready = |file: &PathBuf| fs::metadata(file).is_ok_and(|metadata| metadata.len() >= 24);
    while !files.iter().all(ready) {
        thread::sleep(Duration::from_millis(20));
    }
    // tcpdump opens its socket before it creates the file, so packets that hosts send of their own accord may have been
    // captured already. Captures and counters are compared from when no more packets come.
    let (before, start) = wait_until_quiet(&lab, &files);
    let server = lab.iperf3_server("h2", 5201);
    lab.run("h1", "iperf3 -4 -u -b 11M -l 1472 -c h2 -t 3");
    lab.run("h1", "iperf3 -4 -c h2 -t 3");
    drop(server);
    // Packets in flight arrive, and hosts send nothing once neighbours have been confirmed.
    let mut end = lab.report();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(200));
        let now = lab.report();
        let sent = |report: &LabReport| {
            report
                .nodes
                .iter()
                .map(|node| node.interfaces[0].tx_packets)
                .sum::<u64>()
        };
        let is_quiet = sent(&now) == sent(&end);
        end = now;
        if is_quiet && captures_match(&files, before, &start, &end) {
            break;
        }
    }
    drop(captures);
    let kernel = |report: &LabReport, host: usize| {
        let interface = &report.nodes[host].interfaces[0];
        (
            interface.tx_packets,
            interface.rx_packets,
            interface.tx_dropped,
            interface.rx_dropped,
        )
    };
    let link = &end.links[0];
    let ((tx1, rx1, ..), (tx2, rx2, ..)) = (kernel(&end, 0), kernel(&end, 1));
    assert_eq!(
        (link.forward.offered(), link.backward.offered()),
        (tx1, tx2)
    );
    assert_eq!(
        (
            link.forward.delivered().frames,
            link.backward.delivered().frames
        ),
        (rx2, rx1)
    );
    assert!(
        link.forward.dropped_by_reason().len() == 2,
        "{:?}",
        link.forward.dropped_by_reason()
    );
    let dropped = link.forward.dropped();
    assert_eq!(
        link.forward.offered() - link.forward.delivered().frames,
        dropped
    );
    let seen = files.each_ref().map(captured);
    let during = |host| before[host] + counted(&end, host) - counted(&start, host);
    assert_eq!(seen, [during(0), during(1)]);
}

/// The number of packets that a host's interface sent and received.
fn counted(report: &LabReport, host: usize) -> u64 {
    let interface = &report.nodes[host].interfaces[0];
    interface.tx_packets + interface.rx_packets
}

/// The numbers of captured packets and the report once neither changes any more.
fn wait_until_quiet(lab: &TestLab, files: &[PathBuf; 2]) -> ([u64; 2], LabReport) {
    let read = || (files.each_ref().map(captured), lab.report());
    let mut last = read();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(300));
        let now = read();
        let is_quiet = |host| counted(&now.1, host) == counted(&last.1, host);
        if now.0 == last.0 && is_quiet(0) && is_quiet(1) {
            return now;
        }
        last = now;
    }
    panic!("idle hosts keep sending: {:?}", last.0)
}

fn captures_match(
    files: &[PathBuf; 2],
    before: [u64; 2],
    start: &LabReport,
    end: &LabReport,
) -> bool {
    files.iter().enumerate().all(|(host, file)| {
        captured(file) - before[host] == counted(end, host) - counted(start, host)
    })
}

fn identity() {
    let text = r#"
        congestion = "cubic"
        host = [{ name = "h1", congestion = "reno" }, { name = "h2", sysctl = { "net.ipv4.tcp_rmem" = "4096 65536 65536" } }]
        switch = [{ name = "s1" }]
        link = [
          { between = ["h1", "s1"], rate = "10M", duplex = "half" },
          { between = ["h2", "s1"], rate = "100M", devices = ["wan0", "x"] },
        ]
    "#;
    let list = || fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
    let allowed = list();
    let lab = TestLab::from_text(text);
    assert_eq!(list(), allowed);
    assert!(lab.run("h1", "getent hosts h2").contains("h2"));
    assert!(
        lab.run("h1", "getent ahostsv4 h2-wan0")
            .contains("10.0.0.2")
    );
    assert_eq!(lab.run("h2", "hostname").trim(), "h2");
    let half = lab.run("h1", "ethtool eth0");
    assert!(
        half.contains("Speed: 10Mb/s") && half.contains("Duplex: Half"),
        "{half}"
    );
    let full = lab.run("h2", "ethtool wan0");
    assert!(
        full.contains("Speed: 100Mb/s") && full.contains("Duplex: Full"),
        "{full}"
    );
    let offloads = lab.run("h1", "ethtool -k eth0");
    for name in [
        "tcp-segmentation-offload",
        "generic-segmentation-offload",
        "generic-receive-offload",
    ] {
        assert!(offloads.contains(&format!("{name}: off")), "{offloads}");
    }
    assert_eq!(lab.run("h2", "cat /sys/class/net/wan0/speed").trim(), "100");
    assert_eq!(
        lab.run("h2", "cat /proc/sys/net/ipv4/tcp_rmem").trim(),
        "4096\t65536\t65536"
    );
    let control = lab.run("h1", "cat /proc/sys/net/ipv4/tcp_congestion_control");
    assert_eq!(control.trim(), "reno");
    let control = lab.run("h2", "cat /proc/sys/net/ipv4/tcp_congestion_control");
    assert_eq!(control.trim(), "cubic");
    lab.run("h1", "ping -4 -c 1 h2");
    lab.run("h1", "ping -6 -c 1 h2");
}

fn equal_paths() {
    let file = Preset::by_name("two-paths").unwrap().file(None).unwrap();
    let lab = TestLab::from_file(&file);
    let _server = lab.iperf3_server("h2", 5201);
    lab.run("h1", "iperf3 -4 -c h2 -P 16 -n 3M");
    let report = lab.report();
    for name in ["upper", "lower"] {
        assert!(
            link(&report, name).forward.delivered().bytes > 100_000,
            "{name}"
        );
    }
}

fn changes() {
    let topology = pair("rate = \"100M\", delay = \"1ms\"");
    measure(&topology, |_| Ok(()));
    let mut lab = TestLab::from_text(&topology);
    let change = LinkChange {
        link: "h1-h2".to_owned(),
        end: Some(0),
        rate_bps: Some(1_000_000),
        delay_ns: Some(20_000_000),
        loss: Some(0.0),
        segmentation: None,
    };
    lab.inner.set(&change).unwrap();
    let text = lab.run("h1", "ping -4 -q -c 5 -i 0.2 -s 1472 h2");
    let min = text
        .split("mdev = ")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let min: f64 = min.parse().unwrap();
    // 12.2 ms at 1 Mbit/s and 20 ms there, 0.1 ms and 1 ms back; no upper bound, as nothing is timed here.
    assert!(min >= 33.3, "{min}");
    let report = lab.report();
    assert_eq!(report.links[0].forward.rate_bps, Some(1_000_000));
    assert_eq!(report.links[0].backward.rate_bps, Some(100_000_000));
    let all_lost = LinkChange {
        loss: Some(1.0),
        rate_bps: None,
        delay_ns: None,
        ..change.clone()
    };
    lab.inner.set(&all_lost).unwrap();
    let output = lab
        .command("h1", "ping -4 -q -c 2 -W 1 h2")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let unknown_link = LinkChange {
        link: "h1-h9".to_owned(),
        ..change
    };
    let refused = lab.inner.set(&unknown_link).unwrap_err().to_string();
    assert_eq!(refused, "there is no link \"h1-h9\"; choose one of h1-h2");
}

/// The packets of UDP and TCP that a host dropped because their checksum was wrong.
fn checksum_errors(lab: &TestLab, host: &str) -> u64 {
    let text = lab.run(host, "cat /proc/net/snmp /proc/net/snmp6");
    let mut errors = 0;
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for pair in lines.windows(2) {
        let [names, values] = pair else { continue };
        if names.len() == values.len() && names[0] == values[0] && names[0].ends_with(':') {
            let columns = names
                .iter()
                .zip(values)
                .filter(|(name, _)| **name == "InCsumErrors");
            errors += columns
                .map(|(_, value)| value.parse().unwrap_or(0))
                .sum::<u64>();
        }
        if names[0] == "Udp6InCsumErrors" {
            errors += names[1].parse::<u64>().unwrap();
        }
    }
    errors
}

fn segmentation() {
    // The router's kernel segments in software what was delivered to it as one, and h2's kernel checks every single frame.
    let text = r#"
        congestion = "cubic"
        host = [{ name = "h1" }, { name = "h2" }]
        router = [{ name = "r1" }]
        link = [
            { name = "fast", between = ["h1", "r1"], rate = "1G", delay = "1ms", loss = "0.1%", duplicate = "0.1%" },
            { name = "last", between = ["r1", "h2"], driver = "emulated", segmentation = "off", mtu = 1400 },
        ]"#;
    let lab = TestLab::from_text(text);
    let server = lab.iperf3_server("h2", 5201);
    lab.run("h1", "iperf3 -4 -c h2 -n 20M");
    lab.run("h1", "iperf3 -6 -c h2 -n 20M -R");
    drop(server);
    datagrams_arrive_intact(&lab);
    let report = lab.report();
    let emulator = report.emulator.as_ref().unwrap();
    assert!(
        emulator.packets_read < emulator.frames_read
            && emulator.packets_delivered < emulator.frames_delivered,
        "{emulator:?}"
    );
    let [fast, last] = ["fast", "last"].map(|name| link(&report, name));
    assert!(fast.segmentation && !last.segmentation);
    for delivered in [fast.forward.delivered(), last.forward.delivered()] {
        // Thousands of full segments, and none longer than a frame.
        assert!(
            delivered.frames > 8_000 && delivered.bytes <= delivered.frames * 1518,
            "{delivered:?}"
        );
    }
    assert_eq!(checksum_errors(&lab, "h2") + checksum_errors(&lab, "h1"), 0);
    let mut lab = lab;
    let off = LinkChange {
        link: "fast".to_owned(),
        end: None,
        rate_bps: None,
        delay_ns: None,
        loss: None,
        segmentation: Some(false),
    };
    lab.inner.set(&off).unwrap();
    let before = lab.report().emulator.unwrap();
    let server = lab.iperf3_server("h2", 5202);
    lab.run("h1", "iperf3 -4 -p 5202 -c h2 -n 5M");
    drop(server);
    let after = lab.report().emulator.unwrap();
    assert_eq!(
        after.packets_read - before.packets_read,
        after.frames_read - before.frames_read
    );
    let on = LinkChange {
        segmentation: Some(true),
        ..off
    };
    lab.inner.set(&on).unwrap();
    assert!(link(&lab.report(), "fast").segmentation);
    datagrams_arrive_intact(&lab);
}

/// Sends datagrams that a host's interface segments, over either protocol, and reads every one of them.
fn datagrams_arrive_intact(lab: &TestLab) {
    const SEGMENT: usize = 1200;
    let namespace = |wanted: &str| {
        let mut namespaces = lab.inner.namespaces();
        namespaces.find(|(name, _)| *name == wanted).unwrap().1
    };
    for local in ["0.0.0.0:0", "[::]:0"] {
        let [sender, receiver] =
            ["h1", "h2"].map(|host| namespace(host).run(|| UdpSocket::bind(local)).unwrap());
        let port = receiver.local_addr().unwrap().port();
        let node = lab
            .report()
            .nodes
            .into_iter()
            .find(|node| node.name == "h2")
            .unwrap();
        let addresses = node.interfaces[0].addresses.iter();
        let to = addresses
            .map(|address| SocketAddr::new(address.parse().unwrap(), port))
            .find(|address| address.is_ipv4() == local.starts_with('0'))
            .unwrap();
        sender.connect(to).unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let content: Vec<u8> = (0..20).flat_map(|number| vec![number; SEGMENT]).collect();
        let mut seen = [0; 20];
        for _ in 0..10 {
            udp::send_segments(&sender, &content[..content.len() - 7], SEGMENT as u16).unwrap();
            let mut buffer = [0; 2000];
            while let Ok(length) = receiver.recv(&mut buffer) {
                let number = buffer[0];
                let expected = SEGMENT - if number == 19 { 7 } else { 0 };
                assert_eq!(&buffer[..length], &vec![number; expected]);
                seen[usize::from(number)] += 1;
            }
        }
        // One in a thousand is lost, and one arrives twice.
        assert!(seen.iter().all(|times| (7..13).contains(times)), "{seen:?}");
    }
}

fn forty_links() {
    let mut text = String::new();
    for host in 1..=32 {
        text.push_str(&format!("[[host]]\nname = \"h{host}\"\n"));
    }
    for router in 1..=8 {
        text.push_str(&format!("[[router]]\nname = \"r{router}\"\n"));
    }
    for host in 1..=32 {
        let router = host % 8 + 1;
        text.push_str(&format!(
            "[[link]]\nbetween = [\"h{host}\", \"r{router}\"]\nrate = \"10M\"\n"
        ));
    }
    for router in 1..=8 {
        let next = router % 8 + 1;
        text.push_str(&format!(
            "[[link]]\nbetween = [\"r{router}\", \"r{next}\"]\nrate = \"100M\"\n"
        ));
    }
    let lab = TestLab::from_text(&text);
    for host in [2, 17, 32] {
        lab.run("h1", &format!("ping -4 -c 1 h{host}"));
        lab.run("h1", &format!("ping -6 -c 1 h{host}"));
    }
    // A program that outlives its parent process ends with the lab.
    let mut program = lab.command("h5", "setsid -f sleep 1000");
    program.stdout(Stdio::null()).stderr(Stdio::null());
    assert!(program.status().unwrap().success());
    let strays = || {
        let own = fs::metadata("/proc/self/ns/net").unwrap();
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        entries
            .filter(|entry| {
                fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x001000\0")
            })
            .filter(|entry| {
                use std::os::unix::fs::MetadataExt;
                fs::metadata(entry.path().join("ns/net")).is_ok_and(|ns| ns.ino() != own.ino())
            })
            .count()
    };
    // It starts asynchronously.
    for _ in 0..500 {
        if strays() > 0 {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(strays(), 1);
    let hosts_file = lab.inner.hosts_file().to_owned();
    drop(lab);
    assert_eq!(strays(), 0);
    assert!(!hosts_file.exists());
}
