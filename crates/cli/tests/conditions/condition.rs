//! The conditions, the commands and what must come out, as the files of `data` have them.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The commands that are measured under conditions, by the names of their cells.
pub type Commands = BTreeMap<String, CommandLine>;

/// A command as it is under any condition.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// The words after `caudal`, or a whole command line where `program` is another one; `{host}` is the server's address.
    pub line: String,
    /// The program of the client: caudal unless it is said.
    pub program: Option<String>,
    /// The servers on the far host, or on another as in `r2: caudal serve`: `caudal serve` unless they are said.
    pub servers: Option<Vec<String>>,
    /// What comes out over a path on which nothing is wrong.
    #[serde(flatten)]
    pub expected: Expectation,
}

/// What must come out of a command.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Expectation {
    /// The exit code: 0 unless it is said.
    pub code: Option<i32>,
    /// Texts that the output contains, folding aside: `…` stands for anything short, ` | ` parts alternatives.
    #[serde(default)]
    pub says: Vec<String>,
    /// Texts that it does not contain.
    #[serde(default)]
    pub never: Vec<String>,
    /// Quantities of the run, by their names in `quantities.toml`, and the band each is in.
    #[serde(default)]
    pub values: BTreeMap<String, [f64; 2]>,
    /// Codes of warnings that the run has.
    #[serde(default)]
    pub warns: Vec<String>,
}

/// A quantity of a run or of another tool's document.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// JSON pointers (RFC 6901), the first that is there counts.
    pub at: Vec<String>,
    /// The divisor to the unit.
    pub divide: f64,
    pub unit: String,
}

pub type Quantities = BTreeMap<String, Quantity>;

/// A network, or a host, that is not as one would wish.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    #[serde(skip)]
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// The chapter of the document.
    pub group: String,
    /// The keys of the link between h1 and h2 in a lab: without it the network is four plain namespaces.
    pub lab: Option<String>,
    /// The rate of the middle link in plain namespaces, for tc(8); `none` for that of the machine.
    pub rate: Option<String>,
    /// The address of the server: `10.91.3.2` unless it is said.
    pub host: Option<String>,
    /// Lines for the shell of a host, as `r2: nft …`, before the servers start.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The same during the test, as `2.5 r2: …`; `server: STOP` and `client: STOP` are signals.
    #[serde(default)]
    pub events: Vec<String>,
    /// What the client runs under, as `sh -c 'ulimit -n 12; exec "$@"' -`.
    #[serde(default)]
    pub client_under: Vec<String>,
    #[serde(default)]
    pub servers_under: Vec<String>,
    /// Commands that come out as over any path.
    #[serde(default)]
    pub as_ever: Vec<String>,
    /// Whether every cell asks for the document, so that all of its times are looked at.
    #[serde(default)]
    pub documents: bool,
    /// Programs that the condition takes beside those of every test.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Commands that come out otherwise.
    #[serde(default)]
    pub cell: BTreeMap<String, Cell>,
}

/// A command under a condition.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The command line, where it is another one than usual.
    pub line: Option<String>,
    pub program: Option<String>,
    pub servers: Option<Vec<String>>,
    /// Events of this cell alone.
    #[serde(default)]
    pub events: Vec<String>,
    pub code: Option<i32>,
    #[serde(default)]
    pub says: Vec<String>,
    #[serde(default)]
    pub never: Vec<String>,
    #[serde(default)]
    pub values: BTreeMap<String, [f64; 2]>,
    #[serde(default)]
    pub warns: Vec<String>,
}

/// A cell of the matrix with nothing left open.
#[derive(Debug, Clone)]
pub struct Case {
    pub condition: Condition,
    /// The name of the cell.
    pub command: String,
    pub program: Option<String>,
    pub line: String,
    pub servers: Vec<String>,
    pub events: Vec<String>,
    pub expected: Expectation,
}

/// The whole matrix.
#[derive(Debug)]
pub struct Matrix {
    pub conditions: Vec<Condition>,
    pub commands: Commands,
    pub quantities: Quantities,
}

impl Matrix {
    pub fn read() -> Self {
        let data = directory().join("data");
        let mut files: Vec<PathBuf> = fs::read_dir(data.join("conditions"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        let conditions = files.iter().flat_map(|file| {
            let all: BTreeMap<String, Condition> = parse(file);
            all.into_iter()
                .map(|(name, condition)| Condition { name, ..condition })
        });
        Self {
            conditions: conditions.collect(),
            commands: parse(&data.join("commands.toml")),
            quantities: parse(&data.join("quantities.toml")),
        }
    }

    /// Every cell, in the order of the conditions.
    pub fn cases(&self) -> Vec<Case> {
        self.conditions
            .iter()
            .flat_map(|condition| self.of(condition))
            .collect()
    }

    /// The cells of a condition.
    pub fn of(&self, condition: &Condition) -> Vec<Case> {
        let as_ever = condition
            .as_ever
            .iter()
            .map(|name| (name, Cell::default(), true));
        let others = condition
            .cell
            .iter()
            .map(|(name, cell)| (name, cell.clone(), false));
        as_ever
            .chain(others)
            .map(|(name, cell, as_ever)| self.case(condition, name, cell, as_ever))
            .collect()
    }

    fn case(&self, condition: &Condition, name: &str, cell: Cell, as_ever: bool) -> Case {
        // `tcp 2` is another cell of the command `tcp`.
        let command = name.split(" (").next().unwrap_or(name);
        let usual = self
            .commands
            .get(command)
            .unwrap_or_else(|| panic!("{}: no command {command:?}", condition.name));
        let expected = if as_ever {
            usual.expected.clone()
        } else {
            Expectation {
                code: cell.code,
                says: cell.says,
                never: cell.never,
                values: cell.values,
                warns: cell.warns,
            }
        };
        let servers = cell.servers.or_else(|| usual.servers.clone());
        Case {
            condition: condition.clone(),
            command: name.to_owned(),
            program: cell.program.or_else(|| usual.program.clone()),
            line: cell.line.unwrap_or_else(|| usual.line.clone()),
            servers: servers.unwrap_or_else(|| vec!["caudal serve".to_owned()]),
            events: [condition.events.clone(), cell.events].concat(),
            expected,
        }
    }
}

/// Where this test's own files are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conditions")
}

fn parse<T: serde::de::DeserializeOwned>(file: &Path) -> T {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
