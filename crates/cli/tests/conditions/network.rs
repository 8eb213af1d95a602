//! The networks of conditions: plain namespaces with the kernel's defaults, or two hosts of a lab.

use crate::condition::{Condition, directory};
use crate::support::network::{inside, sweep};
use crate::support::pair::Pair;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The usual rate of the middle link: 19.1 Mbit/s of payload.
const RATE: &str = "20mbit";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A network that is up until it is dropped.
pub enum Network {
    /// h1 – r1 – r2 – h2; the namespaces' names begin with this.
    Plain(String),
    Lab(Box<Pair>),
}

impl Network {
    pub fn up(condition: &Condition) -> Self {
        let network = match &condition.lab {
            Some(keys) => Self::Lab(Box::new(Pair::up(keys))),
            None => Self::plain(condition.rate.as_deref().unwrap_or(RATE)),
        };
        for line in &condition.setup {
            network.does(line);
        }
        network
    }

    fn plain(rate: &str) -> Self {
        sweep();
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("caudal-test-{}-c{nth}", std::process::id());
        let network = Self::Plain(prefix.clone());
        let script = directory().join("network.sh");
        must(Command::new("sh").arg(script).args([&prefix, "up"]));
        if rate != "none" {
            for (router, device) in [("r1", "b0"), ("r2", "b1")] {
                network.does(&format!(
                    "{router}: tc qdisc add dev {device} root tbf rate {rate} burst 16k limit 100k"
                ));
            }
        }
        network
    }

    /// A program on a host.
    pub fn on(&self, host: &str, program: &[String]) -> Command {
        match self {
            Self::Plain(prefix) => {
                let mut command = inside(&format!("{prefix}{host}"), &program[0]);
                command.args(&program[1..]);
                command
            }
            Self::Lab(pair) => {
                let mut command = pair.on(host, "");
                command.args(program);
                command
            }
        }
    }

    /// Words with the namespace of a host in place of `{h1}`, `{r1}`, `{r2}` and `{h2}`.
    fn named(&self, words: &str) -> String {
        let Self::Plain(prefix) = self else {
            return words.to_owned();
        };
        ["h1", "r1", "r2", "h2"]
            .iter()
            .fold(words.to_owned(), |words, host| {
                words.replace(&format!("{{{host}}}"), &format!("{prefix}{host}"))
            })
    }

    /// Carries out a line `host: words of a shell`.
    pub fn does(&self, line: &str) {
        let (host, words) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        let shell = ["sh", "-ec", &self.named(words)].map(str::to_owned);
        must(&mut self.on(host, &shell));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Self::Plain(prefix) = self {
            let script = directory().join("network.sh");
            let _ = Command::new("sh")
                .arg(script)
                .args([prefix, "down"])
                .output();
        }
    }
}

fn must(command: &mut Command) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr),
    );
    assert!(status.success(), "{command:?}: {stdout}{stderr}");
}
