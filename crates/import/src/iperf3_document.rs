//! The JSON document of iperf3, as far as it is read.
//!
//! Every version from 3.0 to 3.21 is accepted: keys may be missing, integers may be written as `1.0`, and a value of
//! another type than expected counts as missing.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The object that `iperf3 -J` prints for a test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Document {
    #[serde(deserialize_with = "lenient")]
    pub start: Option<Iperf3Start>,
    #[serde(deserialize_with = "lenient_list")]
    pub intervals: Option<Vec<Iperf3Interval>>,
    #[serde(deserialize_with = "lenient")]
    pub end: Option<DocumentEnd>,
    #[serde(deserialize_with = "lenient")]
    pub title: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<String>,
}

/// The part known before the test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Start {
    #[serde(deserialize_with = "lenient")]
    pub version: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub title: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub timestamp: Option<Iperf3Timestamp>,
    /// The server, in the document of a client.
    #[serde(deserialize_with = "lenient")]
    pub connecting_to: Option<DocumentPeer>,
    /// The client, in the document of a server.
    #[serde(deserialize_with = "lenient")]
    pub accepted_connection: Option<DocumentPeer>,
    #[serde(deserialize_with = "lenient")]
    pub test_start: Option<Iperf3Test>,
    #[serde(deserialize_with = "lenient")]
    pub target_bitrate: Option<f64>,
}

/// The time of the start, since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Timestamp {
    #[serde(deserialize_with = "lenient")]
    pub timesecs: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub timemillisecs: Option<f64>,
}

/// The address of the peer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DocumentPeer {
    #[serde(deserialize_with = "lenient")]
    pub host: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub port: Option<f64>,
}

/// The settings of the test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Test {
    #[serde(deserialize_with = "lenient")]
    pub protocol: Option<String>,
    /// Bytes of one write or datagram.
    #[serde(deserialize_with = "lenient")]
    pub blksize: Option<f64>,
    /// Seconds.
    #[serde(deserialize_with = "lenient")]
    pub duration: Option<f64>,
    /// Seconds.
    #[serde(deserialize_with = "lenient")]
    pub omit: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub bytes: Option<f64>,
    /// bit/s.
    #[serde(deserialize_with = "lenient")]
    pub target_bitrate: Option<f64>,
    /// 1 when the server sends.
    #[serde(deserialize_with = "lenient")]
    pub reverse: Option<f64>,
}

/// An interval of all streams.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Interval {
    #[serde(deserialize_with = "lenient_list")]
    pub streams: Option<Vec<Iperf3Counts>>,
}

/// The totals of the test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct DocumentEnd {
    #[serde(deserialize_with = "lenient_list")]
    pub streams: Option<Vec<Iperf3StreamEnd>>,
    #[serde(deserialize_with = "lenient")]
    pub sum_sent: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub sum_received: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub sum_sent_bidir_reverse: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub sum_received_bidir_reverse: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub sender_tcp_congestion: Option<String>,
}

/// The totals of a stream: of both ends in one object over UDP, else one object each.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3StreamEnd {
    #[serde(deserialize_with = "lenient")]
    pub udp: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub sender: Option<Iperf3Counts>,
    #[serde(deserialize_with = "lenient")]
    pub receiver: Option<Iperf3Counts>,
}

/// Counts over some time.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Iperf3Counts {
    #[serde(deserialize_with = "lenient")]
    pub socket: Option<f64>,
    /// Seconds after the start.
    #[serde(deserialize_with = "lenient")]
    pub start: Option<f64>,
    /// Seconds after the start.
    #[serde(deserialize_with = "lenient")]
    pub end: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub bytes: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub bits_per_second: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub retransmits: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub snd_cwnd: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub max_snd_cwnd: Option<f64>,
    /// Microseconds.
    #[serde(deserialize_with = "lenient")]
    pub rtt: Option<f64>,
    /// Microseconds.
    #[serde(deserialize_with = "lenient")]
    pub mean_rtt: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub packets: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub lost_packets: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub out_of_order: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub jitter_ms: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub omitted: Option<bool>,
    /// `true` for the end that sends.
    #[serde(deserialize_with = "lenient")]
    pub sender: Option<bool>,
}

/// Reads a value; one of another type counts as missing.
fn lenient<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(T::deserialize(value).ok())
}

/// Reads a list without the items of another type.
fn lenient_list<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let Value::Array(items) = Value::deserialize(from)? else {
        return Ok(None);
    };
    let items = items
        .into_iter()
        .filter_map(|item| T::deserialize(item).ok());
    Ok(Some(items.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_types_count_as_missing() {
        let text = r#"{
            "start": {"version": 3, "timestamp": {"timesecs": 1.0}, "test_start": "none"},
            "intervals": [null, {"streams": [{"start": 0, "end": 1.5, "bytes": "many", "omitted": 0}, 7]}],
            "end": []
        }"#;
        let document: Iperf3Document = serde_json::from_str(text).unwrap();
        let start = document.start.unwrap();
        assert_eq!((start.version, start.test_start), (None, None));
        assert_eq!(start.timestamp.unwrap().timesecs, Some(1.0));
        let intervals = document.intervals.unwrap();
        let counts = Iperf3Counts {
            start: Some(0.0),
            end: Some(1.5),
            ..Iperf3Counts::default()
        };
        assert_eq!(intervals[0].streams, Some(vec![counts]));
    }
}
