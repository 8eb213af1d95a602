//! The parameters that a client of iperf3 requests: one flat JSON object.

use super::error::Iperf3ErrorCode;
use super::json::{count, is_on, text};
use caudal_core::text::ExternalText;
use serde_json::{Map, Value, json};

/// Maximum number of streams in one direction, as in iperf3.
pub const MAX_STREAMS: u32 = 128;
/// Maximum duration of a test, s.
pub const MAX_TIME_S: u64 = 86_400;
/// Maximum duration of the warm-up, s.
pub const MAX_OMIT_S: u64 = 600;
/// Largest block size of a TCP test, bytes.
pub const MAX_BLOCK: u64 = 1 << 20;
/// Smallest datagram size, bytes.
pub const MIN_DATAGRAM: u64 = 16;
/// Largest datagram size, bytes.
pub const MAX_DATAGRAM: u64 = 65_507;
/// Maximum socket buffer, bytes.
pub const MAX_WINDOW: u64 = 512 << 20;
/// Maximum of the maximum segment size (9216 before 3.21), bytes.
pub const MAX_MSS: u64 = 32_767;
/// Maximum number of packets in a burst.
pub const MAX_BURST: u64 = 1000;
/// Maximum IPv6 flow label.
pub const MAX_FLOW_LABEL: u64 = 0xf_ffff;
/// The default block size of a TCP test, bytes.
pub const TCP_BLOCK: u32 = 128 << 10;
/// The default datagram size of a UDP test, bytes.
pub const UDP_BLOCK: u32 = 1460;

/// The protocol under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransportProtocol {
    /// The Transmission Control Protocol.
    #[default]
    Tcp,
    /// The User Datagram Protocol.
    Udp,
    /// The Stream Control Transmission Protocol.
    Sctp,
}

impl TransportProtocol {
    /// The name as output writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// The parameters of a client's test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// The protocol under test.
    pub protocol: TransportProtocol,
    /// Warm-up before the measured part, s.
    pub omit_s: u32,
    /// The measured part, s; 0 for no limit by time.
    pub time_s: u32,
    /// Bytes that end the test, over all streams of a direction; 0 for no such end.
    pub bytes: u64,
    /// Blocks that end the test, over all streams of a direction; 0 for no such end.
    pub blocks: u64,
    /// Streams in each direction.
    pub parallel: u32,
    /// `true` when only the server sends.
    pub reverse: bool,
    /// `true` when both ends send.
    pub bidirectional: bool,
    /// The maximum segment size, bytes.
    pub mss: Option<u32>,
    /// `true` when Nagle's algorithm is off.
    pub no_delay: bool,
    /// `true` when the streams are Multipath TCP.
    pub mptcp: bool,
    /// Socket buffers, bytes.
    pub window: Option<u64>,
    /// Bytes in a block or datagram.
    pub length: u32,
    /// The rate of each stream, bit/s; 0 for no limit.
    pub rate_bps: u64,
    /// The rate the kernel is to pace each stream at, bit/s.
    pub fq_rate_bps: Option<u64>,
    /// Blocks sent together when a rate is kept.
    pub burst: Option<u32>,
    /// The interval of the pacing timer of old versions, µs.
    pub pacing_timer_us: u32,
    /// The type-of-service byte.
    pub tos: Option<u8>,
    /// The IPv6 flow label.
    pub flow_label: Option<u32>,
    /// The text that every line of output begins with.
    pub title: Option<ExternalText>,
    /// A text for the JSON of both ends.
    pub extra_data: Option<ExternalText>,
    /// The congestion control at the sender.
    pub congestion: Option<ExternalText>,
    /// `true` when the server's output is to come with its results.
    pub get_server_output: bool,
    /// `true` when datagrams are numbered with 64 bits.
    pub wide_counters: bool,
    /// `true` when the payload is a repeated pattern.
    pub repeating_payload: bool,
    /// `true` when the sender passes pages to the kernel without a copy.
    pub zero_copy: bool,
    /// `true` when IPv4 datagrams may not be fragmented.
    pub dont_fragment: bool,
    /// `true` when the receiver drops payload inside the kernel.
    pub skip_rx_copy: bool,
    /// `true` when datagrams are sent and received in batches; only the parameters show this, not the datagrams.
    pub gsro: bool,
    /// The processor that the server is to be pinned to.
    pub server_affinity: Option<u32>,
    /// An encrypted login.
    pub auth_token: Option<ExternalText>,
    /// The client's version.
    pub client_version: Option<ExternalText>,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            protocol: TransportProtocol::Tcp,
            omit_s: 0,
            time_s: 10,
            bytes: 0,
            blocks: 0,
            parallel: 1,
            reverse: false,
            bidirectional: false,
            mss: None,
            no_delay: false,
            mptcp: false,
            window: None,
            length: TCP_BLOCK,
            rate_bps: 0,
            fq_rate_bps: None,
            burst: None,
            pacing_timer_us: 1000,
            tos: None,
            flow_label: None,
            title: None,
            extra_data: None,
            congestion: None,
            get_server_output: false,
            wide_counters: false,
            repeating_payload: false,
            zero_copy: false,
            dont_fragment: false,
            skip_rx_copy: false,
            gsro: false,
            server_affinity: None,
            auth_token: None,
            client_version: None,
        }
    }
}

/// Checks a number against its range; `None` when it is missing, or not a number.
fn ranged(
    map: &Map<String, Value>,
    key: &str,
    range: std::ops::RangeInclusive<u64>,
    error: Iperf3ErrorCode,
) -> Result<Option<u64>, Iperf3ErrorCode> {
    let Some(value) = map.get(key) else {
        return Ok(None);
    };
    if !value.is_number() {
        // A value of another type counts as not given, as it does in iperf3 from 3.18 on.
        return Ok(None);
    }
    match count(map, key) {
        Some(number) if range.contains(&number) => Ok(Some(number)),
        _ => Err(error),
    }
}

impl Parameters {
    /// Reads a client's parameters.
    ///
    /// # Errors
    /// The error to send to the client, when the text is not a JSON object or a number is out of its
    /// range.
    pub fn decode(json: &[u8]) -> Result<Self, Iperf3ErrorCode> {
        let map: Map<String, Value> =
            serde_json::from_slice(json).map_err(|_| Iperf3ErrorCode::RECEIVE_PARAMETERS)?;
        let map = &map;
        let protocol = match (is_on(map, "udp"), is_on(map, "sctp")) {
            (true, _) => TransportProtocol::Udp,
            (_, true) => TransportProtocol::Sctp,
            _ => TransportProtocol::Tcp,
        };
        let mut one = Self {
            protocol,
            ..Self::default()
        };
        let any = 0..=u64::MAX;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let omit = ranged(map, "omit", 0..=MAX_OMIT_S, Iperf3ErrorCode::OMIT)?;
        one.omit_s = omit.map_or(0, small);
        let time = ranged(map, "time", 0..=MAX_TIME_S, Iperf3ErrorCode::DURATION)?;
        one.time_s = time.map_or(one.time_s, small);
        one.bytes = ranged(map, "num", any.clone(), Iperf3ErrorCode::BAD_UNIT)?.unwrap_or(0);
        one.blocks =
            ranged(map, "blockcount", any.clone(), Iperf3ErrorCode::BAD_UNIT)?.unwrap_or(0);
        let parallel = ranged(
            map,
            "parallel",
            1..=u64::from(MAX_STREAMS),
            Iperf3ErrorCode::STREAMS,
        )?;
        one.parallel = parallel.map_or(1, small);
        one.reverse = is_on(map, "reverse");
        one.bidirectional = is_on(map, "bidirectional");
        one.mss = ranged(map, "MSS", 0..=MAX_MSS, Iperf3ErrorCode::MSS)?
            .filter(|mss| *mss > 0)
            .map(small);
        one.no_delay = is_on(map, "nodelay");
        one.mptcp = is_on(map, "mptcp");
        one.window = ranged(map, "window", 0..=MAX_WINDOW, Iperf3ErrorCode::BUFFER_SIZE)?
            .filter(|window| *window > 0);
        one.length = match one.protocol {
            TransportProtocol::Udp => {
                let range = MIN_DATAGRAM..=MAX_DATAGRAM;
                ranged(map, "len", range, Iperf3ErrorCode::UDP_BLOCK_SIZE)?.map_or(UDP_BLOCK, small)
            }
            TransportProtocol::Tcp | TransportProtocol::Sctp => {
                ranged(map, "len", 1..=MAX_BLOCK, Iperf3ErrorCode::BLOCK_SIZE)?
                    .map_or(TCP_BLOCK, small)
            }
        };
        one.rate_bps =
            ranged(map, "bandwidth", any.clone(), Iperf3ErrorCode::BAD_UNIT)?.unwrap_or(0);
        one.fq_rate_bps =
            ranged(map, "fqrate", any, Iperf3ErrorCode::BAD_UNIT)?.filter(|rate| *rate > 0);
        one.burst = ranged(map, "burst", 0..=MAX_BURST, Iperf3ErrorCode::BURST)?
            .filter(|burst| *burst > 0)
            .map(small);
        one.tos = ranged(map, "TOS", 0..=255, Iperf3ErrorCode::TOS)?
            .and_then(|tos| u8::try_from(tos).ok())
            .filter(|tos| *tos > 0);
        one.flow_label = ranged(
            map,
            "flowlabel",
            0..=MAX_FLOW_LABEL,
            Iperf3ErrorCode::SET_FLOW_LABEL,
        )?
        .filter(|label| *label > 0)
        .map(small);
        one.server_affinity =
            ranged(map, "server_affinity", 0..=1024, Iperf3ErrorCode::AFFINITY)?.map(small);
        one.title = text(map, "title");
        one.extra_data = text(map, "extra_data");
        one.congestion = text(map, "congestion");
        one.get_server_output = is_on(map, "get_server_output");
        one.wide_counters = is_on(map, "udp_counters_64bit");
        one.repeating_payload = is_on(map, "repeating_payload");
        one.zero_copy = is_on(map, "zerocopy");
        one.dont_fragment = is_on(map, "dont_fragment");
        one.skip_rx_copy = is_on(map, "skip_rx_copy");
        one.gsro = is_on(map, "gso") || is_on(map, "gro");
        one.auth_token = text(map, "authtoken");
        one.client_version = text(map, "client_version");
        Ok(one)
    }

    /// The parameters as a client sends them.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
        let protocol = match self.protocol {
            TransportProtocol::Tcp => "tcp",
            TransportProtocol::Udp => "udp",
            TransportProtocol::Sctp => "sctp",
        };
        put(protocol, json!(true));
        put("omit", json!(self.omit_s));
        if let Some(cpu) = self.server_affinity {
            put("server_affinity", json!(cpu));
        }
        put("time", json!(self.time_s));
        put("num", json!(self.bytes));
        put("blockcount", json!(self.blocks));
        put("parallel", json!(self.parallel));
        put("len", json!(self.length));
        put("pacing_timer", json!(self.pacing_timer_us));
        let switches = [
            ("nodelay", self.no_delay),
            ("reverse", self.reverse),
            ("bidirectional", self.bidirectional),
            ("mptcp", self.mptcp),
        ];
        for (key, on) in switches {
            if on {
                put(key, json!(true));
            }
        }
        let flags = [
            ("get_server_output", self.get_server_output),
            ("udp_counters_64bit", self.wide_counters),
            ("repeating_payload", self.repeating_payload),
            ("zerocopy", self.zero_copy),
            ("dont_fragment", self.dont_fragment),
            ("skip_rx_copy", self.skip_rx_copy),
            ("gso", self.gsro),
            ("gro", self.gsro),
        ];
        for (key, on) in flags {
            if on {
                put(key, json!(1));
            }
        }
        let numbers = [
            ("MSS", self.mss.map(u64::from)),
            ("window", self.window),
            ("bandwidth", Some(self.rate_bps).filter(|rate| *rate > 0)),
            ("fqrate", self.fq_rate_bps),
            ("burst", self.burst.map(u64::from)),
            ("TOS", self.tos.map(u64::from)),
            ("flowlabel", self.flow_label.map(u64::from)),
        ];
        for (key, number) in numbers {
            if let Some(number) = number {
                put(key, json!(number));
            }
        }
        let texts = [
            ("title", &self.title),
            ("extra_data", &self.extra_data),
            ("congestion", &self.congestion),
            ("authtoken", &self.auth_token),
            ("client_version", &self.client_version),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                put(key, json!(text));
            }
        }
        Value::Object(map).to_string()
    }

    /// The release of the client, such as 3 and 21; `None` from versions before 3.1, which do not report it.
    #[must_use]
    pub fn client_release(&self) -> Option<(u32, u32)> {
        let version = self
            .client_version
            .as_ref()
            .map(ExternalText::as_received)?;
        let mut parts = version.split('.').map(|part| {
            let digits = part.find(|letter: char| !letter.is_ascii_digit());
            part[..digits.unwrap_or(part.len())].parse().ok()
        });
        Some((parts.next()??, parts.next()??))
    }

    /// The number of streams in both directions.
    #[must_use]
    pub const fn streams(&self) -> u32 {
        self.parallel
            .saturating_mul(if self.bidirectional { 2 } else { 1 })
    }

    /// Bytes that end the test in each direction: those requested, or those of the blocks requested.
    #[must_use]
    pub fn end_bytes(&self) -> Option<u64> {
        match (self.bytes, self.blocks) {
            (0, 0) => None,
            (0, blocks) => Some(blocks.saturating_mul(u64::from(self.length))),
            (bytes, _) => Some(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(json: &str) -> Result<Parameters, Iperf3ErrorCode> {
        Parameters::decode(json.as_bytes())
    }

    #[test]
    fn what_versions_from_3_1_to_3_21_send_is_read() {
        let seen = [
            // 3.1: numbers as old cJSON prints them, no version before 3.1.
            r#"{"tcp":true,"omit":0,"time":2,"parallel":1,"len":131072,"client_version":"3.1"}"#,
            r#"{"tcp":true,"omit":0.000000,"time":2.0,"parallel":1.0,"len":131072,"client_version":"3.1.3","no_fq_socket_pacing":1}"#,
            // 3.7
            r#"{"tcp":true,"omit":0,"time":2,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.7"}"#,
            // 3.12
            r#"{"tcp":true,"omit":0,"time":2,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.12"}"#,
            // 3.21
            r#"{"tcp":true,"omit":0,"time":2,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.21+"}"#,
        ];
        for json in seen {
            let one = decode(json).unwrap();
            let expected = Parameters {
                time_s: 2,
                client_version: one.client_version.clone(),
                ..Parameters::default()
            };
            assert_eq!(one, expected, "{json}");
        }
        let udp = r#"{"udp":true,"omit":1,"time":1,"num":0,"blockcount":0,"parallel":2,"bidirectional":true,
            "len":1400,"bandwidth":2000000,"burst":10,"TOS":184,"udp_counters_64bit":1,"pacing_timer":1000,
            "gso":1,"gso_dg_size":1400,"gso_bf_size":64400,"gro":1,"gro_bf_size":65507,
            "get_server_output":1,"title":"t","extra_data":"e","client_version":"3.21"}"#;
        let one = decode(udp).unwrap();
        assert!(one.bidirectional && one.wide_counters && one.gsro && one.get_server_output);
        assert_eq!(
            (one.protocol, one.length, one.rate_bps),
            (TransportProtocol::Udp, 1400, 2_000_000)
        );
        assert_eq!(
            (one.burst, one.tos, one.streams()),
            (Some(10), Some(184), 4)
        );
    }

    #[test]
    fn the_release_of_a_client_is_read_from_its_version() {
        let release = |version: &str| {
            let parameters = Parameters {
                client_version: Some(version.into()),
                ..Parameters::default()
            };
            parameters.client_release()
        };
        assert_eq!(release("3.1.3"), Some((3, 1)));
        assert_eq!(release("3.21+"), Some((3, 21)));
        assert_eq!(release("3.21 (caudal 0.1.0)"), Some((3, 21)));
        assert_eq!([release("caudal"), release("3"), release("")], [None; 3]);
        assert_eq!(Parameters::default().client_release(), None);
    }

    #[test]
    fn values_of_another_type_count_as_not_given() {
        for value in ["null", "\"x\"", "[]", "{}", "[[[]]]", "false"] {
            for key in [
                "tcp",
                "udp",
                "omit",
                "time",
                "num",
                "blockcount",
                "parallel",
                "len",
                "MSS",
                "window",
                "bandwidth",
                "fqrate",
                "burst",
                "TOS",
                "flowlabel",
                "server_affinity",
                "reverse",
            ] {
                let json = format!("{{\"{key}\":{value}}}");
                assert_eq!(decode(&json).map(|one| one.parallel), Ok(1), "{json}");
            }
        }
        for key in [
            "title",
            "extra_data",
            "congestion",
            "authtoken",
            "client_version",
        ] {
            for value in ["null", "7", "[]", "{}", "true"] {
                assert_eq!(
                    decode(&format!("{{\"{key}\":{value}}}")),
                    Ok(Parameters::default())
                );
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_complaint_of_iperf3() {
        let cases = [
            ("\"parallel\":0", Iperf3ErrorCode::STREAMS),
            ("\"parallel\":129", Iperf3ErrorCode::STREAMS),
            ("\"parallel\":-1", Iperf3ErrorCode::STREAMS),
            ("\"parallel\":1e300", Iperf3ErrorCode::STREAMS),
            ("\"time\":86401", Iperf3ErrorCode::DURATION),
            ("\"time\":-5", Iperf3ErrorCode::DURATION),
            ("\"omit\":601", Iperf3ErrorCode::OMIT),
            ("\"len\":0", Iperf3ErrorCode::BLOCK_SIZE),
            ("\"len\":1048577", Iperf3ErrorCode::BLOCK_SIZE),
            ("\"udp\":true,\"len\":15", Iperf3ErrorCode::UDP_BLOCK_SIZE),
            ("\"udp\":true,\"len\":0", Iperf3ErrorCode::UDP_BLOCK_SIZE),
            (
                "\"udp\":true,\"len\":65508",
                Iperf3ErrorCode::UDP_BLOCK_SIZE,
            ),
            ("\"MSS\":32768", Iperf3ErrorCode::MSS),
            ("\"window\":536870913", Iperf3ErrorCode::BUFFER_SIZE),
            ("\"burst\":1001", Iperf3ErrorCode::BURST),
            ("\"TOS\":256", Iperf3ErrorCode::TOS),
            ("\"num\":-1", Iperf3ErrorCode::BAD_UNIT),
        ];
        for (json, error) in cases {
            assert_eq!(decode(&format!("{{{json}}}")), Err(error), "{json}");
        }
        for json in ["", "[]", "7", "{", "{\"a\":}", &"[".repeat(10_000)] {
            assert_eq!(decode(json), Err(Iperf3ErrorCode::RECEIVE_PARAMETERS));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let _ = Parameters::decode(&bytes);
        }

        #[test]
        fn what_is_read_survives_the_trip(
            time in 0..=86_400_u32, parallel in 1..=128_u32, length in 16..=65_507_u32, udp: bool,
            reverse: bool, rate: u32, tos: Option<u8>, title: Option<String>,
        ) {
            let one = Parameters {
                protocol: if udp { TransportProtocol::Udp } else { TransportProtocol::Tcp },
                time_s: time,
                parallel,
                length,
                reverse,
                rate_bps: u64::from(rate),
                tos: tos.filter(|tos| *tos > 0),
                title: title.map(ExternalText::from),
                client_version: Some("x".into()),
                ..Parameters::default()
            };
            prop_assert_eq!(Parameters::decode(one.encode().as_bytes()), Ok(one));
        }
    }
}
