//! Topology files: what is accepted, which defaults are filled in, and what is refused at which place.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_core::units::{BitRate, ByteCount};
use caudal_topology::{Driver, Impairments, QueueLimit, Topology, TopologyFile};

fn read(text: &str) -> TopologyFile {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn resolve(text: &str) -> Result<Topology, String> {
    Topology::resolve(&read(text)).map_err(|error| format!("{}: {error}", error.location))
}

const STAR: &str = r#"
host = [{ name = "h1" }, { name = "h2" }, { name = "h3" }]
switch = [{ name = "s1" }]
[[link]]
between = ["h1", "s1"]
rate = "10M"
duplex = "half"
[[link]]
between = ["h2", "s1"]
rate = "10M"
[[link]]
between = ["h3", "s1"]
rate = "10M"
"#;

const SQUARE: &str = r#"
host = [{ name = "a" }, { name = "b" }]
router = [{ name = "r1" }, { name = "r2" }, { name = "r3" }, { name = "r4" }]
link = [
  { between = ["a", "r1"] },
  { between = ["r1", "r2"] },
  { between = ["r1", "r3"] },
  { between = ["r2", "r4"] },
  { between = ["r3", "r4"] },
  { between = ["r4", "b"] },
]
"#;

#[test]
fn a_switch_joins_its_links_to_one_segment() {
    let star = resolve(STAR).unwrap();
    assert_eq!(star.segments.len(), 1);
    let names: Vec<String> = (0..3)
        .map(|host| star.addresses_of(host)[0].to_string())
        .collect();
    assert_eq!(names, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    assert!(star.routes().iter().all(Vec::is_empty));
    assert_eq!(star.links[0].name, "h1-s1");
    assert_eq!(star.links[2].ends[0].device, "eth0");
    assert!(star.hosts_file().contains("10.0.0.3\th3 h3-eth0\n"));
    assert_eq!(star.driver(0), Driver::Emulated);
}

#[test]
fn routes_use_all_paths_of_equal_length() {
    let square = resolve(SQUARE).unwrap();
    assert_eq!(square.segments.len(), 6);
    let routes = square.routes();
    let r1 = square.node("r1").unwrap();
    let to_b = routes[r1].iter().find(|route| route.segment == 5).unwrap();
    assert_eq!(to_b.next_hops.len(), 2);
    let a = square.node("a").unwrap();
    assert_eq!(routes[a].len(), 5);
    assert!(routes[a].iter().all(|route| route.next_hops.len() == 1));
}

#[test]
fn a_host_does_not_forward() {
    let through_a_host = r#"
        host = [{ name = "a" }, { name = "b" }, { name = "c" }]
        link = [{ between = ["a", "b"] }, { between = ["b", "c"] }]
    "#;
    assert_eq!(
        resolve(through_a_host).unwrap_err(),
        ": there is no route from a to c; add a link, or make what is between them a router"
    );
}

#[test]
fn the_default_queue_holds_a_hundred_frames_or_fifty_milliseconds() {
    let limit = |rate: &str| {
        let text = format!(
            "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], rate = \"{rate}\" }}]"
        );
        resolve(&text).unwrap().links[0].directions[0].queue.limit
    };
    let bytes = |bytes| QueueLimit::Bytes(ByteCount::new(bytes));
    assert_eq!(limit("10M"), bytes(151_800));
    assert_eq!(limit("1G"), bytes(6_250_000));
}

#[test]
fn the_name_that_the_extent_of_reordering_had_before_is_read() {
    let impairments = |key: &str| {
        let text = format!(
            "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10M\"\nreorder = {{ share = \"5%\", {key} = 7 }}"
        );
        resolve(&text).unwrap().links[0].directions[0].clone()
    };
    assert_eq!(impairments("places"), impairments("extent"));
}

#[test]
fn the_directions_of_a_link_may_differ() {
    let text = r#"
        host = [{ name = "a" }, { name = "b" }]
        [[link]]
        between = ["a", "b"]
        rate = "10M"
        delay = "5ms"
        backward = { rate = "1M" }
    "#;
    let link = &resolve(text).unwrap().links[0];
    let rates = link.directions.each_ref().map(Impairments::constant_rate);
    let mbit = |rate: u64| Some(BitRate::from_bps(rate * 1_000_000));
    assert_eq!(rates, [mbit(10), mbit(1)]);
    assert_eq!(link.directions[0].delay, link.directions[1].delay);
}

#[test]
fn the_driver_of_a_link_follows_from_its_keys() {
    let driver = |keys: &str| {
        let text = format!(
            "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"] {keys} }}]"
        );
        resolve(&text).map(|topology| topology.driver(0))
    };
    assert_eq!(driver(""), Ok(Driver::Kernel));
    assert_eq!(driver(", rate = \"100M\""), Ok(Driver::Emulated));
    assert_eq!(driver(", rate = \"1G\""), Ok(Driver::Kernel));
    assert_eq!(
        driver(", rate = \"1G\", delay = \"1ms\""),
        Ok(Driver::Emulated)
    );
    assert_eq!(driver(", driver = \"emulated\""), Ok(Driver::Emulated));
    assert_eq!(
        driver(", rate = \"10M\", driver = \"kernel\""),
        Ok(Driver::Kernel)
    );
    assert!(driver(", delay = \"1ms\", driver = \"kernel\"").is_err());
}

#[test]
fn what_cannot_be_built_is_refused_with_its_place_in_the_file() {
    let two = "host = [{ name = \"a\" }, { name = \"b\" }]\n";
    let link = |keys: &str| format!("{two}link = [{{ between = [\"a\", \"b\"], {keys} }}]");
    let table = [
        ("".to_owned(), ": there is no host"),
        (
            "title = \"a\\u001b[2J\"".to_owned(),
            "title: the title has control",
        ),
        (two.to_owned(), ": host a has no link"),
        (
            two.to_owned() + "link = [{ between = [\"a\", \"c\"] }]",
            "link[0].between: there is no node \"c\"",
        ),
        (
            two.to_owned() + "link = [{ between = [\"a\", \"a\"] }]",
            "link[0].between: \"a\" is linked to itself",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"a\" }]".to_owned(),
            "host[1].name: \"a\" is the name of two nodes",
        ),
        (
            "host = [{ name = \"-\" }]".to_owned(),
            "host[0].name: \"-\" is not a valid name",
        ),
        (
            "host = [{ name = \"localhost\" }]".to_owned(),
            "host[0].name: \"localhost\" is not a valid",
        ),
        (
            link("rate = 10"),
            "link[0].rate: a rate of 10 bit/s cannot be emulated",
        ),
        (
            link("rate = \"1T\""),
            "link[0].rate: a rate of 1 Tbit/s cannot",
        ),
        (
            link("rate = \"1M\", delay = \"2h\""),
            "link[0].delay: 7200s is too long",
        ),
        (
            link("queue = { frames = 10 }"),
            "link[0].queue: a queue without a rate",
        ),
        (
            link("rate = \"1M\", queue = { frames = 0 }"),
            "link[0].queue.frames: a queue of no frames",
        ),
        (
            link("rate = \"1M\", queue = { bytes = 100 }"),
            "link[0].queue.bytes: a queue of 100 B holds no",
        ),
        (
            link("rate = \"1M\", queue = { discipline = \"red\" }"),
            "link[0].queue: discipline \"red\" lacks",
        ),
        (
            link("rate = \"1M\", queue = { target = \"1ms\" }"),
            "link[0].queue: target belongs to",
        ),
        (link("mtu = 40"), "link[0].mtu: an MTU of 40 bytes"),
        (
            link("duplex = \"half\""),
            "link[0]: half-duplex link a-b has no constant rate",
        ),
        (
            link("duplex = \"half\", rate = \"1G\""),
            "link[0].rate: half-duplex Ethernet has no rate of 1 Gbit/s",
        ),
        (
            link("duplex = \"half\", rate = \"10M\", delay = \"1ms\""),
            "link[0].delay: a half-duplex link at 10 Mbit/s has a delay of at most 25.6us",
        ),
        (
            link("jitter = { distribution = \"uniform\", mean = 1 }"),
            "link[0].jitter: uniform jitter takes low and high, not mean",
        ),
        (
            link("balance = \"per-flow\""),
            "link[0].balance: there are no paths to balance",
        ),
        (
            link("policer = { rate = \"1M\", burst = 100 }"),
            "link[0].policer.burst: a bucket of 100 bytes",
        ),
        (
            link("devices = [\"lo\", \"x\"]"),
            "link[0].devices: \"lo\" is not a valid interface",
        ),
        (
            link("trace = { steps = [{ at = 1, rate = \"1M\" }] }"),
            "link[0].trace.steps: the steps of a trace",
        ),
        (
            link("trace = { steps = [{ at = 0, rate = 0 }] }"),
            "link[0].trace.steps: the trace ends",
        ),
        (
            two.to_owned()
                + "addresses = { ipv4 = \"10.0.0.0/25\" }\nlink = [{ between = [\"a\", \"b\"] }]",
            "addresses.ipv4: 10.0.0.0/25 has no /24 left for segment 1",
        ),
        (
            two.to_owned()
                + "addresses = { ipv4 = \"10.0.0.1/24\" }\nlink = [{ between = [\"a\", \"b\"] }]",
            "addresses.ipv4: \"10.0.0.1/24\" is not an IPv4 network",
        ),
        (
            two.to_owned() + "sysctl = { \"vm.swappiness\" = \"1\" }",
            "host[0].sysctl: \"vm.swappiness\" is not a network parameter",
        ),
        (
            two.to_owned()
                + "switch = [{ name = \"s\" }, { name = \"t\" }, { name = \"u\" }]\nlink = [{ between = [\"s\", \"t\"] }, { between = [\"t\", \"u\"] }, { between = [\"u\", \"s\"] }, { between = [\"a\", \"s\"] }, { between = [\"b\", \"s\"] }]",
            "link[2]: link \"u-s\" closes a loop of switches",
        ),
        (
            two.to_owned()
                + "switch = [{ name = \"s\" }]\nlink = [{ between = [\"a\", \"s\"] }, { between = [\"a\", \"s\"] }, { between = [\"b\", \"s\"] }]",
            "link[1].between: a is in the same segment twice",
        ),
    ];
    for (text, expected) in table {
        let error = resolve(&text).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn an_unknown_key_is_refused() {
    for text in [
        "hosts = []",
        "[[link]]\nbetween = [\"a\", \"b\"]\nspeed = 10",
        "[[host]]\nname = \"a\"\nqueue = 1",
        "[[link]]\nbetween = [\"a\", \"b\"]\nqueue = { length = 1 }",
    ] {
        let error = toml::from_str::<TopologyFile>(text).unwrap_err();
        assert!(error.message().contains("unknown field"), "{error}");
        assert!(error.span().is_some());
    }
}

#[test]
fn a_file_that_is_written_and_read_again_is_the_same() {
    for text in [STAR, SQUARE] {
        let file = read(text);
        let written = toml::to_string(&file).unwrap();
        assert_eq!(read(&written), file);
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<TopologyFile>(&json).unwrap(), file);
    }
}
