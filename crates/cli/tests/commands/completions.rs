//! `caudal completions`, in the shell that reads them.

use crate::support::run_caudal;
use std::process::Command;

trials! {
    every_shell_gets_every_command,
    bash_completes_commands_and_flags,
}

/// The commands that must be known to every shell.
const COMMANDS: [&str; 10] = [
    "serve",
    "tcp",
    "udp",
    "rtt",
    "lab",
    "study",
    "predict",
    "pcap",
    "report",
    "completions",
];

fn every_shell_gets_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run_caudal(&format!("completions {shell}"))
            .done()
            .stdout
            .clone();
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    run_caudal("completions tcsh").failed(2, &["tcsh", "bash"]);
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let caudal = env!("CARGO_BIN_EXE_caudal");
    let script = format!(
        "source <({caudal} completions bash); COMP_WORDS=(caudal {}); COMP_CWORD={}; \
         _caudal caudal \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len()
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let offered = String::from_utf8(output.stdout).unwrap();
    offered.split_whitespace().map(str::to_owned).collect()
}

fn bash_completes_commands_and_flags() {
    assert_eq!(offered(&["ser"]), ["serve"]);
    assert_eq!(
        offered(&["serve", "--prom"]),
        ["--prometheus", "--prometheus-host"]
    );
    assert!(offered(&["report", ""]).contains(&"compare".to_owned()));
}
