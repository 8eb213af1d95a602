//! The short flags of the commands that measure: one letter has one meaning in all of them.

use caudal_cli::args::Cli;
use clap::{Command, CommandFactory};
use std::collections::BTreeMap;

trials! {
    a_letter_is_one_flag_in_every_command_that_measures,
    the_letters_of_iperf3_keep_their_meaning,
}

/// Commands that follow other programs' letters, or that measure nothing.
const OTHERS: [&str; 9] = [
    "iperf", "iperf3", "nttcp", "lab", "study", "predict", "pcap", "report", "help",
];

/// The commands that measure, and the server they measure with.
fn measuring(cli: &Command) -> impl Iterator<Item = &Command> {
    cli.get_subcommands()
        .filter(|command| !OTHERS.contains(&command.get_name()))
}

/// The long name of each letter, and the commands that have it.
fn letters(cli: &Command) -> BTreeMap<char, BTreeMap<String, Vec<String>>> {
    let mut letters: BTreeMap<char, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for command in measuring(cli) {
        for argument in command.get_arguments() {
            let Some(short) = argument.get_short() else {
                continue;
            };
            let long = argument.get_long().unwrap_or("").to_owned();
            let commands = letters.entry(short).or_default().entry(long).or_default();
            commands.push(command.get_name().to_owned());
        }
    }
    letters
}

fn a_letter_is_one_flag_in_every_command_that_measures() {
    let mut cli = Cli::command();
    cli.build();
    for (letter, meanings) in letters(&cli) {
        assert_eq!(meanings.len(), 1, "-{letter} is {meanings:?}");
    }
}

fn the_letters_of_iperf3_keep_their_meaning() {
    let mut cli = Cli::command();
    cli.build();
    let letters = letters(&cli);
    for (letter, long) in [
        ('n', "bytes"),
        ('P', "parallel"),
        ('l', "length"),
        ('i', "interval"),
        ('F', "file"),
        ('t', "time"),
        ('b', "rate"),
        ('w', "window"),
        ('O', "omit"),
        ('J', "json"),
        ('p', "port"),
        ('R', "reverse"),
        ('C', "congestion"),
        ('A', "affinity"),
        ('B', "bind"),
    ] {
        let found = letters.get(&letter).and_then(|found| found.keys().next());
        assert_eq!(found.map(String::as_str), Some(long), "-{letter}");
    }
    for letter in ['P', 'l', 'i'] {
        let commands = &letters[&letter].values().next().unwrap();
        for name in ["tcp", "udp", "rtt"] {
            assert!(
                commands.iter().any(|command| command == name),
                "{name} -{letter}"
            );
        }
    }
}
