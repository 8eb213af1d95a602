//! Users without privileges, and machines without TUN.

use crate::support::place::Place;
use crate::support::run;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub(crate) fn ordinary_user() {
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

pub(crate) fn without_tun() {
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
