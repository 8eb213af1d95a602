//! An experiment made ready: its cases with their places, whether they can run here, and what they take.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use caudal_experiment::{Campaign, Case, FlowKindFile};
use caudal_lab::registry::Registry;
use caudal_topology::Preset;

use super::carry;
use super::place::{self, Address, Place, Places};
use super::source::Source;
use crate::exit::{Exit, Failure};
use crate::lab::keep;
use caudal_experiment::CasePredictions;

/// What a trial takes beside its lead and its flows: a lab up and down, servers, the last counts.
const AROUND: Duration = Duration::from_millis(900);
/// How long a host may take to answer.
const ANSWERING: Duration = Duration::from_secs(5);

/// An experiment made ready.
#[derive(Debug)]
pub struct Prepared {
    /// Where it comes from.
    pub source: Source,
    /// What `--hosts` says.
    pub hosts: Option<BTreeMap<String, Address>>,
    /// Everything that is to be carried out.
    pub campaign: Campaign,
    /// Where, a place for each case.
    pub places: Vec<Place>,
}

impl Prepared {
    /// Unfolds an experiment and makes its networks out.
    ///
    /// # Errors
    /// Names file, line and key.
    pub fn of(
        mut source: Source,
        hosts: Option<BTreeMap<String, Address>>,
    ) -> Result<Self, Failure> {
        let campaign = source.campaign()?;
        let mut places = Places::default();
        let all: Result<Vec<Place>, Failure> = campaign
            .cases
            .iter()
            .map(|case| places.of(case, &mut source, hosts.as_ref()))
            .collect();
        let all = all?;
        let mut links = BTreeSet::new();
        for net in all.iter().filter_map(Place::net) {
            links.extend(net.topology.links.iter().map(|link| link.name.clone()));
        }
        if !links.is_empty() {
            let links: Vec<String> = links.into_iter().collect();
            campaign
                .check_links(&links)
                .map_err(|error| source.wrong(&error.at, &error.problem, &error.remedy))?;
        }
        Ok(Self {
            source,
            hosts,
            campaign,
            places: all,
        })
    }

    /// Whether it can run here.
    ///
    /// # Errors
    /// The first thing that is missing, with exit code 4.
    pub fn can_run(&self) -> Result<(), Failure> {
        let because = |why: &str, remedy: &str| {
            Failure::new(
                Exit::NotPermitted,
                format!("{} cannot run here, because {why}", self.source.called),
                remedy,
            )
        };
        let offered = caudal_sys::tcp::available_congestion_controls();
        for (case, place) in self.campaign.cases.iter().zip(&self.places) {
            for flow in &case.flows {
                // At a sender that is another host it is that host's kernel that counts.
                let far = matches!(place, Place::Hosts { at, .. } if at.contains_key(&flow.from));
                if let Some(name) = flow.congestion.as_ref().filter(|_| !far)
                    && !offered.contains(name)
                {
                    return Err(because(
                        &format!("this kernel offers no congestion control {name:?}"),
                        &format!("load it with `modprobe tcp_{name}`, or leave it out with --set"),
                    ));
                }
            }
        }
        if self
            .places
            .iter()
            .any(|place| matches!(place, Place::Lab(_)))
        {
            a_lab_can_be_built().map_err(|failure| because(&failure.message, &failure.advice))?;
        }
        let mut hosts = BTreeSet::new();
        for place in &self.places {
            if let Place::Hosts { at, .. } = place {
                hosts.extend(
                    at.values()
                        .map(|address| (address.host.clone(), address.port)),
                );
            }
        }
        for (host, port) in hosts {
            answers(&host, port).map_err(|cause| Failure {
                exit: Exit::Peer,
                ..because(
                    &format!("{host} does not answer on port {port}: {cause}"),
                    "start `caudal serve` there, or give its port as NAME=ADDRESS:PORT",
                )
            })?;
        }
        Ok(())
    }

    /// What is to be known before it runs, though it can.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.captures() && !in_path("tcpdump") {
            all.push("no capture: tcpdump is not installed".to_owned());
        }
        all
    }

    /// Whether any case is captured.
    #[must_use]
    pub fn captures(&self) -> bool {
        self.campaign.cases.iter().any(|case| case.capture)
    }

    /// How long a trial of a case takes, everything around it included.
    #[must_use]
    pub fn trial_time(&self, index: usize) -> Duration {
        let (case, place) = (&self.campaign.cases[index], &self.places[index]);
        AROUND + carry::lead(case, place) + carry::length(case, place)
    }

    /// The fewest and the most trials.
    #[must_use]
    pub fn trials(&self) -> (u64, u64) {
        let rule = &self.campaign.rule;
        let cases = self.campaign.cases.len() as u64;
        let most = if rule.relative_error.is_finite() {
            rule.max
        } else {
            rule.min
        };
        (cases * rule.min, cases * most.max(rule.min))
    }

    /// How long the fewest and the most trials take.
    #[must_use]
    pub fn time(&self) -> (Duration, Duration) {
        let cases = self.campaign.cases.len();
        let once: Duration = (0..cases).map(|case| self.trial_time(case)).sum();
        let (fewest, most) = self.trials();
        let cases = cases.max(1) as u64;
        let times = |trials: u64| once.mul_f64((trials / cases) as f64);
        (times(fewest), times(most))
    }

    /// Payload bytes that the fewest trials send, as far as that can be told; UDP counts with what is lost.
    #[must_use]
    pub fn bytes(&self, expected: &BTreeMap<String, CasePredictions>) -> f64 {
        let once: f64 = self
            .campaign
            .cases
            .iter()
            .zip(&self.places)
            .map(|(case, place)| bytes_of(case, place, expected.get(&case.key)))
            .sum();
        once * self.campaign.rule.min as f64
    }
}

fn bytes_of(case: &Case, place: &Place, expected: Option<&CasePredictions>) -> f64 {
    let of = |flow: &caudal_experiment::FlowSpec| {
        if let Some(bytes) = flow.bytes {
            return bytes.as_f64();
        }
        let times = carry::Times::of(case, flow);
        let count = f64::from(flow.count);
        if place::is_echo(flow) {
            let told = flow
                .sizes
                .as_deref()
                .and_then(|sizes| crate::rtt::sizes(sizes).ok());
            let sizes: f64 = told.map_or(64.0, |sizes| {
                sizes.list().iter().map(|size| f64::from(*size)).sum()
            });
            return 2.0 * sizes * flow.messages.unwrap_or(1000) as f64 * count;
        }
        let seconds = times
            .time
            .map_or(0.0, |time| (times.omit + time).as_secs_f64());
        let offered = place::offered(flow, place)
            .ok()
            .flatten()
            .map(|bps| bps * count);
        let name = format!("{}.goodput", flow.name);
        let predicted = expected.and_then(|expected| expected.predicted.get(&name).copied());
        let rate = match flow.kind {
            FlowKindFile::Udp => offered.or(predicted),
            _ => predicted.or(offered),
        };
        rate.unwrap_or(0.0) * seconds / 8.0
    };
    case.flows.iter().map(of).sum()
}

/// Builds the smallest lab there is, and takes it down.
fn a_lab_can_be_built() -> Result<(), Failure> {
    let registry = Registry::open()?;
    for name in registry.clean_up() {
        eprintln!("caudal: removed what a killed lab called {name} had left");
    }
    let file = Preset::by_name("pair").and_then(|preset| preset.file(None).ok());
    let name = format!("study-check-{}", std::process::id());
    let (keeper, _) = keep::start(&registry, file.unwrap_or_default(), &name, true)?;
    keep::end(&registry, keeper, &name);
    Ok(())
}

fn answers(host: &str, port: u16) -> std::io::Result<()> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "it has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWERING) {
            Ok(_) => return Ok(()),
            Err(cause) => last = cause,
        }
    }
    Err(last)
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
