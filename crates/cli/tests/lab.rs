//! `caudal lab` as people use it: up, exec, show, set, stats, down; wrong usage, missing permissions, killed daemons.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use support::network::missing;
use support::place::{Place, eventually};
use support::{Running, SOON, Serve, run, trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials: Vec<Trial> = vec![
        trial(
            "the_lab_of_a_command_ends_with_it_and_passes_on_its_exit_code",
            missing(&["ping"]),
            run_a_command,
        ),
        trial(
            "a_lab_stays_up_until_it_is_taken_down",
            missing(&["ping"]),
            up_and_down,
        ),
        trial("two_labs_are_distinguished_by_name", missing(&[]), two_labs),
        trial(
            "the_remains_of_a_killed_daemon_are_found_and_removed",
            missing(&["setsid"]),
            killed_daemon,
        ),
        trial(
            "an_interrupted_run_leaves_nothing",
            missing(&["sleep"]),
            interrupted,
        ),
        trial(
            "a_killed_run_leaves_nothing",
            missing(&["sleep"]),
            killed_run,
        ),
        trial(
            "an_ordinary_user_has_labs_of_packet_sockets",
            missing(&["setpriv", "ping"]),
            ordinary_user,
        ),
        trial(
            "without_tun_packet_sockets_replace_it",
            missing(&["unshare", "mount", "ping"]),
            without_tun,
        ),
        trial(
            "every_key_of_the_stats_is_documented",
            missing(&["ping"]),
            stats_documented,
        ),
        trial("the_drawing_is_well_formed", missing(&[]), picture),
        trial(
            "links_are_shown_with_queue_loss_and_jitter",
            missing(&[]),
            impairments,
        ),
        trial(
            "a_token_bucket_counts_every_datagram_of_a_segmentation_offload",
            missing(&[]),
            datagrams_in_a_token_bucket,
        ),
        trial(
            "a_full_disk_is_reported_and_nothing_is_left",
            missing(&["unshare", "mount"]),
            full_disk,
        ),
        trial(
            "too_few_open_files_are_reported",
            missing(&["bash"]),
            few_files,
        ),
        trial(
            "a_wrong_command_line_is_refused_in_one_line",
            None,
            wrong_command_line,
        ),
        trial("a_file_is_refused_with_line_and_key", None, wrong_files),
        trial("every_preset_prints_a_valid_topology_file", None, presets),
        trial("the_published_schema_is_that_of_the_code", None, schema),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The process of the daemon of a lab.
fn daemon_of(place: &Place, name: &str) -> u32 {
    let record = place.json(&format!("labs/{name}/lab.json"));
    u32::try_from(record["process"].as_u64().unwrap()).unwrap()
}

/// The processes that sleep for `mark` seconds.
fn sleepers(mark: &str) -> usize {
    let line = format!("sleep\0{mark}\0");
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| {
            fs::read(entry.path().join("cmdline")).is_ok_and(|found| found == line.as_bytes())
        })
        .count()
}

fn run_a_command() {
    let place = Place::of("lab");
    let ended = place.says("run pair -- ping -4 -c 2 -i 0.1 h2");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("2 received"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("caudal: ") && ended.stderr.lines().count() == 1,
        "{}",
        ended.stderr
    );
    let mut own = place.command("run line 1 --on h2 --");
    own.args(["sh", "-c", "test $(hostname) = h2 && exit 7"]);
    assert_eq!(run(&mut own, Duration::from_secs(30)).code, Some(7));
    place
        .says("run pair -q -- no-such-program")
        .failed(2, &["cannot run no-such-program on h1", "install it"]);
    let mut crashing = place.command("run pair -q --");
    crashing.args(["sh", "-c", "kill -SEGV $$"]);
    assert_eq!(run(&mut crashing, Duration::from_secs(30)).code, Some(139));
    place
        .says("run pair --on h9 -- true")
        .failed(2, &["there is no host \"h9\"", "h1, h2"]);
    assert!(place.has_no_lab());
}

fn up_and_down() {
    let place = Place::of("lab");
    let ended = place.says("up star 2 --set h1-s1.delay=3ms").done();
    for words in [
        "h1  host  10.0.0.1",
        "10 Mbit/s",
        "3 ms",
        "s1  switch",
        "emulated",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(
        ended.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        ended.stdout
    );
    place.says("exec h1 -- ping -4 -c 1 h2").done();
    place
        .says("exec nobody -- true")
        .failed(2, &["there is no host", "h1, h2"]);
    place.says("set h1-s1 rate=1M delay=1ms").done();
    place.says("set h1-s1 loss=100% --backward").done();
    let report = place.says("stats --json").done().json();
    let link = &report["links"][0];
    assert_eq!(link["forward"]["rate_bps"], 1_000_000);
    assert_eq!(link["backward"]["delay_us"], 1000.0);
    assert!(link["forward"]["delivered"]["frames"].as_u64().unwrap() > 0);
    let lost = place.says("exec h1 -- ping -4 -c 1 -W 1 h2");
    assert_eq!(lost.code, Some(1));
    let text = place.says("stats").done().stdout;
    assert!(
        text.contains("loss") && text.contains("queue max"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 200),
        "{text}"
    );
    for (words, expected) in [
        ("set h1-s1 rate=0", "cannot be emulated"),
        ("set h1-s1 speed=1", "\"speed\" cannot be set"),
        ("set h1-s1 rate", "\"rate\" is not KEY=VALUE"),
        ("set h9 rate=1M", "there is no link \"h9\""),
        ("set h1-s1 loss=2", "loss=2"),
    ] {
        place.says(words).failed(2, &[expected]);
    }
    place
        .says("up star")
        .failed(2, &["a lab called \"star\" is up", "--name"]);
    let daemon = daemon_of(&place, "star");
    place.says("down").done();
    assert!(place.has_no_lab());
    eventually("its process is gone", || {
        let state = fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z ")
    });
    place.says("down").failed(2, &["no lab is up"]);
    place.says("exec h1 -- true").failed(2, &["no lab is up"]);
}

fn two_labs() {
    let place = Place::of("lab");
    place.says("up pair --name one -q").done();
    place.says("up pair --name two -q").done();
    let list = place.says("list --json").done().json();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|lab| lab["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "two"]);
    place
        .says("exec h1 -- true")
        .failed(2, &["2 labs are up", "--lab"]);
    assert_eq!(
        place.says("exec --lab two h1 -- hostname").done().stdout,
        "h1\n"
    );
    place.says("down --lab one").done();
    // With one left it need not be named.
    assert_eq!(place.says("exec h2 -- hostname").done().stdout, "h2\n");
    place.says("down --all").done();
    assert!(place.has_no_lab());
}

fn killed_daemon() {
    let place = Place::of("lab");
    place.says("up dumbbell -q").done();
    let mark = format!("{}", 900_000 + std::process::id());
    let mut program = place.command("exec h1 -- setsid -f sleep");
    program.arg(&mark).stdout(std::process::Stdio::null());
    assert!(program.status().unwrap().success());
    eventually("the program runs", || sleepers(&mark) == 1);
    support::signal(daemon_of(&place, "dumbbell"), "KILL");
    let record = place.at("labs/dumbbell/lab.json");
    eventually("it is found", || {
        let ended = place.says("list");
        ended
            .stderr
            .contains("removed the remains of lab dumbbell, whose process was killed")
            || !record.exists()
    });
    eventually("the program is gone", || sleepers(&mark) == 0);
    assert!(place.has_no_lab());
    place.says("up dumbbell -q").done();
}

fn interrupted() {
    let place = Place::of("lab");
    let mark = format!("{}", 910_000 + std::process::id());
    let mut command = place.command("run pair -- sleep");
    let running = Running::start(command.arg(&mark));
    eventually("the command runs", || sleepers(&mark) == 1);
    running.signal("TERM");
    let ended = running.wait(Duration::from_secs(20));
    assert_eq!(ended.code, Some(137), "{}", ended.stderr);
    eventually("the command is gone", || sleepers(&mark) == 0);
    assert!(place.has_no_lab());
}

fn killed_run() {
    let place = Place::of("lab");
    let mark = format!("{}", 920_000 + std::process::id());
    let mut command = place.command("run pair -- sleep");
    let mut running = Running::start(command.arg(&mark));
    eventually("the command runs", || sleepers(&mark) == 1);
    running.kill();
    eventually("the command is gone", || sleepers(&mark) == 0);
    eventually("the lab is gone", || place.has_no_lab());
}

fn ordinary_user() {
    let place = Place::of("lab");
    // A copy that anybody may execute, wherever the build is.
    let program = place.at("caudal");
    fs::copy(env!("CARGO_BIN_EXE_caudal"), &program).unwrap();
    for path in [place.path(), &program] {
        assert!(
            Command::new("chmod")
                .arg("755")
                .arg(path)
                .status()
                .unwrap()
                .success()
        );
    }
    let labs = place.at("of-nobody");
    fs::create_dir(&labs).unwrap();
    assert!(
        Command::new("chown")
            .arg("65534:65534")
            .arg(&labs)
            .status()
            .unwrap()
            .success()
    );
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--no-new-privs",
        ])
        .arg(&program)
        .args("lab run pair --set *.delay=1ms -q -- ping -4 -q -c 3 -i 0.1 h2".split_whitespace())
        .env("CAUDAL_LAB_DIR", labs.join("labs"))
        .current_dir("/");
    let ended = run(&mut command, Duration::from_secs(30));
    // Where user namespaces are forbidden, that is what is said.
    if ended.code == Some(4) {
        assert!(
            ended.stderr.contains("user namespaces; run as root"),
            "{}",
            ended.stderr
        );
        return;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = ended.stdout;
    assert!(text.contains("3 received"), "{text}");
    assert!(fs::read_dir(labs.join("labs")).unwrap().next().is_none());
}

fn without_tun() {
    let place = Place::of("lab");
    let script = format!(
        "mount -t tmpfs none /dev/net && exec {} lab up pair --set *.delay=1ms -q",
        env!("CARGO_BIN_EXE_caudal")
    );
    if !Path::new("/dev/net").is_dir() {
        fs::create_dir("/dev/net").unwrap();
    }
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", &script])
        .env("CAUDAL_LAB_DIR", place.labs());
    run(&mut command, Duration::from_secs(30)).done();
    let text = place
        .says("exec h1 -- ping -4 -q -c 3 -i 0.1 h2")
        .done()
        .stdout;
    assert!(text.contains("3 received"), "{text}");
    let report = place.says("stats --json").done().json();
    assert_eq!(report["emulator"]["device"], "packet");
    let link = &report["links"][0];
    assert_eq!(
        link["forward"]["offered"]["frames"],
        report["nodes"][0]["interfaces"][0]["tx_packets"]
    );
    assert_eq!(
        link["forward"]["delivered"]["frames"],
        report["nodes"][1]["interfaces"][0]["rx_packets"]
    );
    assert!(
        report["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note.as_str().unwrap().contains("/dev/net/tun"))
    );
}

/// The paths of all keys in `value`, with `[]` for elements.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                found.insert(path.clone());
                paths(value, &path, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{at}[]"), found);
            }
        }
        _ => {}
    }
}

fn stats_documented() {
    let place = Place::of("lab");
    let file = place.file(
        "all.toml",
        r#"
        host = [{ name = "h1" }, { name = "h2" }, { name = "h3" }]
        router = [{ name = "r1" }]
        switch = [{ name = "s1" }]
        link = [
          { between = ["h1", "s1"], rate = "10M", duplex = "half", loss = "1%" },
          { between = ["r1", "s1"], rate = "10M", queue = { frames = 2 }, shaper = { rate = "5M" }, policer = { rate = "1M", burst = 2000 } },
          { between = ["r1", "h2"], rate = "1G" },
          { between = ["r1", "h3"], balance = "per-frame", path = [{ rate = "1M" }, { rate = "1M", jitter = { distribution = "normal", mean = "1ms", deviation = "1ms" } }] },
        ]
        "#,
    );
    place.says(&format!("up {file} -q")).done();
    place.says("exec h1 -- ping -4 -q -f -c 200 -s 1400 h2");
    place.says("exec h3 -- ping -4 -q -c 2 -i 0.1 h2");
    let report = place.says("stats --json").done().json();
    let mut found = BTreeSet::new();
    paths(&report, "", &mut found);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lab-json.md");
    let page = fs::read_to_string(page).unwrap();
    let documented: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    // Both directions, and cells within cells, are described once.
    let normal = |path: &str| {
        let mut path = path
            .replace(".backward", ".forward")
            .replace(".parts[].parts[]", ".parts[]");
        while path.contains(".parts[].parts[]") {
            path = path.replace(".parts[].parts[]", ".parts[]");
        }
        path
    };
    let reasons = [
        "queue_full",
        "policed",
        "loss",
        "red",
        "codel",
        "check_sequence",
        "excessive_collisions",
        "late_collision",
        "spoiled",
        "no_port",
        "obeyed",
    ];
    for path in &found {
        let mut path = normal(path);
        for reason in reasons {
            path = path.replace(&format!("dropped.{reason}"), "dropped.REASON");
        }
        // A cell counts what the whole counts, in keys of the same names.
        let short = path
            .replace("links[].forward.parts[].counters.", "links[].forward.")
            .replace("links[].forward.parts[].", "links[].forward.");
        assert!(
            documented.contains(path.as_str()) || documented.contains(short.as_str()),
            "{path} is not documented"
        );
    }
}

fn picture() {
    let place = Place::of("lab");
    place.says("up two-paths -q").done();
    let file = place.at("net.svg");
    place.says(&format!("show --svg {}", file.display())).done();
    let svg = fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for words in [
        "upper",
        "lower",
        "50 Mbit/s",
        "router",
        "prefers-color-scheme",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    let text = place.says("show").done().stdout;
    assert!(text.contains("(above)"), "{text}");
    place
        .says("show --svg /no/such/place.svg")
        .failed(1, &["cannot write /no/such/place.svg"]);
}

fn impairments() {
    let place = Place::of("lab");
    place
        .says("up pair -q --set h1-h2.queue={frames=50} --set h1-h2.loss=2% --set h1-h2.jitter={distribution=\"uniform\",low=\"1ms\",high=\"3ms\"}")
        .done();
    let words = "queue 50 frames, jitter 1 ms to 3 ms, loss 2 %";
    let shown = place.says("show").done().stdout;
    assert!(shown.contains(words), "{shown}");
    place.says("set h1-h2 loss=3% --backward").done();
    let shown = place.says("show").done().stdout;
    assert!(
        shown.contains("← queue 50 frames, jitter 1 ms to 3 ms, loss 3 %"),
        "{shown}"
    );
    let svg = place.says("show --svg -").done().stdout;
    assert!(
        svg.contains(">→ loss 2 %<") && svg.contains(">← loss 3 %<"),
        "{svg}"
    );
}

/// UDP through a token bucket of the kernel, sent with segmentation offload: the rate holds with the framing of every
/// datagram, and each one that the bucket dropped is counted and placed in the sender's queue.
fn datagrams_in_a_token_bucket() {
    const RATE: f64 = 20e6;
    const PAYLOAD: f64 = 100.0;
    // Ethernet, IP and UDP headers, check sequence, preamble and interframe gap.
    const FRAMING: f64 = 28.0 + 38.0;
    let place = Place::of("");
    place
        .says("lab up pair -q --set h1-h2.rate=20M --set h1-h2.driver=kernel")
        .done();
    let mut server = place.command("lab exec h2 --");
    server.args([env!("CARGO_BIN_EXE_caudal"), "serve"]);
    let _server = Serve::of(&mut server);
    let mut client = place.command("lab exec h1 --");
    client.args([env!("CARGO_BIN_EXE_caudal"), "udp", "h2", "--json"]);
    client.args("-b 100M -l 100 -t 1".split_whitespace());
    let run = support::run(&mut client, SOON).json();
    let direction = &run["summary"]["directions"][0];
    let loss = &direction["loss"];
    let count = |value: &Value| value.as_u64().unwrap();
    let lost = count(&loss["lost"]);
    let stats = place.says("lab stats --json").done().json();
    let dropped = count(&stats["links"][0]["forward"]["dropped"]["queue_full"]["frames"]);
    assert_eq!(count(&loss["places"]["path"]), 0, "{loss}");
    assert!(
        dropped.abs_diff(lost) <= 2,
        "{dropped} dropped, {lost} lost"
    );
    let goodput = direction["goodput_bps"]["mean"].as_f64().unwrap();
    // What the bucket and its queue held at the edges of the test is not known to be part of it.
    assert!(
        goodput < 1.01 * RATE * PAYLOAD / (PAYLOAD + FRAMING),
        "{goodput}"
    );
}

fn full_disk() {
    let place = Place::of("lab");
    let script = format!(
        "mkdir -p {labs}/full && mount -t tmpfs -o size=4k,mode=700 none {labs}/full && dd if=/dev/zero of={labs}/full/fill bs=4k count=1 2>/dev/null; CAUDAL_LAB_DIR={labs}/full exec {caudal} lab up pair",
        labs = place.path().display(),
        caudal = env!("CARGO_BIN_EXE_caudal")
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]);
    run(&mut command, Duration::from_secs(30)).failed(4, &["No space left on device"]);
}

fn few_files() {
    let place = Place::of("lab");
    let script = format!(
        "ulimit -n 40; exec {} lab up pair",
        env!("CARGO_BIN_EXE_caudal")
    );
    let mut command = Command::new("bash");
    command
        .args(["-c", &script])
        .env("CAUDAL_LAB_DIR", place.labs());
    run(&mut command, Duration::from_secs(30)).failed(4, &["open files", "ulimit -n"]);
    assert!(place.has_no_lab());
}

fn wrong_command_line() {
    let place = Place::of("lab");
    for (words, expected) in [
        ("up ring", "cannot read ring: No such file or directory"),
        ("up line 0", "preset line takes 1 to 100 routers, not 0"),
        ("up pair 3", "preset pair takes no number"),
        ("up pair --set rate=1M", "names no key of a link"),
        ("up pair --set h1-h2.rate", "has no value"),
        (
            "up pair --set h1-h3.rate=1M",
            "there is no link \"h1-h3\"; take one of h1-h2",
        ),
        ("up pair --set h1-h2.speed=1", "unknown field `speed`"),
        ("up pair --set h1-h2.rate=fast", "h1-h2.rate=fast"),
        (
            "up pair --set h1-h2.rate=1",
            "a rate of 1 bit/s cannot be emulated",
        ),
        ("up pair --name a/b", "\"a/b\" is not a valid name of a lab"),
        ("up /", "cannot read /"),
        ("up /dev/zero", "longer than 16 MiB"),
        ("preset ring", "there is no preset \"ring\""),
        ("run pair", "required"),
    ] {
        let ended = place.says(words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
    let list = place.says("list").done();
    assert!(list.stdout.contains("no lab is up"));
}

fn wrong_files() {
    let place = Place::of("lab");
    for (text, expected) in [
        (
            "host = [\n  { name = \"a\" },\n  { nam = \"b\" },\n]\n",
            "file.toml:3: unknown field `nam`",
        ),
        (
            "[[host]]\nname = \"a\"\n\n[[link]]\nbetween = [\"a\", \"b\"]\n",
            "file.toml:5: link[0].between: there is no node \"b\"",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10X\"\n",
            "file.toml:4: ",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1M\"\n[link.queue]\nframes = 0\n",
            "file.toml:6: link[0].queue.frames: a queue of no frames",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\n[[link]]\nbetween = [\"a\", \"b\", \"c\"]\n",
            "file.toml:3: invalid length 3, expected two names",
        ),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n[[link]]\nbetween = [\"a\", \"b\"]\nloss = 1\n",
            "file.toml:4: \"1\" could be 1% or 100%",
        ),
        ("this is no TOML", "file.toml:1: "),
        ("", "there is no host"),
        (
            "host = [{ name = \"a\" }, { name = \"b\" }]\n",
            "host a has no link",
        ),
    ] {
        let file = place.file("file.toml", text);
        let ended = place.says(&format!("up {file}"));
        assert_eq!(ended.code, Some(2), "{text}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{text}: {}", ended.stderr);
        assert_eq!(
            ended.stderr.trim_end().lines().count(),
            1,
            "{}",
            ended.stderr
        );
    }
    let binary = place.at("file.toml");
    fs::write(&binary, [0xff, 0xfe, 0, 1]).unwrap();
    place
        .says(&format!("up {}", binary.display()))
        .failed(2, &["is not text"]);
}

fn presets() {
    let place = Place::of("lab");
    let names = place.says("preset").done().stdout;
    for line in names.lines() {
        let name = line.split_whitespace().next().unwrap();
        let text = place.says(&format!("preset {name}")).done().stdout;
        let file: caudal_topology::TopologyFile = toml::from_str(&text).unwrap();
        assert!(caudal_topology::Topology::resolve(&file).is_ok(), "{name}");
    }
    assert_eq!(names.lines().count(), 7);
}

fn schema() {
    let place = Place::of("lab");
    let printed = place.says("schema").done().stdout;
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/topology.schema.json");
    let published = fs::read_to_string(path).unwrap();
    assert_eq!(printed, published, "run `cargo run -p xtask -- reference`");
    let value: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(value["additionalProperties"], false);
}
