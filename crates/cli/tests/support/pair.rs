//! A lab of two hosts with one link between them.

use super::Running;
use super::place::Place;
use serde_json::Value;
use std::process::Command;

/// The port of the server in a lab.
const PORT: &str = "5201";

/// A lab of the hosts h1 and h2, with one link between them; taken down when dropped.
pub struct Pair {
    place: Place,
    name: String,
}

impl Pair {
    /// Builds it with these keys of the link, as a topology file has them.
    #[track_caller]
    pub fn up(link: &str) -> Self {
        let place = Place::of("lab");
        let text = format!(
            "congestion = \"cubic\"\nsysctl = {{ \"net.ipv4.tcp_no_metrics_save\" = \"1\" }}\n[[host]]\nname = \"h1\"\n[[host]]\nname = \"h2\"\n\
             [[link]]\nbetween = [\"h1\", \"h2\"]\n{link}\n"
        );
        let file = place.file("pair.toml", &text);
        let name = place
            .path()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        place.says(&format!("up {file} --name {name} -q")).done();
        Self { place, name }
    }

    /// A command line on one of the hosts.
    pub fn on(&self, host: &str, words: &str) -> Command {
        let name = &self.name;
        let mut command = self
            .place
            .command(&format!("exec --lab {name} {host} -- {words}"));
        command.env("CAUDAL_STORE", "none");
        command
    }

    /// Changes the lab while it is up: the link and the keys, as `lab set` has them.
    #[track_caller]
    pub fn set(&self, words: &str) {
        let name = &self.name;
        self.place.says(&format!("set --lab {name} {words}")).done();
    }

    /// The counters of the lab, as `lab stats` has them.
    #[track_caller]
    pub fn stats(&self) -> Value {
        let name = &self.name;
        let words = format!("stats --lab {name} --json");
        self.place.says(&words).done().json()
    }

    /// Starts a server on h2.
    #[track_caller]
    pub fn serve(&self) -> Running {
        let words = format!("{} serve -p {PORT}", env!("CARGO_BIN_EXE_caudal"));
        let server = Running::start(&mut self.on("h2", &words));
        server.line_with("listening on ");
        server
    }

    /// A client on h1.
    pub fn client(&self, words: &str) -> Command {
        let words = format!("{} {words} -p {PORT}", env!("CARGO_BIN_EXE_caudal"));
        self.on("h1", &words)
    }
}
