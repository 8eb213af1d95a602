//! The packages that `cargo run -p xtask -- dist` makes: installed, checked by the tools that read them, and made twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The bundle of the pages made anew: only where there is npm and its registry, as nothing else needs them.
fn bundle() -> Trial {
    let name = "the_bundle_of_the_pages_made_again_is_the_same";
    let answers = |args: &[&str]| {
        let ran = Command::new("npm").args(args).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    let is_there =
        answers(&["--version"]) && answers(&["ping", "--fetch-timeout=5000", "--fetch-retries=0"]);
    if !is_there {
        println!("{name} is ignored: there is no npm, or its registry does not answer");
    }
    Trial::test(name, || {
        let made = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["ui", "--check"])
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        Ok(())
    })
    .with_ignored_flag(!is_there)
}

fn main() {
    let args = Arguments::from_args();
    let needs = |program: &str, name: &str, test: fn()| {
        let is_there = Command::new(program).arg("--version").output().is_ok();
        assert!(
            is_there || env::var_os("CI").is_none(),
            "{program} is missing, and CI leaves nothing out"
        );
        if !is_there {
            println!("{name} is ignored: there is no {program}");
        }
        Trial::test(name, move || {
            test();
            Ok(())
        })
        .with_ignored_flag(!is_there)
    };
    let trials = vec![
        needs(
            "sha256sum",
            "the_directory_is_complete_and_made_twice_alike",
            complete,
        ),
        needs(
            "dpkg",
            "the_deb_installs_into_a_fresh_root_and_leaves_nothing",
            installs,
        ),
        needs(
            "systemd-analyze",
            "the_service_is_valid_and_hardened",
            service,
        ),
        needs("cargo", "every_crate_can_be_packaged", crates),
        needs(
            "python3",
            "the_wheel_has_the_module_and_the_program_with_their_digests",
            wheel,
        ),
    ];
    let mut trials = trials;
    trials.push(bundle());
    let conclusion = libtest_mimic::run(&args, trials);
    if let Some(directory) = SHARED.get() {
        let _ = fs::remove_dir_all(directory.parent().unwrap());
    }
    conclusion.exit();
}

/// A directory of this test, gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("caudal-packages-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// The program of the other tests, where it was built.
fn caudal() -> Option<PathBuf> {
    let own = env::current_exe().unwrap();
    let caudal = own.parent().unwrap().parent().unwrap().join("caudal");
    caudal.is_file().then_some(caudal)
}

/// The program to package; this one where only this test was built.
fn program(place: &Place) -> PathBuf {
    let program = caudal().unwrap_or_else(|| env::current_exe().unwrap());
    // Without its debugging information it is packed in a moment.
    let stripped = place.0.join("caudal");
    done(Command::new("strip").arg("-o").args([&stripped, &program]));
    stripped
}

/// The packages that several tests look at; removed at the end of all.
static SHARED: OnceLock<PathBuf> = OnceLock::new();

fn shared_packages() -> &'static Path {
    SHARED.get_or_init(|| {
        let place = ManuallyDrop::new(Place::new("shared"));
        packages(&place, "dist")
    })
}

/// Packages in a directory.
fn packages(place: &Place, name: &str) -> PathBuf {
    let directory = place.0.join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("dist")
        .arg("--binary")
        .arg(program(place))
        .arg(&directory);
    done(command.env("SOURCE_DATE_EPOCH", "1795392000"));
    directory
}

fn deb(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .unwrap()
}

/// Every file below a directory, as paths within it.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap();
                found.insert(name.display().to_string());
            }
        }
    }
    found
}

/// Unpacks a wheel as an installer does, and runs what is in it.
fn wheel() {
    const SCRIPT: &str = r#"
import base64, csv, hashlib, os, subprocess, sys, zipfile
wheel, place = sys.argv[1:]
archive = zipfile.ZipFile(wheel)
assert archive.testzip() is None
archive.extractall(place)
info = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
rows = list(csv.reader(open(os.path.join(place, info))))
assert sorted(row[0] for row in rows) == sorted(archive.namelist())
for path, digest, size in rows:
    if path == info:
        continue
    content = open(os.path.join(place, path), "rb").read()
    name, _, value = digest.partition("=")
    found = base64.urlsafe_b64encode(hashlib.new(name, content).digest()).rstrip(b"=").decode()
    assert (found, str(len(content))) == (value, size), path
script = next(info for info in archive.infolist() if info.filename.endswith(".data/scripts/caudal"))
assert script.external_attr >> 16 & 0o111, "the program cannot be executed"
program = os.path.join(place, script.filename)
os.chmod(program, 0o755)
os.environ["CAUDAL_EXECUTABLE"] = program
sys.path.insert(0, place)
import caudal
print(caudal.version())
"#;
    let place = Place::new("wheel");
    let entries = fs::read_dir(shared_packages()).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let wheel = paths
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT]).arg(wheel).arg(&place.0);
    let printed = done(command.env("PYTHONDONTWRITEBYTECODE", "1"));
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(printed.trim(), format!("caudal {VERSION}"));
}

fn complete() {
    let place = Place::new("complete");
    let (one, other) = (shared_packages(), packages(&place, "dist"));
    for name in files(one) {
        assert!(
            fs::read(one.join(&name)).unwrap() == fs::read(other.join(&name)).unwrap(),
            "{name} differs between two builds"
        );
    }
    done(
        Command::new("sha256sum")
            .current_dir(one)
            .args(["--check", "--strict", "SHA256SUMS"]),
    );
    let sums = fs::read_to_string(one.join("SHA256SUMS")).unwrap();
    let summed: BTreeSet<String> = sums
        .lines()
        .map(|line| line.split_once("  ").unwrap().1.to_owned())
        .chain(["SHA256SUMS".to_owned()])
        .collect();
    assert_eq!(summed, files(one));
    containerfile(one);
    bill_of_materials(one);
    let third_party = fs::read_to_string(one.join("licences/THIRD-PARTY")).unwrap();
    for text in ["serde 1", "rusqlite 0", "Permission is hereby granted"] {
        assert!(third_party.contains(text), "{text}");
    }
}

/// The image has nothing but what the file copies, and everything it copies is there.
fn containerfile(directory: &Path) {
    let text = fs::read_to_string(directory.join("Containerfile")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines[0], "FROM scratch");
    for line in [
        "USER 65532:65532",
        "EXPOSE 5201/tcp 5201/udp",
        "ENTRYPOINT [\"/caudal\"]",
        "CMD [\"serve\"]",
    ] {
        assert!(lines.contains(&line), "{line}: {text}");
    }
    assert!(
        text.contains(&format!("image.version=\"{VERSION}\"")),
        "{text}"
    );
    let target = lines
        .iter()
        .find_map(|line| line.strip_prefix("ARG TARGET="))
        .unwrap();
    let copies = lines.iter().filter_map(|line| line.strip_prefix("COPY "));
    for copied in copies.map(|words| words.split(' ').next().unwrap()) {
        let path = directory.join(copied.replace("${TARGET}", target));
        assert!(path.exists(), "{}", path.display());
    }
}

/// The bill of materials against Cargo.lock.
fn bill_of_materials(directory: &Path) {
    let text = fs::read(directory.join(format!("caudal-{VERSION}.cdx.json"))).unwrap();
    let bill: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(
        (&bill["bomFormat"], &bill["specVersion"]),
        (&"CycloneDX".into(), &"1.5".into())
    );
    assert_eq!(bill["metadata"]["timestamp"], "2026-11-23T00:00:00.000Z");
    assert_eq!(
        bill["metadata"]["component"]["purl"],
        format!("pkg:cargo/caudal@{VERSION}")
    );
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let locked = lock["package"].as_array().unwrap();
    let components = bill["components"].as_array().unwrap();
    let references: BTreeSet<&str> = components
        .iter()
        .map(|one| one["bom-ref"].as_str().unwrap())
        .collect();
    assert_eq!(references.len(), components.len());
    for one in components {
        let (name, version) = (
            one["name"].as_str().unwrap(),
            one["version"].as_str().unwrap(),
        );
        assert!(
            one["licenses"][0]["expression"].as_str().unwrap() != "NOASSERTION",
            "{one}"
        );
        if name == "sqlite" {
            continue;
        }
        assert_eq!(one["purl"], format!("pkg:cargo/{name}@{version}"));
        let entry = locked.iter().find(|entry| {
            entry["name"].as_str() == Some(name) && entry["version"].as_str() == Some(version)
        });
        let checksum = entry.unwrap().get("checksum").and_then(toml::Value::as_str);
        assert_eq!(one["hashes"][0]["content"].as_str(), checksum, "{name}");
    }
    for name in ["caudal-engine", "rusqlite", "sqlite", "clap"] {
        let of_name = components.iter().find(|one| one["name"] == name);
        assert_eq!(of_name.unwrap()["scope"], "required", "{name}");
    }
    assert!(!components.iter().any(|one| one["name"] == "proptest"));
    for dependency in bill["dependencies"].as_array().unwrap() {
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(references.contains(on.as_str().unwrap()), "{dependency}");
        }
    }
}

fn dpkg(root: &Path, words: &[&str]) -> String {
    let mut command = Command::new("dpkg");
    command
        .arg(format!("--root={}", root.display()))
        .args([
            "--force-not-root",
            "--force-script-chrootless",
            "--force-depends",
            "--log=/dev/null",
        ])
        .args(words);
    let output = done(&mut command);
    String::from_utf8(output.stdout).unwrap()
}

fn installs() {
    let place = Place::new("installs");
    let directory = shared_packages();
    let root = place.0.join("root");
    for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let deb = deb(directory);
    dpkg(&root, &["--install", &deb.display().to_string()]);
    let status = dpkg(&root, &["--status", "caudal"]);
    assert!(status.contains("Status: install ok installed"), "{status}");
    assert!(status.contains(&format!("Version: {VERSION}")), "{status}");
    let installed = dpkg(&root, &["--listfiles", "caudal"]);
    for path in [
        "/usr/bin/caudal",
        "/etc/default/caudal",
        "/usr/lib/systemd/system/caudal.service",
        "/usr/share/man/man1/caudal.1.gz",
        "/usr/share/man/man1/caudal-serve.1.gz",
        "/usr/share/bash-completion/completions/caudal",
        "/usr/share/zsh/vendor-completions/_caudal",
        "/usr/share/fish/vendor_completions.d/caudal.fish",
        "/usr/share/doc/caudal/copyright",
        "/usr/share/doc/caudal/sbom.cdx.json.gz",
    ] {
        assert!(
            installed.lines().any(|line| line == path),
            "{path}: {installed}"
        );
    }
    let program = root.join("usr/bin/caudal");
    if caudal().is_some() {
        let said = done(Command::new(&program).arg("--version")).stdout;
        assert!(String::from_utf8_lossy(&said).contains(VERSION), "{said:?}");
    }
    let settings = root.join("etc/default/caudal");
    fs::write(&settings, "CAUDAL_SERVE_OPTIONS=\"-1\"\n").unwrap();
    dpkg(&root, &["--remove", "caudal"]);
    assert!(!program.exists());
    assert!(
        settings.exists(),
        "settings stay until the package is purged"
    );
    dpkg(&root, &["--purge", "caudal"]);
    let left: Vec<String> = files(&root)
        .into_iter()
        .filter(|name| !name.starts_with("var/lib/dpkg"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

fn service() {
    let place = Place::new("service");
    let service = include_str!("../../packaging/caudal.service");
    // The program is not installed here.
    let service = service.replace("/usr/bin/caudal", "/bin/true");
    let unit = place.0.join("caudal.service");
    fs::write(&unit, service).unwrap();
    let output = done(
        Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&unit),
    );
    // Units that this one refers to may have flaws of their own.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("caudal"), "{said}");
    // Of 100; what is left is the network.
    let threshold = "--threshold=20";
    let security = ["security", "--offline=true", "--no-pager", threshold];
    done(Command::new("systemd-analyze").args(security).arg(&unit));
}

fn crates() {
    let output = done(Command::new(env!("CARGO_BIN_EXE_xtask")).arg("publish-check"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let packaged = said.matches("Packaging caudal").count();
    let folders = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../crates")).unwrap();
    assert_eq!(packaged, folders.count(), "{said}");
}
