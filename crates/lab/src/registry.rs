//! The labs of this user, and what is left of those whose process was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use caudal_sys::host;
use caudal_sys::namespace::{Entry, NamespaceId, NetworkNamespace};
use caudal_sys::netlink::Netlink;
use serde::{Deserialize, Serialize};

use crate::control::{Reply, Request};
use crate::error::LabError;
use crate::host::mark_of;
use crate::processes;
use crate::report::LabReport;

/// For how long a lab may be silent.
const PATIENCE: Duration = Duration::from_secs(10);
/// After which a directory that says nothing about its lab counts as left behind.
const UNFINISHED: Duration = Duration::from_secs(30);
/// The most that a lab answers.
const LONGEST: u64 = 256 << 20;

/// Where the labs of this user are written down.
#[derive(Debug, Clone)]
pub struct Registry {
    directory: PathBuf,
}

/// What is written down of a lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Card {
    /// What it is called.
    pub name: String,
    /// What marks its namespaces.
    pub id: String,
    /// The process that keeps it.
    pub process: u32,
    /// When that process began, so that a later one is not taken for it.
    began: u64,
    /// The boot it belongs to.
    boot: String,
    /// What its topology says it is.
    pub title: Option<String>,
    /// When it came up, in seconds since 1970.
    pub since_unix: u64,
    /// Its hosts and routers, the first host first, and the descriptor of each one's namespace in that process.
    pub hosts: Vec<(String, i32)>,
    /// The names of its links.
    pub links: Vec<String>,
    /// What tells its namespaces from others.
    namespaces: Vec<NamespaceId>,
}

impl Registry {
    /// The registry of this user: in `/run` for root, else in the user's runtime directory or the temporary one.
    ///
    /// # Errors
    /// When there is no place to write, or the place belongs to somebody else.
    pub fn open() -> Result<Self, LabError> {
        let own = fs::metadata("/proc/self").map_or(u32::MAX, |metadata| metadata.uid());
        let directory = match std::env::var_os("CAUDAL_LAB_DIR") {
            Some(directory) => PathBuf::from(directory),
            None if own == 0 && Path::new("/run").is_dir() => PathBuf::from("/run/caudal-lab"),
            None => match std::env::var_os("XDG_RUNTIME_DIR").filter(|_| own != 0) {
                Some(directory) => PathBuf::from(directory).join("caudal-lab"),
                None => std::env::temp_dir().join(format!("caudal-lab-{own}")),
            },
        };
        let failed = |doing, cause| LabError::File {
            doing,
            path: directory.clone(),
            cause,
        };
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("make", error)),
        }
        // Somebody else's directory in a place all may write to could lead anywhere.
        let metadata = fs::symlink_metadata(&directory).map_err(|e| failed("read", e))?;
        if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o022 != 0 {
            return Err(LabError::NotPermitted {
                what: format!(
                    "{} is not a directory of this user alone",
                    directory.display()
                ),
                remedy: "remove it, or name another in CAUDAL_LAB_DIR".to_owned(),
            });
        }
        Ok(Self { directory })
    }

    /// The directory of the lab called `name`.
    #[must_use]
    pub fn place(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Takes `name` for a lab to be, and gives the directory for its files.
    ///
    /// # Errors
    /// When a lab is called so already, or nothing can be written.
    pub fn take(&self, name: &str) -> Result<PathBuf, LabError> {
        let place = self.place(name);
        match DirBuilder::new().mode(0o700).create(&place) {
            Ok(()) => Ok(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(LabError::unknown(
                format!("a lab called {name:?} is up"),
                format!("take it down with `caudal lab down {name}`, or name this one with --name"),
            )),
            Err(cause) => Err(LabError::File {
                doing: "make",
                path: place,
                cause,
            }),
        }
    }

    /// Writes down a lab that is kept by this process.
    pub(crate) fn write(
        &self,
        name: &str,
        id: &str,
        lab: Option<&crate::lab::Lab>,
    ) -> Result<(), LabError> {
        use std::os::fd::{AsFd, AsRawFd};
        let process = std::process::id();
        let mut hosts: Vec<(String, i32)> = Vec::new();
        let mut card = Card {
            name: name.to_owned(),
            id: id.to_owned(),
            process,
            began: processes::began(process).unwrap_or(0),
            boot: host::boot_id().unwrap_or_default(),
            title: None,
            since_unix: host_time(),
            hosts: Vec::new(),
            links: Vec::new(),
            namespaces: Vec::new(),
        };
        if let Some(lab) = lab {
            let descriptors = lab.namespaces();
            hosts.extend(descriptors.map(|(name, ns)| (name.to_owned(), ns.as_fd().as_raw_fd())));
            card.title.clone_from(&lab.topology().title);
            let links = &lab.topology().links;
            card.links = links.iter().map(|link| link.name.clone()).collect();
            card.namespaces = lab.ids().into_iter().collect();
        }
        card.hosts = hosts;
        let place = self.place(name);
        let path = place.join("lab.json");
        let new = place.join("lab.json.new");
        let text = serde_json::to_string_pretty(&card).unwrap_or_default();
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|cause| LabError::File {
                doing: "write",
                path,
                cause,
            })
    }

    /// The labs that are up, by name. A lab that is just being built is not among them.
    #[must_use]
    pub fn list(&self) -> Vec<Card> {
        let mut cards: Vec<Card> = self
            .names()
            .iter()
            .filter_map(|name| self.card(name))
            .filter(|card| card.is_alive() && !card.hosts.is_empty())
            .collect();
        cards.sort_by(|one, other| one.name.cmp(&other.name));
        cards
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()
    }

    fn card(&self, name: &str) -> Option<Card> {
        let text = fs::read_to_string(self.place(name).join("lab.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The lab called `name`, or the only one there is.
    ///
    /// # Errors
    /// When there is none, or it must be said which.
    pub fn find(&self, name: Option<&str>) -> Result<Card, LabError> {
        let mut cards = self.list();
        let all: Vec<String> = cards.iter().map(|card| card.name.clone()).collect();
        if let Some(name) = name {
            cards.retain(|card| card.name == name);
        }
        match (cards.len(), name) {
            (1, _) => Ok(cards.remove(0)),
            (0, Some(name)) if !all.is_empty() => Err(LabError::unknown(
                format!("no lab called {name:?} is up"),
                format!("up are {}", all.join(", ")),
            )),
            (0, _) => Err(LabError::unknown(
                "no lab is up",
                "start one with `caudal lab up pair`",
            )),
            _ => Err(LabError::unknown(
                format!("{} labs are up", all.len()),
                format!("say which with --lab: {}", all.join(", ")),
            )),
        }
    }

    /// Removes what killed labs left: their processes, and with them their namespaces and devices; and their files.
    ///
    /// Answers the names of the labs it cleaned up after.
    pub fn recover(&self) -> Vec<String> {
        let mut found = Vec::new();
        for name in self.names() {
            let place = self.place(&name);
            match self.card(&name) {
                Some(card) if card.is_alive() => continue,
                Some(card) => {
                    card.kill_leftovers();
                    found.push(name);
                }
                // Between taking the name and writing it down; or not one of ours.
                None if !is_old(&place) => continue,
                None => {}
            }
            for file in ["lab.json", "lab.json.new", "hosts", "control", "log"] {
                let _ = fs::remove_file(place.join(file));
            }
            let _ = fs::remove_dir(&place);
        }
        found
    }

    /// Removes the files of a lab.
    pub(crate) fn forget(&self, name: &str) {
        let place = self.place(name);
        for file in ["control", "hosts", "log", "lab.json.new", "lab.json"] {
            let _ = fs::remove_file(place.join(file));
        }
        let _ = fs::remove_dir(&place);
    }

    fn ask(&self, card: &Card, request: &Request) -> Result<Reply, LabError> {
        let silent = |error: &dyn std::fmt::Display| LabError::Silent {
            name: card.name.clone(),
            reason: error.to_string(),
        };
        let path = self.place(&card.name).join("control");
        let mut stream = UnixStream::connect(path).map_err(|error| silent(&error))?;
        let answer: io::Result<String> = (|| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let text = serde_json::to_string(request)?;
            stream.write_all(format!("{text}\n").as_bytes())?;
            let mut line = String::new();
            let mut reader = BufReader::new(io::Read::take(&stream, LONGEST));
            reader.read_line(&mut line)?;
            Ok(line)
        })();
        let line = answer.map_err(|error| silent(&error))?;
        serde_json::from_str(&line).map_err(|error| silent(&error))
    }

    fn order(&self, card: &Card, request: &Request) -> Result<(), LabError> {
        match self.ask(card, request)? {
            Reply::Refused {
                reason,
                is_usage: true,
            } => {
                let (problem, remedy) = reason.split_once("; ").unwrap_or((&reason, "try again"));
                Err(LabError::unknown(problem, remedy))
            }
            Reply::Refused { reason, .. } => {
                Err(LabError::kernel("do that")(io::Error::other(reason)))
            }
            Reply::Done | Reply::Report(_) => Ok(()),
        }
    }

    /// Everything a lab counted.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn report(&self, card: &Card) -> Result<LabReport, LabError> {
        match self.ask(card, &Request::Report)? {
            Reply::Report(report) => Ok(*report),
            Reply::Refused { reason, .. } => {
                Err(LabError::kernel("report")(io::Error::other(reason)))
            }
            Reply::Done => Err(LabError::Silent {
                name: card.name.clone(),
                reason: "it gave no report".to_owned(),
            }),
        }
    }

    /// Orders a lab to do something.
    ///
    /// # Errors
    /// When it refuses or does not answer.
    pub fn tell(&self, card: &Card, request: &Request) -> Result<(), LabError> {
        self.order(card, request)
    }

    /// Ends a lab, by force when it does not answer; afterwards nothing of it is left.
    pub fn take_down(&self, card: &Card) {
        let obeyed = self.order(card, &Request::Down).is_ok();
        let mut waited = Duration::ZERO;
        while card.is_alive() && waited < PATIENCE {
            if !obeyed {
                caudal_sys::signal::kill(card.process);
            }
            std::thread::sleep(Duration::from_millis(5));
            waited += Duration::from_millis(5);
        }
        if card.is_alive() {
            caudal_sys::signal::kill(card.process);
            std::thread::sleep(Duration::from_millis(50));
        }
        card.kill_leftovers();
        self.forget(&card.name);
    }

    /// The way onto a host of a lab; `None` is its first host.
    ///
    /// # Errors
    /// When there is no such host, or the lab has ended.
    pub fn entry(&self, card: &Card, host: Option<&str>) -> Result<(String, Entry), LabError> {
        let wanted = host.map_or_else(
            || card.hosts.first(),
            |host| card.hosts.iter().find(|(name, _)| name == host),
        );
        let Some((name, descriptor)) = wanted else {
            let all: Vec<&str> = card.hosts.iter().map(|(name, _)| name.as_str()).collect();
            return Err(LabError::unknown(
                format!("there is no host {:?}", host.unwrap_or("")),
                format!("take one of {}", all.join(", ")),
            ));
        };
        let process = card.process;
        let entry = NetworkNamespace::at(&format!("/proc/{process}/fd/{descriptor}"))
            .and_then(|namespace| {
                let hosts_file = self.place(&card.name).join("hosts");
                Entry::new(namespace, name, &hosts_file.to_string_lossy())
            })
            .and_then(|entry| entry.through_user_namespace(&format!("/proc/{process}/ns/user")))
            .map_err(LabError::kernel(format!("enter {name}")))?;
        Ok((name.clone(), entry))
    }
}

impl Card {
    /// Whether the process that keeps it still runs.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let this_boot = host::boot_id().unwrap_or_default();
        self.boot == this_boot && processes::began(self.process) == Some(self.began)
    }

    /// Kills the processes on its hosts, known by namespace and by the mark on the loopback device there.
    fn kill_leftovers(&self) {
        if self.boot != host::boot_id().unwrap_or_default() {
            return;
        }
        let mark = mark_of(&self.id);
        let written: BTreeSet<NamespaceId> = self.namespaces.iter().copied().collect();
        let mut ours: BTreeMap<NamespaceId, bool> = BTreeMap::new();
        for process in processes::inside(&written) {
            let Some(id) = processes::namespace_of(process) else {
                continue;
            };
            // The number of a namespace that is gone is given to the next one, which may be anybody's.
            ours.entry(id).or_insert_with(|| {
                let namespace = NetworkNamespace::at(&format!("/proc/{process}/ns/net"));
                let alias = namespace
                    .and_then(|namespace| namespace.run(|| Netlink::open()?.alias_of("lo")));
                match alias {
                    Ok(alias) => alias.as_deref() == Some(mark.as_str()),
                    // One of a user namespace may not be entered from outside; there what `exec` wrote down must do.
                    Err(_) => processes::has_variable(process, "CAUDAL_LAB", &self.name),
                }
            });
        }
        let ours: BTreeSet<NamespaceId> = ours
            .into_iter()
            .filter_map(|(id, is)| is.then_some(id))
            .collect();
        if !ours.is_empty() {
            processes::kill(&ours);
        }
    }
}

fn host_time() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn is_old(place: &Path) -> bool {
    let age = fs::metadata(place)
        .and_then(|metadata| metadata.modified())
        .map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > UNFINISHED)
}
