//! The command that carries a flow out.

use caudal_core::units::format_duration;
use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowKindFile, FlowSpec};

use super::super::place::{self, Place};
use super::ground::Ground;
use super::times::sizes;
use super::{Stage, Times};
use crate::exit::{Exit, Failure};

impl Ground {
    /// The command of a flow.
    pub(super) fn words(
        &self,
        stage: &Stage<'_>,
        flow: &FlowSpec,
        times: &Times,
    ) -> Result<Vec<String>, Failure> {
        let (host, port, reverse) = self.server(stage, flow)?;
        let (kind, connections) = match flow.kind {
            FlowKindFile::Tcp => ("tcp", "--parallel"),
            FlowKindFile::Udp => ("udp", "--parallel"),
            FlowKindFile::Rtt | FlowKindFile::RttUdp => ("rtt", "--clients"),
        };
        let mut words = vec!["/proc/self/exe".to_owned(), kind.to_owned(), host];
        let mut put = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        put("--port", port.to_string());
        put(connections, flow.count.to_string());
        if let Some(congestion) = &flow.congestion {
            put("--congestion", congestion.clone());
        }
        if let Some(window) = flow.window {
            put("--window", window.get().to_string());
        }
        if let Some(dscp) = flow.dscp {
            put("--dscp", dscp.to_string());
        }
        if place::is_echo(flow) {
            if flow.kind == FlowKindFile::RttUdp {
                put("--proto", "udp".to_owned());
            }
            let one = flow.length.map(|length| length.to_string());
            let sizes = flow.sizes.clone().or(one);
            put("--sizes", sizes.unwrap_or_else(|| "64".to_owned()));
            if let Some(every) = flow.every {
                put("--every", format_duration(every));
            }
            if let Some(time) = times.time {
                put("--time", format_duration(time));
            }
            let told = flow.messages.filter(|messages| {
                times.time.is_none() || flow.every.is_some() || *messages != DEFAULT_MESSAGES
            });
            if let Some(messages) = told {
                put("--count", messages.to_string());
            } else if times.time.is_none() {
                put("--count", fitting(stage.case, flow).to_string());
            }
        } else {
            let rate = place::offered(flow, stage.place)
                .map_err(|problem| Failure::usage(problem, "give a rate"))?;
            put(
                "--rate",
                rate.map_or("max".to_owned(), |bps| format!("{bps:.0}")),
            );
            put("--interval", format_duration(stage.case.interval));
            if let Some(length) = flow.length {
                put("--length", length.to_string());
            }
            if let Some(mss) = flow.mss {
                put("--mss", mss.to_string());
            }
            match (times.time, flow.bytes) {
                (None, Some(bytes)) => put("--bytes", bytes.get().to_string()),
                (time, _) => {
                    put(
                        "--time",
                        format_duration(time.unwrap_or(stage.case.measure)),
                    );
                    if !times.omit.is_zero() {
                        put("--omit", format_duration(times.omit));
                    }
                }
            }
        }
        if reverse {
            words.push("--reverse".to_owned());
        }
        words.extend(["--json".to_owned(), "--quiet".to_owned()]);
        Ok(words)
    }

    /// The server of a flow: its address and port, and whether it is the one that sends.
    fn server(&self, stage: &Stage<'_>, flow: &FlowSpec) -> Result<(String, u16, bool), Failure> {
        match (self, stage.place) {
            (Self::Loopback(server), _) => {
                Ok(("127.0.0.1".to_owned(), server.local().port(), false))
            }
            (_, Place::Lab(net)) => {
                let node = net.topology.node(&flow.to);
                let addresses = node
                    .map(|node| net.topology.addresses_of(node))
                    .unwrap_or_default();
                let address = addresses.first().ok_or_else(|| {
                    Failure::usage(format!("{} has no address", flow.to), "join it to a link")
                })?;
                Ok((address.to_string(), caudal_engine::PORT, false))
            }
            (_, Place::Hosts { at, .. }) => {
                let (far, reverse) = match (at.get(&flow.to), at.get(&flow.from)) {
                    (Some(far), _) => (far, false),
                    (None, Some(far)) => (far, true),
                    (None, None) => {
                        return Err(Failure::usage(
                            format!("flow {:?} has no other host", flow.name),
                            "name one of its hosts in --hosts",
                        ));
                    }
                };
                Ok((far.host.clone(), far.port, reverse))
            }
            (_, Place::Loopback) => Err(Failure::new(Exit::Failed, "there is no server", "")),
        }
    }
}

/// Messages of each of several sizes on a schedule that the time measured has room for.
fn fitting(case: &Case, flow: &FlowSpec) -> u64 {
    let sizes = sizes(flow) as u128;
    let fits = flow
        .every
        .map(|every| case.measure.as_nanos() / (every.as_nanos().max(1) * sizes));
    fits.map_or(DEFAULT_MESSAGES, |fits| {
        u64::try_from(fits).unwrap_or(u64::MAX).max(1)
    })
}
