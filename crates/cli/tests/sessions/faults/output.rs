//! Output that cannot be written, or nobody reads.

use super::{FAILED, NOT_PERMITTED, USAGE};
use crate::support::{Running, Serve, caudal, run, run_caudal};
use std::io::Read;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    two_servers_do_not_share_a_port,
    a_full_disk_costs_the_file_and_not_the_result,
    a_reader_that_goes_away_ends_the_test_without_a_word_and_with_code_1,
    quiet_shows_the_closing_block_beside_data_in_a_file,
    a_file_without_content_is_bad_usage,
    a_run_cut_short_leaves_the_last_complete_one_in_the_closing_block,
    nothing_is_folded_in_a_pipe_whose_width_nobody_gives,
    no_row_is_wider_than_80_columns,
}

fn two_servers_do_not_share_a_port() {
    let server = Serve::start("");
    run_caudal(&format!("serve -p {}", server.port)).failed(NOT_PERMITTED, &["in use", "-p"]);
    server.still_serves();
}

fn a_full_disk_costs_the_file_and_not_the_result() {
    for words in [
        "tcp -t 0.3 --json -o /dev/full",
        "tcp -t 0.3 -o /dev/full",
        "udp -t 0.3 --csv -o /dev/full",
    ] {
        let ended = run_caudal(words).failed(FAILED, &["/dev/full", "the disk is full"]);
        assert!(!ended.stdout.is_empty(), "the result is lost: {ended:#?}");
    }
    let ended =
        run_caudal("tcp -t 5 --json -o /nowhere/run.json").failed(FAILED, &["/nowhere/run.json"]);
    assert!(
        ended.took < Duration::from_secs(4),
        "reported before anything was measured: {ended:#?}"
    );
}

fn a_reader_that_goes_away_ends_the_test_without_a_word_and_with_code_1() {
    for words in [
        "tcp -t 60 -i 0.1",
        "udp -t 60 -i 0.1 --json-stream",
        "udp -b 1M --find-rate 0 -t 1",
        "tcp -t 1 --json",
        "rtt --count 10",
    ] {
        let mut command = caudal(words.split_whitespace());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let until = Instant::now() + Duration::from_secs(15);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                panic!("{words}: still running");
            }
            thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(status.code(), Some(FAILED), "{words}");
        assert_eq!(said, "", "{words}");
    }
}

fn quiet_shows_the_closing_block_beside_data_in_a_file() {
    let file = std::env::temp_dir().join(format!("caudal-quiet-{}", std::process::id()));
    for (words, closing) in [
        ("tcp -t 0.3 --json -q", "upload: "),
        ("udp -t 0.3 --csv -q", "upload: "),
        ("rtt --count 10 --sizes 64 --json -q", "rtt: avg "),
    ] {
        let ended = run_caudal(&format!("{words} -o {}", file.display())).done();
        assert!(
            ended.stdout.starts_with(closing) || ended.stdout.contains(&format!("\n{closing}")),
            "{words}: {ended:#?}"
        );
        assert!(!ended.stdout.contains("with this machine"), "{ended:#?}");
    }
    let _ = std::fs::remove_file(file);
}

fn a_file_without_content_is_bad_usage() {
    for (path, why) in [
        ("/tmp", "directory"),
        ("/nowhere/file", "No such file"),
        ("/dev/null", "is empty"),
        ("-", "standard input is empty"),
    ] {
        run_caudal(&format!("tcp -F {path}")).failed(USAGE, &[why]);
    }
}

fn a_run_cut_short_leaves_the_last_complete_one_in_the_closing_block() {
    let server = Serve::start("");
    let client = Running::start(&mut server.client("tcp -t 1 -b 10M --repeat 9"));
    server.running.line_with("flow(s)");
    server.running.line_with("done in");
    server.running.line_with("flow(s)");
    thread::sleep(Duration::from_millis(400));
    client.signal("INT");
    let ended = client.wait(Duration::from_secs(8));
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    for line in [
        "run 1, the last complete one, upload: ",
        "run 2 was cut short",
        "upload over 1 run: ",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:#?}");
    }
}

fn nothing_is_folded_in_a_pipe_whose_width_nobody_gives() {
    let question = "window --rate 1G --rtt 9ms --window 1M";
    let folded = run_caudal(&format!("predict {question}")).stdout;
    let mut command = caudal(format!("predict {question}").split(' '));
    let whole = run(command.env_remove("COLUMNS"), Duration::from_secs(8)).stdout;
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(joined(&folded), joined(&whole));
    assert!(whole.lines().count() < folded.lines().count(), "{whole}");
    assert!(
        whole.lines().any(|line| line.chars().count() > 80),
        "{whole}"
    );
}

fn no_row_is_wider_than_80_columns() {
    for words in [
        "tcp -t 0.4 -i 0.1 --omit 0.2 --bidir -P 2",
        "udp -t 0.4 -i 0.1 --omit 0.2 -b 10M",
        "udp --find-rate 1% -b 5M -t 0.3",
        "rtt --count 20 --sweep",
        "rtt -t 0.3 -i 0.1",
    ] {
        let ended = run_caudal(words);
        for line in ended.stdout.lines() {
            assert!(line.chars().count() <= 80, "{words}: {line}");
        }
    }
}
