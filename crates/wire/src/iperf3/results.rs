//! The counts of each end of an iperf3 test: one JSON object each way, the client's first.

use super::json::{count, number, text};
use super::parameters::MAX_STREAMS;
use caudal_core::text::ExternalText;
use serde_json::{Map, Value, json};

/// The counts of one end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// CPU time of the program over the length of the test, %: in all, in user space, in the kernel.
    pub cpu_percent: [f64; 3],
    /// `true` when this end counts retransmissions; `None` when it only receives.
    pub has_retransmits: Option<bool>,
    /// The congestion control in use (TCP).
    pub congestion: Option<ExternalText>,
    /// The output that the server has printed.
    pub output_text: Option<ExternalText>,
    /// The output that the server has printed, as JSON.
    pub output_json: Option<Value>,
    /// One for each stream.
    pub streams: Vec<StreamResult>,
}

/// The counts of one end of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StreamResult {
    /// The stream's number.
    pub id: u32,
    /// Payload bytes after the warm-up.
    pub bytes: u64,
    /// Segments retransmitted; `None` when this end does not know.
    pub retransmits: Option<u64>,
    /// RFC 3550 jitter, s (UDP receiver).
    pub jitter_s: f64,
    /// Datagrams missing, those of the warm-up included (UDP receiver).
    pub errors: u64,
    /// Datagrams missing in the warm-up; `None` from versions before 3.14.
    pub omitted_errors: Option<u64>,
    /// The last datagram's number.
    pub packets: u64,
    /// The number of the last datagram of the warm-up; `None` from versions before 3.14.
    pub omitted_packets: Option<u64>,
    /// The start of the measured part, s; `None` from versions before 3.2.
    pub start_s: Option<f64>,
    /// The end of the measured part, s; `None` from versions before 3.2.
    pub end_s: Option<f64>,
}

/// The reason why a text is not the results of a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultsError {
    /// The text is not a JSON object.
    #[error("the results are no JSON object: {0}")]
    Json(ExternalText),
    /// A key every version sends is missing.
    #[error("the results have no {0:?}")]
    Missing(&'static str),
    /// More streams than any test has.
    #[error("the results name {0} streams")]
    TooMany(usize),
}

fn minus_one(value: Option<u64>) -> Value {
    value.map_or(json!(-1), |value| json!(value))
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

impl Results {
    /// The results as they are sent.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut map = Map::new();
        let names = ["cpu_util_total", "cpu_util_user", "cpu_util_system"];
        for (name, percent) in names.iter().zip(self.cpu_percent) {
            map.insert((*name).to_owned(), json!(finite(percent)));
        }
        map.insert(
            "sender_has_retransmits".to_owned(),
            self.has_retransmits
                .map_or(json!(-1), |has| json!(i32::from(has))),
        );
        if let Some(name) = &self.congestion {
            map.insert("congestion_used".to_owned(), json!(name));
        }
        if let Some(output) = &self.output_json {
            map.insert("server_output_json".to_owned(), output.clone());
        } else if let Some(output) = &self.output_text {
            map.insert("server_output_text".to_owned(), json!(output));
        }
        let streams: Vec<Value> = self.streams.iter().map(StreamResult::encode).collect();
        map.insert("streams".to_owned(), json!(streams));
        Value::Object(map).to_string()
    }

    /// Reads the other end's results.
    ///
    /// # Errors
    /// When the text is not a JSON object, or keys are missing that every version sends.
    pub fn decode(json: &[u8]) -> Result<Self, ResultsError> {
        let map: Map<String, Value> = serde_json::from_slice(json)
            .map_err(|cause| ResultsError::Json(cause.to_string().into()))?;
        let percent = |key| number(&map, key).ok_or(ResultsError::Missing(key));
        let cpu_percent = [
            percent("cpu_util_total")?,
            percent("cpu_util_user")?,
            percent("cpu_util_system")?,
        ];
        let streams = map
            .get("streams")
            .and_then(Value::as_array)
            .ok_or(ResultsError::Missing("streams"))?;
        if streams.len() > const { 2 * MAX_STREAMS as usize } {
            return Err(ResultsError::TooMany(streams.len()));
        }
        Ok(Self {
            cpu_percent,
            has_retransmits: count(&map, "sender_has_retransmits").map(|has| has != 0),
            congestion: text(&map, "congestion_used"),
            output_text: text(&map, "server_output_text"),
            output_json: map
                .get("server_output_json")
                .filter(|output| output.is_object())
                .cloned(),
            streams: streams
                .iter()
                .map(StreamResult::decode)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The counts of the stream with this number.
    #[must_use]
    pub fn stream(&self, id: u32) -> Option<&StreamResult> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}

impl StreamResult {
    fn encode(&self) -> Value {
        json!({
            "id": self.id,
            "bytes": self.bytes,
            "retransmits": minus_one(self.retransmits),
            "jitter": finite(self.jitter_s),
            "errors": self.errors,
            "omitted_errors": self.omitted_errors.unwrap_or(0),
            "packets": self.packets,
            "omitted_packets": self.omitted_packets.unwrap_or(0),
            "start_time": finite(self.start_s.unwrap_or(0.0)),
            "end_time": finite(self.end_s.unwrap_or(0.0)),
        })
    }

    fn decode(value: &Value) -> Result<Self, ResultsError> {
        let map = value.as_object().ok_or(ResultsError::Missing("streams"))?;
        let needed = |key| count(map, key).ok_or(ResultsError::Missing(key));
        // Duplicates make iperf3's count of losses fall below 0.
        let signed = |key| match map.get(key).and_then(Value::as_f64) {
            Some(_) => Ok(count(map, key).unwrap_or(0)),
            None => Err(ResultsError::Missing(key)),
        };
        Ok(Self {
            id: needed("id")?
                .try_into()
                .map_err(|_| ResultsError::Missing("id"))?,
            bytes: needed("bytes")?,
            retransmits: count(map, "retransmits"),
            jitter_s: number(map, "jitter").ok_or(ResultsError::Missing("jitter"))?,
            errors: signed("errors")?,
            omitted_errors: count(map, "omitted_errors"),
            packets: signed("packets")?,
            omitted_packets: count(map, "omitted_packets"),
            start_s: number(map, "start_time"),
            end_s: number(map, "end_time"),
        })
    }

    /// Datagrams missing after the warm-up.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.errors.saturating_sub(self.omitted_errors.unwrap_or(0))
    }

    /// Datagrams after the warm-up.
    #[must_use]
    pub fn datagrams(&self) -> u64 {
        self.packets
            .saturating_sub(self.omitted_packets.unwrap_or(0))
    }
}

/// The number that both ends give to the stream that was opened as number `nth`, counted from 0: 1, 3, 4, 5, …
#[must_use]
pub const fn stream_id(nth: u32) -> u32 {
    if nth == 0 { 1 } else { nth.saturating_add(2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(streams: &str) -> String {
        format!(
            "{{\"cpu_util_total\":1,\"cpu_util_user\":0.5,\"cpu_util_system\":0.5,\
             \"sender_has_retransmits\":18446744073709551615,\"streams\":[{streams}]}}"
        )
    }

    #[test]
    fn the_results_of_old_and_new_versions_are_read() {
        // 3.1: neither times nor congestion control; −1 as 2^64 − 1 up to 3.13.
        let old = head(
            r#"{"id":1,"bytes":1000,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0}"#,
        );
        let read = Results::decode(old.as_bytes()).unwrap();
        assert_eq!(read.has_retransmits, None);
        let expected = StreamResult {
            id: 1,
            bytes: 1000,
            ..StreamResult::default()
        };
        assert_eq!(read.streams, [expected]);
        // 3.14 and later.
        let new = head(
            r#"{"id":3,"bytes":5,"retransmits":-1,"jitter":0.00001,"errors":7,"omitted_errors":2,"packets":40,
               "omitted_packets":10,"start_time":0,"end_time":1.5}"#,
        );
        let one = Results::decode(new.as_bytes()).unwrap().streams[0];
        assert_eq!((one.lost(), one.datagrams(), one.end_s), (5, 30, Some(1.5)));
        assert_eq!(one.retransmits, None);
    }

    #[test]
    fn an_account_that_duplicates_made_negative_counts_as_none_lost() {
        let json =
            head(r#"{"id":1,"bytes":5,"retransmits":-1,"jitter":0,"errors":-3,"packets":40}"#);
        assert_eq!(
            Results::decode(json.as_bytes()).unwrap().streams[0].lost(),
            0
        );
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_named() {
        let missing = |json: &str| Results::decode(json.as_bytes()).unwrap_err();
        assert_eq!(missing("{}"), ResultsError::Missing("cpu_util_total"));
        assert_eq!(missing(&head("7")), ResultsError::Missing("streams"));
        assert_eq!(
            missing(&head("{\"id\":\"1\"}")),
            ResultsError::Missing("id")
        );
        assert!(matches!(missing("[]"), ResultsError::Json(_)));
        let many = vec!["{}"; 257].join(",");
        assert_eq!(missing(&head(&many)), ResultsError::TooMany(257));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let _ = Results::decode(&bytes);
        }

        #[test]
        fn results_survive_the_trip(id: u32, bytes in 0..1_u64 << 62, errors: u32, end_quarters: u16) {
            let results = Results {
                has_retransmits: Some(true),
                streams: vec![StreamResult {
                    id,
                    bytes,
                    errors: u64::from(errors),
                    omitted_errors: Some(0),
                    omitted_packets: Some(0),
                    start_s: Some(0.0),
                    end_s: Some(f64::from(end_quarters) / 4.0),
                    ..StreamResult::default()
                }],
                ..Results::default()
            };
            prop_assert_eq!(Results::decode(results.encode().as_bytes()), Ok(results));
        }
    }

    #[test]
    fn stream_numbers_skip_two() {
        let ids: Vec<u32> = (0..5).map(stream_id).collect();
        assert_eq!(ids, [1, 3, 4, 5, 6]);
    }
}
