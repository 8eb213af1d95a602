//! The hops of a path: the document of `mtr --json`.

use super::log::LogFormat;
use super::log_head::{LogHead, left_out};
use caudal_core::path::{
    HopAnswering, HopTimes, HostAnswer, PathHop, PathReport, PathResult, PathTarget, ProbingCost,
    ProbingMeans,
};
use caudal_core::plan::{PathPlanRecord, PlanRecord};
use caudal_core::run::RunResult;
use caudal_core::units::ByteCount;
use serde_json::Value;
use std::net::IpAddr;

/// Maximum number of hops.
const MAX_HOPS: usize = 255;
/// The confidence that a path's statements have in this program; mtr makes none.
const CONFIDENCE: f64 = 0.95;

/// The hops of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteLog {
    /// What every log reports.
    pub head: LogHead,
    /// The hops.
    pub hops: Vec<PathHop>,
    /// The address of the host, where the log has it.
    pub address: Option<IpAddr>,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// Bytes of a packet.
    packet_bytes: Option<u64>,
}

impl RouteLog {
    /// Parses a document of mtr; `None` when it is another program's.
    #[must_use]
    pub fn from_object(object: &Value) -> Option<Self> {
        let report = object.get("report")?;
        let about = report.get("mtr")?;
        let hubs = report.get("hubs")?.as_array()?;
        let mut head = LogHead::new(LogFormat::MtrJson);
        let target = about.get("dst").and_then(Value::as_str)?;
        head.peer = Some(target.to_owned());
        let mut hops: Vec<PathHop> = hubs.iter().take(MAX_HOPS).filter_map(hop).collect();
        // mtr ends at the host, whose name it may have looked up for the address that it was given.
        if let (Ok(address), Some(last)) = (target.parse(), hops.last_mut())
            && last.answering == HopAnswering::Answers
        {
            last.address = last.address.or(Some(address));
        }
        let last = hops.last().and_then(|hop| hop.address);
        let left_out = left_out(&[
            "the last round trip of each hop".to_owned(),
            "jitter, where there is some".to_owned(),
        ]);
        head.warnings.extend(left_out);
        Some(Self {
            address: target.parse().ok().or(last),
            dscp: about
                .get("tos")
                .and_then(Value::as_f64)
                .map(|tos| (tos as u8) >> 2),
            packet_bytes: number_or_text(about.get("psize")).map(|bytes| bytes as u64),
            head,
            hops,
        })
    }

    /// The plan, as far as the log shows it.
    #[must_use]
    pub fn plan(&self) -> PlanRecord {
        PlanRecord::Path(PathPlanRecord {
            peer: self.head.peer.clone().map(Into::into),
            dscp: self.dscp.map(Some),
            ..PathPlanRecord::default()
        })
    }

    /// The result.
    #[must_use]
    pub fn result(&self) -> RunResult {
        let packets = self.hops.iter().map(|hop| hop.probes).sum();
        let answers = self
            .hops
            .iter()
            .map(|hop| hop.probes - hop.unanswered)
            .sum();
        let host_answers = self
            .hops
            .last()
            .is_some_and(|hop| hop.answering == HopAnswering::Answers);
        let report = PathReport {
            target: PathTarget {
                host: self.head.peer.clone().unwrap_or_default().into(),
                address: self.address,
                port: 0,
            },
            host_answer: match host_answers {
                true => HostAnswer::PortUnreachable,
                false => HostAnswer::Nothing,
            },
            refusal: None,
            routing_loop: None,
            hops: self.hops.clone(),
            links: Vec::new(),
            narrow: None,
            narrow_unknown: Some("mtr does not measure capacities".into()),
            mtu: None,
            routes: None,
            flows: Vec::new(),
            marks: Vec::new(),
            changes: Vec::new(),
            between_ends: None,
            duplex: None,
            cost: ProbingCost {
                packets,
                bytes: ByteCount::new(packets.saturating_mul(self.packet_bytes.unwrap_or(0))),
                answers,
                elapsed_s: 0.0,
            },
            means: ProbingMeans::default(),
            confidence: CONFIDENCE,
            cut_short: None,
        };
        RunResult::Path(Box::new(PathResult {
            report,
            under_load: None,
        }))
    }

    /// What was measured, for a line.
    #[must_use]
    pub fn description(&self) -> Vec<String> {
        let last = self.hops.last();
        let rtt = last.and_then(PathHop::times_ms).map(|times| times.mean);
        let loss = last.and_then(PathHop::loss);
        let hops = match self.hops.len() {
            1 => "1 hop".to_owned(),
            count => format!("{count} hops"),
        };
        vec![
            format!("path of {hops}"),
            rtt.map_or_else(
                || "the last does not answer".to_owned(),
                |ms| format!("mean RTT {ms:.3} ms"),
            ),
            format!("{:.1} % lost", loss.unwrap_or(0.0) * 100.0),
        ]
    }
}

/// mtr writes some numbers as text.
fn number_or_text(value: Option<&Value>) -> Option<f64> {
    let value = value?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn hop(hub: &Value) -> Option<PathHop> {
    let number = |key: &str| number_or_text(hub.get(key)).filter(|value| value.is_finite());
    let ttl = number("count").filter(|ttl| (1.0..=255.0).contains(ttl))? as u8;
    let text = hub.get("host").and_then(Value::as_str).unwrap_or("???");
    let (address, name) = host(text);
    let probes = number("Snt")?.clamp(0.0, 1e15) as u64;
    let lost = number("Loss%").unwrap_or(0.0).clamp(0.0, 100.0) / 100.0;
    let unanswered = (probes as f64 * lost).round() as u64;
    let is_silent = text == "???" || (probes > 0 && unanswered >= probes);
    let times = (|| {
        Some(HopTimes {
            min: number("Best")?,
            mean: number("Avg")?,
            max: number("Wrst")?,
        })
    })();
    Some(PathHop {
        answering: match is_silent {
            true => HopAnswering::Silent,
            false => HopAnswering::Answers,
        },
        address,
        name: name.map(Into::into),
        probes,
        unanswered,
        reported_rtt_ms: times.filter(|_| !is_silent),
        ..PathHop::unknown(ttl)
    })
}

/// The address and the name of `name`, `address` or `name (address)`.
fn host(text: &str) -> (Option<IpAddr>, Option<String>) {
    if text == "???" {
        return (None, None);
    }
    if let Ok(address) = text.parse() {
        return (Some(address), None);
    }
    match text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    {
        Some((name, address)) => match address.parse() {
            Ok(address) => (Some(address), Some(name.to_owned())),
            Err(_) => (None, Some(text.to_owned())),
        },
        None => (None, Some(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hops_have_losses_times_and_names() {
        // mtr 0.95, of `mtr --json -b`.
        let hub = |count: u8, host: &str, loss: f64| json!({"count": count, "host": host, "Loss%": loss, "Snt": 20, "Last": 1.1, "Avg": 1.5, "Best": 1.0, "Wrst": 2.5, "StDev": 0.2});
        let document = json!({"report": {
            "mtr": {"src": "vm", "dst": "www.example", "tos": 0, "tests": 20, "psize": "64", "bitpattern": "0x00"},
            "hubs": [hub(1, "gw (192.0.2.1)", 0.0), hub(2, "???", 100.0), hub(3, "www.example (198.51.100.7)", 5.0)],
        }});
        let log = RouteLog::from_object(&document).unwrap();
        assert_eq!(log.address, Some([198, 51, 100, 7].into()));
        let RunResult::Path(path) = log.result() else {
            panic!("another result");
        };
        let hops = &path.report.hops;
        assert_eq!(hops[0].name.as_ref().unwrap(), "gw");
        assert_eq!(hops[1].answering, HopAnswering::Silent);
        assert_eq!((hops[2].probes, hops[2].unanswered), (20, 1));
        assert_eq!(hops[2].times_ms().unwrap().max, 2.5);
        assert_eq!(path.report.host().unwrap().ttl, 3);
        assert_eq!(path.report.cost.bytes, ByteCount::new(60 * 64));
        assert_eq!(RouteLog::from_object(&json!({"report": {}})), None);
    }
}
