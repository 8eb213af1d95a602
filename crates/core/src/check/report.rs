//! The result of several tests of one host.

use super::finding::{CheckFinding, CheckFindingCode, FindingWeight};
use super::suitability::UseSuitability;
use crate::bottleneck::LimitedBy;
use crate::plan::Direction;
use crate::quality::Grade;
use crate::text::ExternalText;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A test that is part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckPart {
    /// Connections over IPv4 and IPv6.
    Families,
    /// Round trips of small messages without load.
    RoundTrips,
    /// The hops, and the path MTU.
    Path,
    /// TCP from the server to the client with one flow.
    Download,
    /// TCP from the client to the server with one flow.
    Upload,
    /// TCP from the server to the client with several flows.
    DownloadSeveral,
    /// TCP from the client to the server with several flows.
    UploadSeveral,
    /// UDP at a modest rate from the server to the client.
    UdpDownload,
    /// UDP at a modest rate from the client to the server.
    UdpUpload,
    /// Latency under load.
    UnderLoad,
}

impl CheckPart {
    /// The test in a few words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Families => "IPv4 and IPv6",
            Self::RoundTrips => "round trips",
            Self::Path => "hops and path MTU",
            Self::Download => "download, one flow",
            Self::Upload => "upload, one flow",
            Self::DownloadSeveral => "download, several flows",
            Self::UploadSeveral => "upload, several flows",
            Self::UdpDownload => "UDP download",
            Self::UdpUpload => "UDP upload",
            Self::UnderLoad => "latency under load",
        }
    }
}

/// What the tests say together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Everything was measured, and nothing is wrong.
    Healthy,
    /// Something is wrong.
    Unhealthy,
    /// Nothing was found to be wrong, but not everything could be measured, or the measurements cannot be relied on.
    #[default]
    Undecided,
}

/// A test that was not carried out, or failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartNotMeasured {
    /// The test.
    pub part: CheckPart,
    /// Why.
    pub reason: ExternalText,
}

/// An address family of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFamily {
    /// The first address of that family.
    pub address: IpAddr,
    /// The shortest time to connect to the server's port, µs; absent where no connection opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<f64>,
    /// Why no connection opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ExternalText>,
}

/// Round trips without load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRoundTrips {
    /// Their mean, µs.
    pub mean_us: Estimate,
    /// The 99th percentile, µs; absent with too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// Messages that count.
    pub messages: u64,
    /// Messages without a reply in time.
    pub lost: u64,
}

/// The path to the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckPath {
    /// The number of hops to the host; absent where it did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u8>,
    /// The path MTU, bytes; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// The MTU of this machine's link, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_mtu_bytes: Option<u64>,
}

/// What TCP got in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckTcp {
    /// The direction.
    pub direction: Direction,
    /// The goodput of one flow, bit/s; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_bps: Option<Estimate>,
    /// What limited one flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_limited_by: Option<LimitedBy>,
    /// The number of the several flows.
    pub several: u32,
    /// The goodput of several flows together, bit/s; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_bps: Option<Estimate>,
    /// What limited the several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_limited_by: Option<LimitedBy>,
    /// The goodput of several flows as a multiple of that of one, where it is higher by more than the intervals of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
}

impl CheckTcp {
    /// Minimum of the goodput of several flows, as a multiple of that of one, to be called more.
    pub const MIN_GAIN: f64 = 1.15;

    /// `true` where several flows got more on average, and the intervals do not tell whether they do.
    #[must_use]
    pub fn may_gain(&self) -> bool {
        let (Some(one), Some(several)) = (self.one_bps, self.several_bps) else {
            return false;
        };
        self.gain.is_none() && several.mean >= one.mean * Self::MIN_GAIN
    }
}

/// What became of UDP at a modest rate in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckUdp {
    /// The direction.
    pub direction: Direction,
    /// The rate, bit/s.
    pub rate_bps: f64,
    /// The fraction lost; absent without the receiver's final account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// The interarrival jitter of RFC 3550, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_us: Option<f64>,
}

/// The delay that a load in one direction adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckLoadDirection {
    /// The direction of the load.
    pub direction: Direction,
    /// The mean of the round-trip times under load above the median of those without, µs.
    pub added_us: f64,
}

/// The latency under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckLoad {
    /// The grade; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_grade: Option<String>,
    /// The delay that each load adds.
    pub directions: Vec<CheckLoadDirection>,
}

/// The result of several tests of one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// What the tests say together.
    pub verdict: CheckVerdict,
    /// The connections over each address family of the host, where it has both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub families: Vec<CheckFamily>,
    /// Round trips without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<CheckRoundTrips>,
    /// The path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<CheckPath>,
    /// TCP in each direction, download first.
    #[serde(default)]
    pub tcp: Vec<CheckTcp>,
    /// UDP in each direction, download first.
    #[serde(default)]
    pub udp: Vec<CheckUdp>,
    /// The latency under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<CheckLoad>,
    /// What was found, the most important first.
    #[serde(default)]
    pub findings: Vec<CheckFinding>,
    /// What the network is good for.
    #[serde(default)]
    pub uses: Vec<UseSuitability>,
    /// What was not measured.
    #[serde(default)]
    pub not_measured: Vec<PartNotMeasured>,
    /// The identifiers of the tests' own runs.
    #[serde(default)]
    pub runs: Vec<String>,
    /// The reason why the check ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

impl CheckReport {
    /// The same report with the verdict that its findings lead to. What was measured on a busy host decides nothing.
    #[must_use]
    pub fn judged(self) -> Self {
        Self {
            verdict: self.judge(),
            ..self
        }
    }

    fn judge(&self) -> CheckVerdict {
        let has = |weight| self.findings.iter().any(|finding| finding.weight == weight);
        let is_busy = |finding: &CheckFinding| finding.code == CheckFindingCode::HostBusy;
        if self.findings.iter().any(is_busy) {
            CheckVerdict::Undecided
        } else if has(FindingWeight::Problem) {
            CheckVerdict::Unhealthy
        } else if has(FindingWeight::Doubt) || self.tcp.is_empty() || self.cut_short.is_some() {
            CheckVerdict::Undecided
        } else {
            CheckVerdict::Healthy
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(findings: &[(CheckFindingCode, FindingWeight)]) -> CheckVerdict {
        let finding = |(code, weight): &(CheckFindingCode, FindingWeight)| CheckFinding {
            code: *code,
            weight: *weight,
            direction: None,
            finding: String::new(),
            remedy: String::new(),
        };
        let tcp = CheckTcp {
            direction: Direction::Up,
            one_bps: None,
            one_limited_by: None,
            several: 8,
            several_bps: None,
            several_limited_by: None,
            gain: None,
        };
        let report = CheckReport {
            tcp: vec![tcp],
            findings: findings.iter().map(finding).collect(),
            ..CheckReport::default()
        };
        report.judged().verdict
    }

    #[test]
    fn problems_decide_unless_the_host_was_busy() {
        use CheckFindingCode::{HostBusy, Loss, NoGrade, SmallMtu};
        use FindingWeight::{Doubt, Note, Problem};
        assert_eq!(verdict(&[(SmallMtu, Note)]), CheckVerdict::Healthy);
        assert_eq!(verdict(&[(NoGrade, Doubt)]), CheckVerdict::Undecided);
        let lossy = [(Loss, Problem), (NoGrade, Doubt)];
        assert_eq!(verdict(&lossy), CheckVerdict::Unhealthy);
        let busy = [(HostBusy, Doubt), (Loss, Problem)];
        assert_eq!(verdict(&busy), CheckVerdict::Undecided);
        let nothing = CheckReport::default().judged();
        assert_eq!(nothing.verdict, CheckVerdict::Undecided);
    }

    #[test]
    fn a_report_survives_json() {
        let report = CheckReport {
            verdict: CheckVerdict::Healthy,
            runs: vec!["ab".to_owned()],
            ..CheckReport::default()
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<CheckReport>(&text).unwrap(), report);
    }
}
