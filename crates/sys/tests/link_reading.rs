//! What is read of the links behind interfaces agrees with ethtool(8) and ip-link(8).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::UdpSocket;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use caudal_sys::interface::{
    Interface, LinkCounterReading, LinkReading, MacCounters, driver_settings, lower_interface,
    set_speed,
};
use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::netlink::DeviceCounters;
use caudal_sys::tap::Tap;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;

/// A test: its name, a kind of interface that it takes, its function.
type Case = (&'static str, &'static str, fn());

fn main() -> ExitCode {
    let cases: [Case; 5] = [
        (
            "a_tap_reports_the_speed_and_duplex_that_it_was_set_to",
            "tun",
            tap,
        ),
        (
            "a_veth_is_known_by_its_kind_whatever_speed_it_reports",
            "veth",
            veth,
        ),
        (
            "the_loopback_interface_is_no_ethernet_interface",
            "tun",
            loopback,
        ),
        ("counters_are_those_that_ip_prints", "veth", counters),
        (
            "a_macvlan_is_stacked_on_the_interface_it_sends_by",
            "macvlan",
            macvlan,
        ),
    ];
    let required = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let trials = cases.into_iter().map(|(name, kind, test)| {
        let trial = Trial::test(name, move || {
            test();
            Ok(())
        });
        match missing(kind) {
            Some(missing) if !required => {
                eprintln!("ignored: {name}: {missing}");
                trial.with_ignored_flag(true)
            }
            _ => trial,
        }
    });
    let trials = trials.collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What stands in the way of interfaces of this kind in a namespace; `None` for nothing.
fn missing(kind: &str) -> Option<String> {
    for program in ["ip", "ethtool"] {
        if Command::new(program).arg("--version").output().is_err() {
            return Some(format!("{program} is not installed"));
        }
    }
    let Ok(namespace) = NetworkNamespace::create() else {
        return Some("network namespaces take root".to_owned());
    };
    let made = namespace.run(|| {
        add(kind, "x0");
        Ok(LinkReading::by_name("x0").is_some())
    });
    (!made.unwrap()).then(|| format!("this kernel has no interfaces of kind {kind}"))
}

/// Adds an interface, as far as the kernel can.
fn add(kind: &str, name: &str) {
    let words = match kind {
        "tun" => format!("tuntap add {name} mode tap"),
        "macvlan" => format!("link add {name} link lower0 type macvlan"),
        kind => format!("link add {name} type {kind}"),
    };
    if kind == "macvlan" {
        add("veth", "lower0");
    }
    let _ = Command::new("ip").args(words.split(' ')).output();
}

/// Calls `work` in a network namespace of its own.
fn in_namespace(work: impl FnOnce() + Send) {
    let namespace = NetworkNamespace::create().unwrap();
    let done = namespace.run(|| {
        work();
        Ok(())
    });
    done.unwrap();
}

/// The standard output of a command in the namespace of the calling thread.
fn output(words: &str) -> String {
    let mut words = words.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The value of a line of ethtool(8), such as `Speed: 100Mb/s`.
fn ethtool(interface: &str, key: &str) -> Option<String> {
    let text = output(&format!("ethtool {interface}"));
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(": "));
    let (_, value) = lines.find(|(found, _)| *found == key)?;
    Some(value.to_owned())
}

/// Holds a reading against the lines of ethtool(8).
fn assert_as_ethtool(link: &LinkReading) {
    let shown = |key| ethtool(&link.name, key);
    let speed = link.settings.speed_mbps.map(|mbps| format!("{mbps}Mb/s"));
    assert_eq!(speed, shown("Speed").filter(|speed| speed != "Unknown!"));
    let duplex = link.settings.is_full_duplex.map(|is_full| match is_full {
        true => "Full",
        false => "Half",
    });
    let shown_duplex = shown("Duplex").filter(|duplex| !duplex.starts_with("Unknown!"));
    assert_eq!(duplex, shown_duplex.as_deref());
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    let autonegotiation = link.settings.is_autonegotiating.map(on);
    assert_eq!(autonegotiation, shown("Auto-negotiation").as_deref());
    let yes = |is_detected: bool| if is_detected { "yes" } else { "no" };
    let detected = link.state.is_detected.map(yes);
    assert_eq!(detected, shown("Link detected").as_deref());
}

/// The first interface in the JSON of ip-link(8).
fn ip_link(interface: &str) -> Value {
    let text = output(&format!("ip -j -d -s -s link show dev {interface}"));
    serde_json::from_str::<Value>(&text).unwrap()[0].clone()
}

fn tap() {
    in_namespace(|| {
        let _tap = Tap::create("tap0").unwrap();
        set_speed("tap0", 100, true).unwrap();
        output("ip link set tap0 up");
        let link = LinkReading::by_name("tap0").unwrap();
        assert_as_ethtool(&link);
        let settings = &link.settings;
        assert_eq!(
            (settings.speed_mbps, settings.is_full_duplex),
            (Some(100), Some(false))
        );
        // There is nothing behind what it was set to.
        assert_eq!(settings.supported, Some(Vec::new()));
        assert_eq!(settings.advertised, Some(Vec::new()));
        assert_eq!(settings.partner, None);
        // Netlink and both generations of ioctls agree.
        assert_eq!(driver_settings("tap0").as_ref(), Some(settings));
        let interface = Interface::by_name("tap0").unwrap();
        assert_eq!(
            (interface.speed_mbps, interface.duplex.as_deref()),
            (Some(100), Some("half"))
        );
        assert_eq!(link.kind.as_deref(), Some("tun"));
        assert_eq!(ip_link("tap0")["linkinfo"]["info_kind"], "tun");
        assert_eq!(link.driver.as_deref(), Some("tun"));
        assert_eq!((link.hardware_type, link.is_wireless), (1, Some(false)));
    });
}

fn veth() {
    in_namespace(|| {
        output("ip link add v0 type veth peer name v1");
        let down = LinkReading::by_name("v0").unwrap();
        assert_as_ethtool(&down);
        assert_eq!(down.state.is_detected, Some(false));
        output("ip link set v0 up");
        output("ip link set v1 up");
        let link = LinkReading::by_name("v0").unwrap();
        assert_as_ethtool(&link);
        assert_eq!(link.state.is_detected, Some(true));
        assert_eq!(link.settings.speed_mbps, Some(10_000));
        assert_eq!(link.kind.as_deref(), Some("veth"));
        assert_eq!(link.driver.as_deref(), Some("veth"));
        assert_eq!(lower_interface("v0"), None);
    });
}

fn loopback() {
    in_namespace(|| {
        output("ip link set lo up");
        let lo = LinkReading::by_name("lo").unwrap();
        assert_as_ethtool(&lo);
        assert_eq!(lo.state.is_detected, Some(true));
        assert_eq!(ip_link("lo")["link_type"], "loopback");
        assert_eq!(lo.hardware_type, 772);
        assert_as_ip("lo");
    });
}

fn macvlan() {
    in_namespace(|| {
        output("ip link add v0 type veth peer name v1");
        output("ip link add m0 link v0 type macvlan");
        assert_eq!(lower_interface("m0").as_deref(), Some("v0"));
        let kind = LinkReading::by_name("m0").unwrap().kind;
        assert_eq!(kind.as_deref(), Some("macvlan"));
        // In another namespace than the interface on which it is stacked, it has none that can be read.
        let other = NetworkNamespace::create().unwrap();
        let mut process = other
            .run(|| Command::new("sleep").arg("60").spawn())
            .unwrap();
        output(&format!("ip link set m0 netns {}", process.id()));
        process.kill().unwrap();
        process.wait().unwrap();
        let there = other.run(|| Ok((LinkReading::by_name("m0").is_some(), lower_interface("m0"))));
        assert_eq!(there.unwrap(), (true, None));
    });
}

fn counters() {
    in_namespace(|| {
        output("ip link add v0 type veth peer name v1");
        output("ip link set v0 up");
        output("ip link set v1 up");
        output("ip addr add 10.0.0.1/24 dev v0");
        output("ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev v0");
        let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
        for _ in 0..100 {
            socket.send_to(&[0; 1000], "10.0.0.9:9").unwrap();
        }
        let sent = assert_as_ip("v0");
        assert!(
            sent.tx_packets >= 100 && sent.tx_bytes >= 104_200,
            "{sent:?}"
        );
        let received = assert_as_ip("v1");
        assert!(received.rx_packets >= 100, "{received:?}");
        assert_as_ip("lo");

        let tap = Tap::create("tap0").unwrap();
        // A device that is down drops what arrives.
        for _ in 0..7 {
            let header = caudal_sys::virtio::VirtioNetHeader::default();
            tap.write(header, [&[0; 60], &[]]).unwrap_err();
        }
        assert_eq!(assert_as_ip("tap0").rx_dropped, 7);
    });
}

/// Holds the counters of an interface against those of ip-link(8), and returns them.
fn assert_as_ip(interface: &str) -> DeviceCounters {
    let read = || LinkCounterReading::by_name(interface).device.unwrap();
    // Packets of the kernel's own may come in between.
    for _ in 0..50 {
        let before = read();
        let ip = ip_link(interface);
        if read() != before {
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        let shown = |way: &str, key: &str| ip["stats64"][way][key].as_u64().unwrap();
        let expected = DeviceCounters {
            rx_packets: shown("rx", "packets"),
            tx_packets: shown("tx", "packets"),
            rx_bytes: shown("rx", "bytes"),
            tx_bytes: shown("tx", "bytes"),
            rx_errors: shown("rx", "errors"),
            tx_errors: shown("tx", "errors"),
            rx_dropped: shown("rx", "dropped"),
            tx_dropped: shown("tx", "dropped"),
            collisions: shown("tx", "collisions"),
            rx_length_errors: shown("rx", "length_errors"),
            rx_crc_errors: shown("rx", "crc_errors"),
            rx_frame_errors: shown("rx", "frame_errors"),
            rx_fifo_errors: shown("rx", "fifo_errors"),
            rx_missed_errors: before.rx_missed_errors,
            tx_aborted_errors: shown("tx", "aborted_errors"),
            tx_carrier_errors: shown("tx", "carrier_errors"),
            tx_window_errors: shown("tx", "window_errors"),
        };
        assert_eq!(before, expected, "{interface}");
        // None of these has a MAC, but a kernel that answers ethtool(8) accepts the request.
        let groups = format!("ethtool -S {interface} --groups eth-mac rmon");
        let mut words = groups.split(' ');
        let ethtool = Command::new(words.next().unwrap()).args(words).output();
        let is_answered = ethtool.unwrap().status.success();
        let mac = LinkCounterReading::by_name(interface).mac;
        assert_eq!(mac, is_answered.then(MacCounters::default), "{interface}");
        return before;
    }
    panic!("the counters of {interface} never stand still");
}
