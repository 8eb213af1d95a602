//! A flow of a case, with everything filled in.

use super::super::campaign::{FlowSpec, RateSpec};
use super::super::file::{FlowFile, KindFile, PlaceFile};
use super::super::nearest::suggestion;
use super::super::scalar::number;
use super::case::Unfolder;
use super::error::{ExperimentError, Result, no_link};
use super::filler::Filler;
use super::network::Network;
use caudal_core::plan::{MAX_BLOCK, MAX_DATAGRAM, MAX_FLOWS, MAX_MESSAGES};
use caudal_core::units::{BitRate, ByteCount, format_duration};
use caudal_topology::Location;

/// Messages of each size of an echo flow for which the experiment says nothing.
pub const MESSAGES: u64 = 1000;

impl Unfolder<'_> {
    /// The flow as written, with the parameters in place.
    pub(super) fn flow(
        &self,
        index: usize,
        flow: &FlowFile,
        filler: &mut Filler<'_>,
        place: &PlaceFile,
        network: Option<&Network>,
    ) -> Result<FlowSpec> {
        let at = |key: &str| self.places.flow(index, &flow.name, key);
        let refuse = |key: &str, problem: String, remedy: &str| {
            Err(ExperimentError::new(at(key), problem, remedy))
        };
        let echo = is_echo(flow.kind);
        if let Some((key, remedy)) = misplaced(flow) {
            let kind = kind_name(flow.kind);
            return refuse(
                key,
                format!("{key} is nothing for the {kind} flow {}", flow.name),
                remedy,
            );
        }
        let from = filler.text(&at("from"), &flow.from)?;
        let to = filler.text(&at("to"), &flow.to)?;
        for (key, host) in [("from", &from), ("to", &to)] {
            if host.is_empty() {
                return refuse(key, format!("{key} is empty"), "name a host");
            }
            if let Some(network) = network
                && !network.hosts.contains(host)
            {
                let hosts = network.hosts.iter().map(String::as_str);
                let remedy = suggestion(host, "host", hosts);
                return refuse(key, format!("there is no host {host:?}"), &remedy);
            }
        }
        if from == to && place.loopback != Some(true) {
            return refuse("to", format!("{to} would send to itself"), "name two hosts");
        }
        let of = filler.optional(&at("of"), flow.of.as_ref())?;
        if let (Some(link), Some(network)) = (&of, network)
            && !network.links.contains(link)
        {
            let links: Vec<&str> = network.links.iter().map(String::as_str).collect();
            return Err(no_link(at("of"), link, &links));
        }
        let rate = filler.read(&at("rate"), flow.rate.as_ref(), |text| {
            rate(text, of.clone())
        })?;
        let rate = match rate {
            None if flow.kind == KindFile::Udp => {
                return Err(ExperimentError::new(
                    Location::element("flow", index),
                    format!("UDP flow {} has no rate", flow.name),
                    "give rate, as 50M or 80%",
                ));
            }
            rate => rate.unwrap_or(RateSpec::Max),
        };
        if let RateSpec::Part { link, .. } = &rate {
            if place.loopback == Some(true) {
                return refuse(
                    "rate",
                    "there is no link to send a part of".to_owned(),
                    "give a rate, as 50M",
                );
            }
            if place.hosts.is_some() && place.link_rate.is_none() {
                let of = link.as_deref().unwrap_or("the link");
                return refuse(
                    "rate",
                    format!("nobody knows the rate of {of} in a real network"),
                    "give topology.link_rate, or a rate as 50M",
                );
            }
        }
        let trial = self.warm_up + self.measure;
        let start = filler
            .time(&at("start"), flow.start.as_ref())?
            .unwrap_or_default();
        let stop = filler.time(&at("stop"), flow.stop.as_ref())?;
        let all = format_duration(trial);
        if start >= trial {
            let start = format_duration(start);
            return refuse(
                "start",
                format!(
                    "{} starts at {start}, when the trial of {all} is over",
                    flow.name
                ),
                "start earlier, or measure longer",
            );
        }
        if let Some(stop) = stop {
            let remedy = "stop after the start and within warm_up and measure";
            if stop <= start || stop > trial {
                let stop = format_duration(stop);
                let start = format_duration(start);
                return refuse(
                    "stop",
                    format!(
                        "{} cannot stop at {stop}, having started at {start} in a trial of {all}",
                        flow.name
                    ),
                    remedy,
                );
            }
        }
        let every = filler.time(&at("every"), flow.every.as_ref())?;
        if every.is_some_and(|every| every.is_zero()) {
            return refuse(
                "every",
                "every cannot be 0s".to_owned(),
                "write for example 20ms",
            );
        }
        let length_at = at("length");
        let (length, sizes) = if echo {
            (None, filler.scalar(&length_at, flow.length.as_ref())?)
        } else {
            let most = if flow.kind == KindFile::Udp {
                MAX_DATAGRAM
            } else {
                MAX_BLOCK
            };
            let length = filler.whole(&length_at, flow.length.as_ref(), 1..=u64::from(most))?;
            (length.map(|length| length as u32), None)
        };
        let told = filler.whole(&at("messages"), flow.messages.as_ref(), 1..=MAX_MESSAGES)?;
        let one_size = sizes
            .as_ref()
            .is_none_or(|sizes| sizes.parse::<ByteCount>().is_ok());
        let messages = match (told, every) {
            (None, None) if echo => Some(MESSAGES),
            // As many as fit; of several sizes it is known only when the sizes are read.
            (None, Some(every)) if one_size => {
                let time = stop.unwrap_or(trial).saturating_sub(start);
                Some(((time.as_nanos() / every.as_nanos()) as u64).max(1))
            }
            (told, _) => told,
        };
        Ok(FlowSpec {
            name: flow.name.clone(),
            kind: flow.kind,
            from,
            to,
            count: filler
                .whole(&at("count"), flow.count.as_ref(), 1..=u64::from(MAX_FLOWS))?
                .map_or(1, |count| count as u32),
            rate,
            length,
            sizes,
            congestion: filler.optional(&at("congestion"), flow.congestion.as_ref())?,
            window: filler.bytes(&at("window"), flow.window.as_ref())?,
            mss: filler
                .whole(&at("mss"), flow.mss.as_ref(), 88..=65_495)?
                .map(|mss| mss as u32),
            dscp: filler
                .whole(&at("dscp"), flow.dscp.as_ref(), 0..=63)?
                .map(|dscp| dscp as u8),
            start,
            stop,
            bytes: filler.bytes(&at("bytes"), flow.bytes.as_ref())?,
            messages,
            every,
            probe: flow.probe.unwrap_or(false),
        })
    }
}

/// The first key that is nothing for a flow of this kind, and what to do about it.
fn misplaced(flow: &FlowFile) -> Option<(&'static str, &'static str)> {
    let echo = is_echo(flow.kind);
    let over_udp = matches!(flow.kind, KindFile::Udp | KindFile::RttUdp);
    let unfit: [(&'static str, bool, &'static str); 8] = [
        (
            "rate",
            flow.rate.is_some() && echo,
            "echo has no rate; give every",
        ),
        ("of", flow.of.is_some() && echo, "leave it out"),
        (
            "bytes",
            flow.bytes.is_some() && echo,
            "echo sends messages; give messages",
        ),
        (
            "messages",
            flow.messages.is_some() && !echo,
            "give bytes, or a stop",
        ),
        ("every", flow.every.is_some() && !echo, "give a rate"),
        (
            "mss",
            flow.mss.is_some() && flow.kind != KindFile::Tcp,
            "leave it out",
        ),
        (
            "congestion",
            flow.congestion.is_some() && over_udp,
            "leave it out",
        ),
        (
            "of",
            flow.of.is_some() && flow.rate.is_none(),
            "give rate, as 80%",
        ),
    ];
    let first = unfit.into_iter().find(|(_, given, _)| *given);
    first.map(|(key, _, remedy)| (key, remedy))
}

const fn is_echo(kind: KindFile) -> bool {
    matches!(kind, KindFile::Rtt | KindFile::RttUdp)
}

const fn kind_name(kind: KindFile) -> &'static str {
    match kind {
        KindFile::Tcp => "TCP",
        KindFile::Udp => "UDP",
        KindFile::Rtt => "echo",
        KindFile::RttUdp => "UDP echo",
    }
}

fn rate(text: &str, link: Option<String>) -> std::result::Result<RateSpec, String> {
    const REMEDY: &str = "write 50M, 80% or max";
    const NOTHING: &str = "a flow that sends nothing is left out with when = \"PARAMETER > 0\"";
    let text = text.trim();
    if text == "max" {
        return Ok(RateSpec::Max);
    }
    if text.ends_with('%') {
        return match number(text) {
            Some(0.0) => Err(NOTHING.to_owned()),
            Some(of_one) if of_one > 0.0 && of_one <= 1000.0 => Ok(RateSpec::Part { of_one, link }),
            _ => Err(REMEDY.to_owned()),
        };
    }
    match text.parse::<BitRate>() {
        Ok(BitRate::ZERO) => Err(NOTHING.to_owned()),
        Ok(rate) => Ok(RateSpec::Payload(rate)),
        Err(_) => Err(REMEDY.to_owned()),
    }
}
