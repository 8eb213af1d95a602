//! A flow of a case, with everything filled in.

use std::time::Duration;

use caudal_core::plan::{
    FileProtocol, MAX_BLOCK, MAX_DATAGRAM, MAX_FLOWS, MAX_MESSAGES, MAX_PACKET_BYTES,
};
use caudal_core::units::{BitRate, ByteCount, format_duration, parse_duration, parse_fraction};
use caudal_topology::Location;

use super::error::{ExperimentError, Result, no_link};
use super::filler::Filler;
use super::key_locations::KeyLocations;
use super::network::NetworkNames;
use crate::case::{FlowSpec, PathProbing, PathScope, RateSpec};
use crate::file::{FlowFile, FlowKindFile, TestbedFile};
use crate::scalar::parse_number;
use crate::suggestion::suggestion;

/// The shortest and the longest time of probing a path from one end.
const MIN_PROBING: Duration = Duration::from_secs(1);
const MAX_PROBING: Duration = Duration::from_secs(3600);

/// The default number of messages of each size of an echo flow.
pub const DEFAULT_MESSAGES: u64 = 1000;

/// A flow of the file that is filled in for one case.
pub(super) struct FlowUnfolder<'a> {
    pub locations: &'a KeyLocations<'a>,
    /// The duration of the case with its warm-up.
    pub duration: Duration,
    /// The index of the flow in the file.
    pub index: usize,
    pub flow: &'a FlowFile,
    pub testbed: &'a TestbedFile,
    /// The hosts and links, where they are known.
    pub network: Option<&'a NetworkNames>,
}

impl FlowUnfolder<'_> {
    /// The flow with the parameters filled in.
    pub(super) fn unfold(&self, filler: &mut Filler<'_>) -> Result<FlowSpec> {
        let flow = self.flow;
        if let Some((key, remedy)) = misplaced_key(flow) {
            let kind = kind_name(flow.kind);
            let problem = format!("{key} does not apply to the {kind} flow {}", flow.name);
            return Err(self.error(key, problem, remedy));
        }
        let (from, to) = self.hosts(filler)?;
        let rate = self.rate(filler)?;
        let (start, stop) = self.times(filler)?;
        let every = filler.time(&self.at("every"), flow.every.as_ref())?;
        if every.is_some_and(|every| every.is_zero()) {
            return Err(self.error("every", "every cannot be 0s", "write for example 20ms"));
        }
        let (length, sizes) = self.length(filler)?;
        let (via, packet) = self.protocol(filler)?;
        let written = filler.integer(
            &self.at("messages"),
            flow.messages.as_ref(),
            1..=MAX_MESSAGES,
        )?;
        let has_one_size = sizes
            .as_ref()
            .is_none_or(|sizes| sizes.parse::<ByteCount>().is_ok());
        let messages = match (written, every) {
            (None, None) if is_echo(flow.kind) => Some(DEFAULT_MESSAGES),
            // As many as fit; with several sizes the number is known only when the sizes are parsed.
            (None, Some(every)) if has_one_size => {
                let time = stop.unwrap_or(self.trial()).saturating_sub(start);
                Some(((time.as_nanos() / every.as_nanos()) as u64).max(1))
            }
            (written, _) => written,
        };
        Ok(FlowSpec {
            name: flow.name.clone(),
            kind: flow.kind,
            from,
            to,
            count: filler
                .integer(
                    &self.at("count"),
                    flow.count.as_ref(),
                    1..=u64::from(MAX_FLOWS),
                )?
                .map_or(1, |count| count as u32),
            rate,
            length,
            sizes,
            via,
            packet,
            nagle: flow.nagle.unwrap_or(false),
            congestion: filler.optional(&self.at("congestion"), flow.congestion.as_ref())?,
            window: filler.bytes(&self.at("window"), flow.window.as_ref())?,
            mss: filler
                .integer(&self.at("mss"), flow.mss.as_ref(), 88..=65_495)?
                .map(|mss| mss as u32),
            dscp: filler
                .integer(&self.at("dscp"), flow.dscp.as_ref(), 0..=63)?
                .map(|dscp| dscp as u8),
            start,
            stop,
            bytes: filler.bytes(&self.at("bytes"), flow.bytes.as_ref())?,
            messages,
            every,
            path: self.path(filler)?,
            probe: flow.probe.unwrap_or(false),
        })
    }

    fn at(&self, key: &str) -> Location {
        self.locations.flow(self.index, &self.flow.name, key)
    }

    fn error(
        &self,
        key: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ExperimentError {
        ExperimentError::new(self.at(key), problem, remedy)
    }

    /// The duration of a trial.
    fn trial(&self) -> Duration {
        self.duration
    }

    fn hosts(&self, filler: &mut Filler<'_>) -> Result<(String, String)> {
        let from = filler.text(&self.at("from"), &self.flow.from)?;
        let to = filler.text(&self.at("to"), &self.flow.to)?;
        for (key, host) in [("from", &from), ("to", &to)] {
            if host.is_empty() {
                return Err(self.error(key, format!("{key} is empty"), "name a host"));
            }
            if let Some(network) = self.network
                && !network.hosts.contains(host)
            {
                let hosts = network.hosts.iter().map(String::as_str);
                let remedy = suggestion(host, "host", hosts);
                return Err(self.error(key, format!("there is no host {host:?}"), remedy));
            }
        }
        if from == to && self.testbed.loopback != Some(true) {
            let problem = format!("{to} would send to itself");
            return Err(self.error("to", problem, "name two hosts"));
        }
        Ok((from, to))
    }

    fn rate(&self, filler: &mut Filler<'_>) -> Result<RateSpec> {
        let flow = self.flow;
        let of = filler.optional(&self.at("of"), flow.of.as_ref())?;
        if let (Some(link), Some(network)) = (&of, self.network)
            && !network.links.contains(link)
        {
            let links: Vec<&str> = network.links.iter().map(String::as_str).collect();
            return Err(no_link(self.at("of"), link, &links));
        }
        let rate = filler.parse(&self.at("rate"), flow.rate.as_ref(), |text| {
            parse_rate(text, of.clone())
        })?;
        let rate = match rate {
            None if flow.kind == FlowKindFile::Udp => {
                return Err(ExperimentError::new(
                    Location::element("flow", self.index),
                    format!("UDP flow {} has no rate", flow.name),
                    "give rate, as 50M or 80%",
                ));
            }
            rate => rate.unwrap_or(RateSpec::Max),
        };
        if let RateSpec::Share { link, .. } = &rate {
            if self.testbed.loopback == Some(true) {
                return Err(self.error(
                    "rate",
                    "there is no link for a rate in percent",
                    "give a rate, as 50M",
                ));
            }
            if self.testbed.hosts.is_some() && self.testbed.link_rate.is_none() {
                let link = link.as_deref().unwrap_or("the link");
                return Err(self.error(
                    "rate",
                    format!("the rate of {link} in a real network is unknown"),
                    "give topology.link_rate, or a rate as 50M",
                ));
            }
        }
        Ok(rate)
    }

    /// The start, and the stop where there is one.
    fn times(&self, filler: &mut Filler<'_>) -> Result<(Duration, Option<Duration>)> {
        let (flow, trial) = (self.flow, self.trial());
        let start = filler
            .time(&self.at("start"), flow.start.as_ref())?
            .unwrap_or_default();
        let stop = filler.time(&self.at("stop"), flow.stop.as_ref())?;
        let trial_text = format_duration(trial);
        let start_text = format_duration(start);
        if start >= trial {
            return Err(self.error(
                "start",
                format!(
                    "{} starts at {start_text}, after the end of the trial of {trial_text}",
                    flow.name
                ),
                "start earlier, or measure longer",
            ));
        }
        if let Some(stop) = stop
            && (stop <= start || stop > trial)
        {
            let stop = format_duration(stop);
            return Err(self.error(
                "stop",
                format!(
                    "{} cannot stop at {stop} when it starts at {start_text} in a trial of {trial_text}",
                    flow.name
                ),
                "stop after the start and within `warm_up` and `measure`",
            ));
        }
        Ok((start, stop))
    }

    /// The protocol of a file, and the file bytes in each of its datagrams.
    fn protocol(&self, filler: &mut Filler<'_>) -> Result<(Option<FileProtocol>, Option<u32>)> {
        if self.flow.kind != FlowKindFile::File {
            return Ok((None, None));
        }
        if self.flow.bytes.is_none() {
            return Err(ExperimentError::new(
                Location::element("flow", self.index),
                format!("file {} has no size", self.flow.name),
                "give bytes, as 10M",
            ));
        }
        let via = filler
            .optional(&self.at("via"), self.flow.via.as_ref())?
            .map_or(Ok(FileProtocol::Tcp), |via| {
                file_protocol(&via).ok_or_else(|| {
                    let problem = format!("there is no protocol {via:?} for files");
                    self.error("via", problem, "write tcp, tls, rbt or quic")
                })
            })?;
        let packet = filler.integer(
            &self.at("packet"),
            self.flow.packet.as_ref(),
            1..=u64::from(MAX_PACKET_BYTES),
        )?;
        Ok((Some(via), packet.map(|packet| packet as u32)))
    }

    /// What is probed of a path, and how; `None` for another kind of flow.
    fn path(&self, filler: &mut Filler<'_>) -> Result<Option<PathProbing>> {
        if self.flow.kind != FlowKindFile::Path {
            return Ok(None);
        }
        let written = self.flow.path.clone().unwrap_or_default();
        let at = |key: &str| self.at("path").key(key);
        let measure = filler
            .optional(&at("measure"), written.measure.as_ref())?
            .map_or(Ok(PathScope::Links), |text| {
                path_scope(&text).ok_or_else(|| {
                    let problem = format!("{text:?} cannot be measured of a path");
                    let remedy = "write links, ends, available, duplex or all";
                    ExperimentError::new(at("measure"), problem, remedy)
                })
            })?;
        let time = filler.parse(&at("time"), written.time.as_ref(), |text| {
            let time = parse_duration(text).ok();
            time.filter(|time| (MIN_PROBING..=MAX_PROBING).contains(time))
                .ok_or_else(|| "write from 1s to 1h".to_owned())
        })?;
        let accuracy = filler.parse(&at("accuracy"), written.accuracy.as_ref(), |text| {
            parse_fraction(text)
                .ok()
                .filter(|part| (0.005..=0.5).contains(part))
                .ok_or_else(|| "write from 0.5% to 50%".to_owned())
        })?;
        let primers = filler.integer(&at("primers"), written.primers.as_ref(), 1..=64)?;
        Ok(Some(PathProbing {
            measure,
            time,
            accuracy,
            primers: primers.map(|primers| primers as u32),
            routes: written.routes.unwrap_or(false),
        }))
    }

    /// The length of datagrams or blocks, or the sizes of echo messages.
    fn length(&self, filler: &mut Filler<'_>) -> Result<(Option<u32>, Option<String>)> {
        let (at, written) = (self.at("length"), self.flow.length.as_ref());
        if is_echo(self.flow.kind) {
            return Ok((None, filler.scalar(&at, written)?));
        }
        let max = if self.flow.kind == FlowKindFile::Udp {
            MAX_DATAGRAM
        } else {
            MAX_BLOCK
        };
        let length = filler.integer(&at, written, 1..=u64::from(max))?;
        Ok((length.map(|length| length as u32), None))
    }
}

/// The first key that does not apply to a flow of this kind, with the remedy.
fn misplaced_key(flow: &FlowFile) -> Option<(&'static str, &'static str)> {
    let is_echo = is_echo(flow.kind);
    let over_udp = matches!(flow.kind, FlowKindFile::Udp | FlowKindFile::RttUdp);
    let is_file = flow.kind == FlowKindFile::File;
    let is_path = flow.kind == FlowKindFile::Path;
    if is_path {
        return misplaced_on_path(flow).map(|key| (key, "remove it"));
    }
    let misplaced: [(&'static str, bool, &'static str); 15] = [
        ("path", flow.path.is_some(), "remove it"),
        ("via", flow.via.is_some() && !is_file, "remove it"),
        ("packet", flow.packet.is_some() && !is_file, "remove it"),
        ("nagle", flow.nagle.is_some() && !is_file, "remove it"),
        (
            "count",
            flow.count.is_some() && is_file,
            "give each file a flow of its own",
        ),
        (
            "stop",
            flow.stop.is_some() && is_file,
            "a file ends when it has arrived",
        ),
        (
            "window",
            flow.window.is_some() && is_file,
            "its buffers are its own affair",
        ),
        (
            "rate",
            flow.rate.is_some() && is_echo,
            "echo has no rate; give every",
        ),
        ("of", flow.of.is_some() && is_echo, "remove it"),
        (
            "bytes",
            flow.bytes.is_some() && is_echo,
            "echo sends messages; give messages",
        ),
        (
            "messages",
            flow.messages.is_some() && !is_echo,
            "give bytes, or a stop",
        ),
        ("every", flow.every.is_some() && !is_echo, "give a rate"),
        (
            "mss",
            flow.mss.is_some() && !matches!(flow.kind, FlowKindFile::Tcp | FlowKindFile::File),
            "remove it",
        ),
        (
            "congestion",
            flow.congestion.is_some() && over_udp,
            "remove it",
        ),
        (
            "of",
            flow.of.is_some() && flow.rate.is_none(),
            "give rate, as 80%",
        ),
    ];
    let first = misplaced.into_iter().find(|(_, given, _)| *given);
    first.map(|(key, _, remedy)| (key, remedy))
}

/// The first key that does not apply to a path: it is probed in its own way, and for as long as that takes.
fn misplaced_on_path(flow: &FlowFile) -> Option<&'static str> {
    let given = [
        ("count", flow.count.is_some()),
        ("rate", flow.rate.is_some()),
        ("of", flow.of.is_some()),
        ("length", flow.length.is_some()),
        ("via", flow.via.is_some()),
        ("packet", flow.packet.is_some()),
        ("nagle", flow.nagle.is_some()),
        ("congestion", flow.congestion.is_some()),
        ("window", flow.window.is_some()),
        ("mss", flow.mss.is_some()),
        ("dscp", flow.dscp.is_some()),
        ("stop", flow.stop.is_some()),
        ("bytes", flow.bytes.is_some()),
        ("messages", flow.messages.is_some()),
        ("every", flow.every.is_some()),
        ("baseline", flow.baseline.is_some()),
        ("probe", flow.probe.is_some()),
    ];
    let first = given.into_iter().find(|(_, given)| *given);
    first.map(|(key, _)| key)
}

/// What is measured of a path, by its name.
fn path_scope(name: &str) -> Option<PathScope> {
    Some(match name {
        "links" => PathScope::Links,
        "ends" => PathScope::Ends,
        "available" => PathScope::Available,
        "duplex" => PathScope::Duplex,
        "all" => PathScope::All,
        _ => return None,
    })
}

/// The protocol of files with this name.
fn file_protocol(name: &str) -> Option<FileProtocol> {
    Some(match name {
        "tcp" => FileProtocol::Tcp,
        "tls" => FileProtocol::Tls,
        "rbt" => FileProtocol::Rbt,
        "quic" => FileProtocol::Quic,
        _ => return None,
    })
}

const fn is_echo(kind: FlowKindFile) -> bool {
    matches!(kind, FlowKindFile::Rtt | FlowKindFile::RttUdp)
}

const fn kind_name(kind: FlowKindFile) -> &'static str {
    match kind {
        FlowKindFile::Tcp => "TCP",
        FlowKindFile::Udp => "UDP",
        FlowKindFile::Rtt => "echo",
        FlowKindFile::RttUdp => "UDP echo",
        FlowKindFile::File => "file",
        FlowKindFile::Path => "path",
    }
}

/// Parses a rate: `50M`, `80%` of `link`, or `max`.
fn parse_rate(text: &str, link: Option<String>) -> std::result::Result<RateSpec, String> {
    const REMEDY: &str = "write 50M, 80% or max";
    const ZERO: &str = "exclude a flow that sends nothing with when = \"PARAMETER > 0\"";
    let text = text.trim();
    if text == "max" {
        return Ok(RateSpec::Max);
    }
    if text.ends_with('%') {
        return match parse_number(text) {
            Some(0.0) => Err(ZERO.to_owned()),
            Some(fraction) if fraction > 0.0 && fraction <= 1000.0 => {
                Ok(RateSpec::Share { fraction, link })
            }
            _ => Err(REMEDY.to_owned()),
        };
    }
    match text.parse::<BitRate>() {
        Ok(BitRate::ZERO) => Err(ZERO.to_owned()),
        Ok(rate) => Ok(RateSpec::Payload(rate)),
        Err(error) if text.starts_with(|c: char| c.is_ascii_digit()) => Err(error.to_string()),
        Err(_) => Err(REMEDY.to_owned()),
    }
}
