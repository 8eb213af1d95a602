//! Recorded dialogues as values; transcripts/README.md has their form.

use std::fs;
use std::path::Path;

/// Which end of a dialogue does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// What an end does.
#[derive(Debug, Clone)]
pub enum Step {
    /// iperf3: the first bytes of the control connection, without the closing zero.
    Cookie(String),
    /// iperf3: a byte on the control connection.
    State(u8),
    /// iperf3: the JSON with what is asked for.
    Parameters(String),
    /// iperf3: the JSON with what was measured.
    Results(String),
    /// A connection for data is opened.
    Open { flow: usize },
    /// iperf3: bytes of data after the cookie.
    Data { flow: usize, bytes: u64 },
    /// iperf3: the datagram that opens a flow, or its answer.
    Hello { flow: usize, datagram: Vec<u8> },
    /// Datagrams of one length, with what the first and the last begin with.
    Datagrams {
        flow: usize,
        count: u64,
        length: usize,
        first: Vec<u8>,
        last: Vec<u8>,
    },
    /// iperf 2: all bytes of one direction of a connection, and what they begin with.
    Stream {
        flow: usize,
        bytes: u64,
        begin: Vec<u8>,
    },
}

/// What passed between a client and a server of one version.
#[derive(Debug, Clone)]
pub struct Dialogue {
    /// `iperf3` or `iperf2`.
    pub tool: String,
    pub version: String,
    /// The client's command line after the server's address.
    pub words: String,
    pub steps: Vec<(End, Step)>,
}

impl Dialogue {
    pub fn name(&self) -> String {
        let words = self.words.replace(' ', "_");
        format!("{}_{}_{words}", self.tool, self.version)
    }

    pub fn is_udp(&self) -> bool {
        self.words.split(' ').any(|word| word == "-u")
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.split(' ').any(|other| other == word)
    }

    /// The version as numbers, to be compared.
    pub fn version_numbers(&self) -> Vec<u32> {
        let parts = self.version.split('.');
        parts.map(|part| part.parse().unwrap()).collect()
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches('-').as_bytes();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn step(line: &str) -> (End, Step) {
    let (end, rest) = line.split_once(' ').unwrap();
    let end = match end {
        "c" => End::Client,
        "s" => End::Server,
        other => panic!("neither client nor server: {other}"),
    };
    let (what, rest) = rest.split_once(' ').unwrap();
    let words: Vec<&str> = rest.split(' ').collect();
    let number = |nth: usize| words[nth].parse::<u64>().unwrap();
    let flow = || words[0].parse::<usize>().unwrap();
    let step = match what {
        "cookie" => Step::Cookie(rest.to_owned()),
        "state" => Step::State(words[0].parse().unwrap()),
        "parameters" => Step::Parameters(rest.to_owned()),
        "results" => Step::Results(rest.to_owned()),
        "open" => Step::Open { flow: flow() },
        "data" => Step::Data {
            flow: flow(),
            bytes: number(1),
        },
        "hello" => Step::Hello {
            flow: flow(),
            datagram: hex(words[1]),
        },
        "datagrams" => Step::Datagrams {
            flow: flow(),
            count: number(1),
            length: words[3].parse().unwrap(),
            first: words.get(4).map(|text| hex(text)).unwrap_or_default(),
            last: words.get(5).map(|text| hex(text)).unwrap_or_default(),
        },
        "stream" => Step::Stream {
            flow: flow(),
            bytes: number(1),
            begin: hex(words[2]),
        },
        other => panic!("an unknown step: {other}"),
    };
    (end, step)
}

/// The dialogues of one file.
fn parse(text: &str) -> Vec<Dialogue> {
    let mut dialogues: Vec<Dialogue> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            let (who, words) = title.split_once(": ").unwrap();
            let (tool, version) = who.split_once(' ').unwrap();
            dialogues.push(Dialogue {
                tool: tool.to_owned(),
                version: version.to_owned(),
                words: words.to_owned(),
                steps: Vec::new(),
            });
        } else if !line.is_empty() {
            let dialogue = dialogues.last_mut().unwrap();
            dialogue.steps.push(step(line));
        }
    }
    dialogues
}

/// All recorded dialogues.
pub fn all() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|name| name == "txt"))
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|path| parse(&fs::read_to_string(path).unwrap()))
        .collect()
}
