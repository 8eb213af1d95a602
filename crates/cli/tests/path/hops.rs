//! `caudal path` over networks of the lab, whose links are known, and beside the tools that people use for it.

use crate::support::network::missing;
use crate::support::path_lab::{PathLab, is_documented, measured};
use crate::support::{Running, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// The time limit of a command: hops at the kernel's default limit are probed three times as long as asked.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// Capacities of links whose rates are far apart, and of shapers: measured alone.
pub fn capacities() -> Vec<Trial> {
    [
        (
            "what_is_said_of_each_link_agrees_with_it",
            &["chrt"][..],
            serialising as fn(),
        ),
        (
            "a_shaped_chain_is_classed_as_shaped",
            &["tc", "chrt"],
            shaped,
        ),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

/// What leaves the processors idle most of the time.
pub fn trials() -> Vec<Trial> {
    [
        (
            "the_kernel_s_default_limit_on_answers_does_not_bias",
            &[][..],
            limited as fn(),
        ),
        ("a_routing_loop_is_named_by_its_routers", &[], looped),
        (
            "a_link_local_host_is_found_by_its_interface",
            &[],
            link_local,
        ),
        ("a_silent_hop_does_not_hide_the_next", &["nft"], silent_hop),
        ("routes_are_counted", &[], routes),
        (
            "the_path_mtu_is_found_with_and_without_icmp",
            &["nft"],
            path_mtu,
        ),
        (
            "a_firewall_that_answers_for_the_host_is_named",
            &["nft"],
            firewall,
        ),
        ("a_host_that_is_down_is_a_partial_answer", &[], host_down),
        ("a_route_that_changes_is_said", &[], route_change),
        (
            "behind_network_address_translation_all_hops_are_measured",
            &["nft"],
            translated,
        ),
        ("another_way_back_is_said", &[], other_way_back),
        ("a_path_of_ipv6_alone_is_measured", &[], ipv6_alone),
        (
            "an_ordinary_user_measures_as_well",
            &["setpriv"],
            unprivileged,
        ),
        (
            "hops_and_times_are_those_of_traceroute_and_mtr",
            &["traceroute", "mtr"],
            beside_traceroute,
        ),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

/// Hosts h1 and h2 with routers r1 and r2 between them, whose three links have these keys.
pub(super) fn chain(links: [&str; 3], routers: &str) -> String {
    let [first, second, third] = links;
    format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\n\
         router = [{{ name = \"r1\"{routers} }}, {{ name = \"r2\"{routers} }}]\n\
         link = [\n\
           {{ between = [\"h1\", \"r1\"], {first} }},\n\
           {{ between = [\"r1\", \"r2\"], {second} }},\n\
           {{ between = [\"r2\", \"h2\"], {third} }},\n]\n"
    )
}

fn link(run: &Value, ttl: u64) -> &Value {
    let links = run["path"]["links"].as_array().unwrap();
    let found = links.iter().find(|link| link["ttl"] == ttl);
    found.unwrap_or_else(|| panic!("no link to hop {ttl}: {run:#}"))
}

pub(super) fn hops(run: &Value) -> &Vec<Value> {
    run["path"]["hops"].as_array().unwrap()
}

pub(super) fn codes(run: &Value) -> Vec<&str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    warnings.filter_map(|one| one["code"].as_str()).collect()
}

/// The capacity of the link to this hop, Mbit/s.
fn capacity(run: &Value, ttl: u64) -> Result<f64, String> {
    let link = link(run, ttl);
    let mean = link["capacity_bps"]["mean"].as_f64();
    Ok(mean.ok_or_else(|| format!("hop {ttl} has no capacity: {link}"))? / 1e6)
}

/// Whether what is said of the link to this hop agrees with what it is. How near it comes is for a machine whose processors nobody else
/// uses: `bench/path.py` shows it.
fn agrees(run: &Value, ttl: u64, mbps: f64) -> Result<(), String> {
    let found = capacity(run, ttl)?;
    let bound = |key: &str| link(run, ttl)["capacity_bps"][key].as_f64().unwrap() / 1e6;
    let half_width = (bound("high") - bound("low")) / 2.0;
    let is_near = (found / mbps - 1.0).abs() <= 0.2;
    if is_near && bound("low") - half_width <= mbps && mbps <= bound("high") + half_width {
        Ok(())
    } else {
        Err(format!(
            "hop {ttl} has {mbps} Mbit/s, and {found:.3} was measured: {}",
            link(run, ttl)
        ))
    }
}

pub(super) const RATES: [&str; 3] = ["rate = \"100M\"", "rate = \"10M\"", "rate = \"50M\""];

fn serialising() {
    let lab = PathLab::up(&chain(RATES, ""));
    measured(|| {
        let run = lab.path("h2 -t 15s --json").done().json();
        is_documented(&run);
        let cost = &run["path"]["cost"];
        let elapsed = cost["elapsed_s"].as_f64().unwrap();
        assert!(elapsed < 16.0, "{cost}");
        for hop in hops(&run) {
            // Twenty a second, and those of the beginning.
            let probes = hop["probes"].as_f64().unwrap();
            assert!(probes <= 20.0 * elapsed + 10.0, "{hop}");
        }
        assert_eq!(run["path"]["means"]["kernel_timestamps"], true);
        assert_eq!(run["path"]["narrow"]["ttl"], 2);
        assert_eq!(link(&run, 2)["class"], "serialising");
        for (ttl, mbps) in [(1, 100.0), (2, 10.0), (3, 50.0)] {
            agrees(&run, ttl, mbps)?;
        }
        Ok(())
    });
}

fn shaped() {
    let topology = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
        router = [{ name = \"r0\" }, { name = \"r1\" }, { name = \"r2\" }]\n\
        link = [{ between = [\"h1\", \"r0\"] }, { between = [\"r0\", \"r1\"] },\n\
        { between = [\"r1\", \"r2\"] }, { between = [\"r2\", \"h2\"] }]\n";
    let lab = PathLab::up(topology);
    for (router, rate) in [("r0", 20), ("r1", 5), ("r2", 10)] {
        let words =
            format!("tc qdisc replace dev eth1 root tbf rate {rate}mbit burst 1600 latency 50ms");
        lab.does(router, &words);
    }
    measured(|| {
        let run = lab.path("h2 -t 15s --json").done().json();
        for (ttl, mbps) in [(2, 20.0), (3, 5.0)] {
            if link(&run, ttl)["class"] != "shaped" {
                return Err(link(&run, ttl).to_string());
            }
            agrees(&run, ttl, mbps)?;
        }
        // A faster shaper behind it does not show, and that is said with the rate up to there.
        let behind = link(&run, 4);
        let reason = behind["reason"].as_str().unwrap();
        if behind["class"] == "too_fast" && reason.contains("a shaper faster than") {
            Ok(())
        } else {
            Err(behind.to_string())
        }
    });
}

/// The kernel's default limit: one answer a second for each address, six at once.
const LIMITED: &str = ", sysctl = { \"net.ipv4.icmp_ratelimit\" = \"1000\" }";

fn limited() {
    let lab = PathLab::up(&chain(RATES, LIMITED));
    measured(|| {
        let run = lab.path("h2 -4 -t 30s --json").done().json();
        agrees(&run, 2, 10.0)?;
        for hop in &hops(&run)[..2] {
            assert_eq!(hop["answering"], "rate_limited", "{hop}");
            let interval = hop["answer_interval_ms"].as_f64().unwrap();
            if (interval / 1000.0 - 1.0).abs() > 0.15 {
                return Err(hop.to_string());
            }
        }
        assert!(codes(&run).contains(&"hop_rate_limited"));
        let elapsed = run["path"]["cost"]["elapsed_s"].as_f64().unwrap();
        assert!(elapsed < 40.0, "{elapsed}");
        Ok(())
    });
}

fn looped() {
    let lab = PathLab::up(&chain(RATES, LIMITED));
    let r2 = lab.does("r2", "ip -4 -o address show dev eth0");
    let address = |said: &str| {
        let with_length = said.split_whitespace().nth(3).unwrap();
        with_length.split('/').next().unwrap().to_owned()
    };
    let r1 = lab.does("r1", "ip -4 -o address show dev eth1");
    for (router, device, next) in [("r1", "eth1", &r2), ("r2", "eth0", &r1)] {
        let next = address(next);
        let words = format!("ip route add 198.51.100.0/24 via {next} dev {device}");
        lab.does(router, &words);
    }
    let r0 = address(&lab.does("r1", "ip -4 -o address show dev eth0"));
    lab.does(
        "h1",
        &format!("ip route replace 198.51.100.0/24 via {r0} dev eth0"),
    );
    let looped = lab.path("198.51.100.7 --json");
    assert_eq!(looped.code, Some(3), "{looped:#?}");
    let run = looped.json();
    is_documented(&run);
    let found = &run["path"]["routing_loop"];
    assert_eq!(
        (&found["first_ttl"], &found["hops"]),
        (&1.into(), &2.into())
    );
    assert_eq!(hops(&run).len(), 2, "{run:#}");
    assert_eq!(codes(&run)[0], "routing_loop");
}

fn link_local() {
    let lab = PathLab::up(&chain(RATES, ""));
    let said = lab.does("r1", "ip -6 -o address show dev eth0 scope link");
    let address = said.split_whitespace().nth(3).unwrap();
    let address = address.split('/').next().unwrap();
    for target in [format!("{address}%eth0"), format!("[{address}%25eth0]")] {
        let run = lab
            .path(&format!("{target} --no-capacity --no-mtu --json"))
            .done()
            .json();
        assert_eq!(hops(&run)[0]["address"], address, "{run:#}");
        assert_eq!(run["path"]["host_answer"], "port_unreachable");
    }
    lab.path(&format!("{address} --json"))
        .failed(2, &["link-local", "%eth0"]);
}

fn silent_hop() {
    let lab = PathLab::up(&chain(RATES, ""));
    lab.rule("r2", "output", "icmp type time-exceeded drop");
    lab.rule("r2", "output", "icmpv6 type time-exceeded drop");
    measured(|| {
        let run = lab.path("h2 -t 8s --json").done().json();
        assert_eq!(hops(&run)[1]["answering"], "silent");
        assert_eq!(hops(&run)[2]["answering"], "answers");
        assert_eq!(link(&run, 3)["from_ttl"], 1);
        // 10 and 50 Mbit/s one after the other.
        agrees(&run, 3, 1.0 / (1.0 / 10.0 + 1.0 / 50.0))
    });
}

fn routes() {
    for count in [2, 4] {
        let middle: Vec<String> = (0..count)
            .map(|nth| format!("{{ name = \"m{nth}\" }}"))
            .collect();
        let links: Vec<String> = (0..count)
            .map(|nth| {
                format!(
                    "{{ between = [\"r1\", \"m{nth}\"] }}, {{ between = [\"m{nth}\", \"r2\"] }}"
                )
            })
            .collect();
        let topology = format!(
            "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\n\
             router = [{{ name = \"r1\" }}, {{ name = \"r2\" }}, {}]\n\
             link = [{{ between = [\"h1\", \"r1\"] }}, {}, {{ between = [\"r2\", \"h2\"] }}]\n",
            middle.join(", "),
            links.join(", ")
        );
        let lab = PathLab::up(&topology);
        // All are met with 95 % probability.
        measured(|| {
            let run = lab.path("h2 -4 --no-capacity --json").done().json();
            let found = &run["path"]["routes"];
            assert_eq!(found["is_complete"], true);
            if found["routes"] != count {
                return Err(found.to_string());
            }
            let others = hops(&run)[1]["other_addresses"].as_array().unwrap();
            assert_eq!(others.len(), count - 1);
            Ok(())
        });
    }
}

fn path_mtu() {
    for family in ["-4", "-6"] {
        let rates = [
            "rate = \"100M\"",
            "rate = \"100M\", mtu = 1400",
            "rate = \"100M\"",
        ];
        let lab = PathLab::up(&chain(rates, ""));
        let words = format!("h2 {family} --no-capacity --no-routes --json");
        let of = |run: &Value| {
            let mtu = run["path"]["mtu"].clone();
            assert_eq!(mtu["bytes"], 1400, "{mtu}");
            assert_eq!(mtu["shrinks_before_ttl"], 2, "{mtu}");
            mtu["evidence"].as_str().unwrap().to_owned()
        };
        let run = lab.path(&words).done().json();
        assert_eq!(of(&run), "icmp");
        assert!(!codes(&run).contains(&"path_mtu_black_hole"));
        lab.rule("r1", "output", "icmp code frag-needed drop");
        lab.rule("r1", "output", "icmpv6 type packet-too-big drop");
        let run = lab.path(&words).done().json();
        assert_eq!(of(&run), "unanswered");
        assert!(codes(&run).contains(&"path_mtu_black_hole"));
    }
}

fn firewall() {
    let lab = PathLab::up(&chain(RATES, ""));
    lab.rule("r2", "forward", "reject with icmpx admin-prohibited");
    let refused = lab.path("h2 --no-capacity --json");
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    let run = refused.json();
    is_documented(&run);
    assert_eq!(run["path"]["host_answer"], "refused");
    assert_eq!(run["path"]["refusal"]["ttl"], 2, "{run:#}");
    assert_eq!(hops(&run).len(), 2, "{run:#}");
    assert_eq!(codes(&run), ["host_answered_for"]);
}

fn host_down() {
    let lab = PathLab::up(&chain(RATES, ""));
    // A host that drops everything.
    lab.rule("h2", "input", "drop");
    let run = lab.path("h2 -4 --no-capacity --json").done().json();
    assert_eq!(run["path"]["host_answer"], "nothing");
    assert_eq!(codes(&run), ["host_silent"]);
    assert_eq!(hops(&run).len(), 3);
    assert_eq!(hops(&run)[2]["answering"], "nothing_from_here");
    // One that is not there: the router before it says so.
    lab.does("h2", "ip link set eth0 down");
    lab.does("r2", "ip neigh flush all");
    let gone = lab.path("h2 -4 --no-capacity --json");
    assert_eq!(gone.code, Some(3), "{gone:#?}");
    let run = gone.json();
    assert_eq!(run["path"]["refusal"]["ttl"], 2, "{run:#}");
    assert_eq!(run["path"]["host_answer"], "refused");
    assert_eq!(codes(&run), ["host_silent"]);
    assert_eq!(hops(&run).len(), 2);
    // A first router that drops everything.
    lab.rule("r1", "output", "drop");
    lab.rule("r1", "forward", "drop");
    let nothing = lab.path("h2 -4 --no-capacity --json --max-ttl 8");
    assert_eq!(nothing.code, Some(3), "{nothing:#?}");
    let run = nothing.json();
    assert_eq!(run["path"]["links"].as_array().unwrap().len(), 0);
}

fn translated() {
    let lab = PathLab::up(&chain(RATES, ""));
    let rules = [
        "add table ip nat",
        "add chain ip nat post { type nat hook postrouting priority 100 ; }",
        // Others' ports are taken, so that they change as well.
        "add rule ip nat post oifname eth1 meta l4proto udp masquerade to :20000-29999",
        "add rule ip nat post oifname eth1 masquerade",
    ];
    for rule in rules {
        lab.does("r1", &format!("nft {rule}"));
    }
    measured(|| {
        let run = lab.path("h2 -4 -t 5s --json").done().json();
        assert_eq!(run["path"]["host_answer"], "port_unreachable", "{run:#}");
        assert_eq!(hops(&run).len(), 3, "{run:#}");
        assert!(hops(&run).iter().all(|hop| hop["answering"] == "answers"));
        agrees(&run, 2, 10.0)
    });
}

fn other_way_back() {
    // Answers of h2 and r2 come back over one router more.
    let topology = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
        router = [{ name = \"r1\" }, { name = \"a\" }, { name = \"b\" }, { name = \"r2\" }]\n\
        link = [{ between = [\"h1\", \"r1\"] }, { between = [\"r1\", \"r2\"], rate = \"10M\" }, { between = [\"r2\", \"h2\"] },\n\
        { between = [\"r2\", \"b\"] }, { between = [\"b\", \"a\"] }, { between = [\"a\", \"r1\"] }]\n";
    let lab = PathLab::up(topology);
    let run = lab.path("h2 -4 -t 3s --no-routes --json").done().json();
    assert!(!codes(&run).contains(&"return_path_differs"), "{run:#}");
    let address = |host: &str, device: &str| {
        let said = lab.does(host, &format!("ip -4 -o address show dev {device}"));
        let with_length = said.split_whitespace().nth(3).unwrap();
        with_length.split('/').next().unwrap().to_owned()
    };
    let target = address("h1", "eth0");
    // The devices of a router are numbered in the order of its links: the last one of r2 leads to b.
    for (router, device, next) in [("r2", "eth2", ("b", "eth0")), ("b", "eth1", ("a", "eth0"))] {
        let next = address(next.0, next.1);
        lab.does(
            router,
            &format!("ip route replace {target}/32 via {next} dev {device}"),
        );
    }
    lab.does("r1", "sysctl -qw net.ipv4.conf.all.rp_filter=0");
    let run = lab.path("h2 -4 -t 3s --no-routes --json").done().json();
    assert!(codes(&run).contains(&"return_path_differs"), "{run:#}");
    assert_eq!(hops(&run).len(), 3, "{run:#}");
}

fn ipv6_alone() {
    let lab = PathLab::up(&chain(RATES, ""));
    for host in ["h1", "r1", "r2", "h2"] {
        lab.does(host, "ip -4 address flush scope global");
    }
    measured(|| {
        let run = lab.path("h2 -t 5s --no-routes --json").done().json();
        is_documented(&run);
        let target = run["path"]["target"]["address"].as_str().unwrap();
        assert!(target.contains(':'), "{target}");
        assert_eq!(hops(&run).len(), 3, "{run:#}");
        assert_eq!(run["path"]["mtu"]["bytes"], 1500);
        agrees(&run, 2, 10.0)
    });
}

fn route_change() {
    let topology = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
        router = [{ name = \"r1\" }, { name = \"a\" }, { name = \"b\" }, { name = \"r2\" }]\n\
        link = [{ between = [\"h1\", \"r1\"], rate = \"100M\" }, { between = [\"r1\", \"a\"], rate = \"100M\" },\n\
        { between = [\"r1\", \"b\"], rate = \"100M\" }, { between = [\"a\", \"r2\"], rate = \"100M\" },\n\
        { between = [\"b\", \"r2\"], rate = \"100M\" }, { between = [\"r2\", \"h2\"], rate = \"100M\" }]\n";
    let lab = PathLab::up(topology);
    let running = Running::start(&mut lab.path_command("h2 -4 --no-routes --json-stream"));
    running.line_with("\"phase\":\"capacity\"");
    // The link of the router that flows go through, whichever it is, is cut.
    let first = running.said();
    let other = |name: &str| lab.does(name, "hostname -I");
    let through = ["a", "b"].into_iter().find(|name| {
        let addresses = other(name);
        addresses
            .split_whitespace()
            .any(|address| first.contains(&format!("\"{address}\"")))
    });
    let cut = through.unwrap();
    lab.does(cut, "ip link set eth0 down");
    lab.does(
        "r1",
        &format!(
            "ip link set {} down",
            if cut == "a" { "eth1" } else { "eth2" }
        ),
    );
    let ended = running.wait(LIMIT);
    let last = ended.stdout.lines().last().unwrap();
    let finished: Value = serde_json::from_str(last).unwrap();
    let run = &finished["run"];
    let changes = run["path"]["changes"].as_array().unwrap();
    assert_eq!(changes[0]["ttl"], 2, "{changes:?}");
    assert!(codes(run).contains(&"path_changed"));
}

fn unprivileged() {
    let lab = PathLab::up(&chain(RATES, ""));
    // What an ordinary user may execute.
    let program = lab.place.path().join("caudal");
    std::fs::copy(env!("CARGO_BIN_EXE_caudal"), &program).unwrap();
    let words = format!(
        "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all {} path h2 -t 8s --json",
        program.display()
    );
    let mut open = std::fs::metadata(lab.place.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o755);
    std::fs::set_permissions(lab.place.path(), open).unwrap();
    let run = run(&mut lab.on("h1", &words), LIMIT).done().json();
    assert_eq!(hops(&run).len(), 3);
    assert!(
        capacity(&run, 2).is_ok_and(|mbps| (mbps / 10.0 - 1.0).abs() < 0.15),
        "{run:#}"
    );
    let means = &run["path"]["means"];
    assert_eq!(
        (&means["icmp_primers"], &means["kernel_timestamps"]),
        (&false.into(), &true.into())
    );
    let without = means["without"][0].as_str().unwrap();
    assert!(without.starts_with("CAP_NET_RAW"), "{without}");
}

fn beside_traceroute() {
    let lab = PathLab::up(&chain(
        [
            "rate = \"100M\", delay = \"5ms\"",
            "rate = \"10M\", delay = \"10ms\"",
            "rate = \"50M\"",
        ],
        "",
    ));
    let run = lab
        .path("h2 -4 --no-capacity --no-mtu --numeric --json")
        .done()
        .json();
    let ours: Vec<(&str, f64)> = hops(&run)
        .iter()
        .map(|hop| {
            (
                hop["address"].as_str().unwrap(),
                hop["rtt_ms"]["min"].as_f64().unwrap(),
            )
        })
        .collect();
    let text = lab.does("h1", "traceroute -4 -n h2");
    let traced: Vec<&str> = text
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    let addresses: Vec<&str> = ours.iter().map(|(address, _)| *address).collect();
    assert_eq!(addresses, traced, "{text}");
    let text = lab.does("h1", "mtr -4 -n -c 4 -i 0.2 --csv h2");
    let column = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "Best");
    let best: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .nth(column.unwrap())
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(best.len(), 3, "{text}");
    for ((address, ours), theirs) in ours.iter().zip(best) {
        // Both are minima over links with delays of 5 and 10 ms each way.
        assert!(
            (ours - theirs).abs() < 2.0,
            "{address}: {ours} and {theirs} ms"
        );
    }
}
