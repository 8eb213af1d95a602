//! The fuzz targets of `fuzz/`: built with the stable compiler and run, each for a while.

use clap::Args;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What makes the compiler count branches for libFuzzer, as cargo-fuzz does; the sanitizers that it adds need a nightly compiler.
const INSTRUMENTED: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "--cfg=fuzzing",
];
/// The most memory of a target, MiB, and the time for one input, s: what reads a peer's bytes needs little of either.
const MAX_MEMORY_MIB: u32 = 1024;
const MAX_INPUT_S: u32 = 10;
/// Lines of a target's output that are shown when it fails.
const SHOWN_LINES: usize = 40;

/// What to run.
#[derive(Debug, Args)]
pub struct FuzzArgs {
    /// The targets, files of fuzz/fuzz_targets/ [default: all]
    targets: Vec<String>,
    /// Run each target for this many seconds
    #[arg(long, default_value_t = 20)]
    time: u32,
    /// Run this many targets at once [default: one for each processor]
    #[arg(long)]
    jobs: Option<usize>,
    /// Begin with this random number; 0 takes another one each time
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Add the inputs that reach new code to fuzz/corpus/
    #[arg(long)]
    keep: bool,
}

/// Builds and runs targets, prints the outcome of each as a test runner does, and returns the inputs that made one fail.
///
/// # Errors
/// When they cannot be built or started, or one fails.
pub fn fuzz(root: &Path, args: &FuzzArgs) -> io::Result<Vec<PathBuf>> {
    let targets = targets(root, &args.targets)?;
    let programs = build(root)?;
    let work = root.join("target/fuzz");
    let jobs = args
        .jobs
        .or_else(|| thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1);
    println!(
        "\nrunning {} fuzz targets for {} s each",
        targets.len(),
        args.time
    );
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, targets.len().max(1)) {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run(root, &work, &programs, target, args);
                    if let Err(text) = &outcome {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(format!("{target}: {text}"));
                    }
                    match outcome {
                        Ok(runs) => println!("test fuzz::{target} ... ok ({runs} inputs)"),
                        Err(_) => println!("test fuzz::{target} ... FAILED"),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    for failure in &failed {
        println!("\n{failure}");
    }
    let result = if failed.is_empty() { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {} passed; {} failed; 0 ignored",
        targets.len() - failed.len(),
        failed.len()
    );
    match failed.len() {
        0 => Ok(Vec::new()),
        count => Err(io::Error::other(format!("{count} fuzz targets failed"))),
    }
}

/// The targets that were asked for, or all.
fn targets(root: &Path, asked: &[String]) -> io::Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        all.extend(
            path.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    all.sort_unstable();
    if let Some(unknown) = asked.iter().find(|name| !all.contains(name)) {
        let known = all.join(", ");
        return Err(io::Error::other(format!(
            "no fuzz target {unknown}: there are {known}"
        )));
    }
    Ok(if asked.is_empty() {
        all
    } else {
        asked.to_vec()
    })
}

/// Builds all targets: the directory of their programs.
fn build(root: &Path) -> io::Result<PathBuf> {
    let told = Command::new("rustc").arg("-vV").output()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or_else(|| io::Error::other("rustc -vV names no host"))?;
    // With a target of its own what runs at build time is not instrumented.
    let built = Command::new("cargo")
        .args(["build", "--bins", "--locked", "--target", host])
        .args([
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target-dir",
            "target/fuzz",
        ])
        .env("RUSTFLAGS", INSTRUMENTED.join(" "))
        .current_dir(root)
        .status()?;
    match built.success() {
        true => Ok(root.join("target/fuzz").join(host).join("debug")),
        false => Err(io::Error::other("the fuzz targets cannot be built")),
    }
}

/// Runs a target: the number of inputs it was given, or what it said when it failed.
fn run(
    root: &Path,
    work: &Path,
    programs: &Path,
    target: &str,
    args: &FuzzArgs,
) -> Result<u64, String> {
    let told = |cause: io::Error| cause.to_string();
    let found = work.join("found").join(target);
    let failures = work.join("failures");
    let corpus = root.join("fuzz/corpus").join(target);
    for directory in [&found, &failures, &corpus] {
        fs::create_dir_all(directory).map_err(told)?;
    }
    let program = |limits: &[String], directories: &[&Path]| {
        Command::new(programs.join(target))
            .args(limits)
            .args(directories)
            .stdin(Stdio::null())
            .output()
            .map_err(told)
    };
    let limits = [
        format!("-max_total_time={}", args.time),
        format!("-seed={}", args.seed),
        format!("-timeout={MAX_INPUT_S}"),
        format!("-rss_limit_mb={MAX_MEMORY_MIB}"),
        format!("-artifact_prefix={}/{target}-", failures.display()),
        "-print_final_stats=1".to_owned(),
    ];
    let ran = program(&limits, &[&found, &corpus])?;
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !ran.status.success() {
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.len().saturating_sub(SHOWN_LINES);
        return Err(lines.get(shown..).unwrap_or_default().join("\n"));
    }
    if args.keep {
        let merge = ["-set_cover_merge=1", "-max_len=512"].map(str::to_owned);
        let merged = program(&merge, &[&corpus, &found])?;
        if !merged.status.success() {
            return Err(String::from_utf8_lossy(&merged.stderr).into_owned());
        }
    }
    let runs = text.lines().find_map(|line| {
        let count = line.strip_prefix("stat::number_of_executed_units:")?;
        count.trim().parse().ok()
    });
    runs.ok_or_else(|| "it does not say how many inputs it was given".to_owned())
}
