//! The error numbers of iperf3, and their texts.

use std::fmt;

/// An error as an iperf3 server reports it: iperf3's own number (`i_errno`), and the kernel's where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf3ErrorCode {
    /// iperf3's number.
    pub code: i32,
    /// The kernel's error number; 0 for none.
    pub errno: i32,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $text:literal, $errno:literal;)*) => {
        impl Iperf3ErrorCode {
            $(
                #[doc = concat!("The error: ", $text, ".")]
                pub const $name: Self = Self { code: $code, errno: 0 };
            )*

            /// The text of the number, and `true` when the kernel's error follows it.
            const fn entry(self) -> Option<(&'static str, bool)> {
                match self.code {
                    $($code => Some(($text, $errno)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    DURATION = 5, "test duration valid values are 0 to 86400 seconds", false;
    STREAMS = 6, "number of parallel streams too large (maximum = 128)", false;
    BLOCK_SIZE = 7, "block size too large (maximum = 1048576 bytes)", false;
    BUFFER_SIZE = 8, "socket buffer size too large (maximum = 536870912 bytes)", false;
    MSS = 10, "TCP MSS too large (maximum = 32767 bytes)", false;
    NO_SENDFILE = 11, "this OS does not support sendfile", false;
    OMIT = 12, "bogus value for --omit", false;
    BURST = 15, "invalid burst count (maximum = 1000)", false;
    UDP_BLOCK_SIZE = 20, "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)", false;
    TOS = 21, "bad TOS value (must be between 0 and 255 inclusive)", false;
    TOTAL_RATE = 27, "total required bandwidth is larger than server limit", false;
    UDP_FILE = 34, "cannot transfer file using UDP", false;
    MAX_DURATION = 37, "client's requested duration exceeds the server's maximum permitted limit", false;
    BAD_UNIT = 38, "an option's value has an invalid unit suffix or is not a number", false;
    SKIP_RX_COPY = 39, "this OS does not support skipping the receive copy", false;
    DSCP = 40, "bad DSCP value (must be between 0 and 63 inclusive or a name)", false;
    NEW_TEST = 100, "unable to create a new test", true;
    INIT_TEST = 101, "test initialization failed", true;
    LISTEN = 102, "unable to start listener for connections", true;
    CONNECT = 103, "unable to connect to server", true;
    ACCEPT = 104, "unable to accept connection from client", true;
    SEND_COOKIE = 105, "unable to send cookie to server", true;
    RECEIVE_COOKIE = 106, "unable to receive cookie at server", true;
    CONTROL_WRITE = 107, "unable to write to the control socket", true;
    CONTROL_READ = 108, "unable to read from the control socket", true;
    CONTROL_CLOSED = 109, "control socket has closed unexpectedly", false;
    MESSAGE = 110, "received an unknown control message", false;
    SEND_MESSAGE = 111, "unable to send control message - port may not be available, the other side may have stopped running, etc.", true;
    RECEIVE_MESSAGE = 112, "unable to receive control message - port may not be available, the other side may have stopped running, etc.", true;
    SEND_PARAMETERS = 113, "unable to send parameters to server", true;
    RECEIVE_PARAMETERS = 114, "unable to receive parameters from client", true;
    PACKAGE_RESULTS = 115, "unable to package results", true;
    SEND_RESULTS = 116, "unable to send results", true;
    RECEIVE_RESULTS = 117, "unable to receive results", true;
    SELECT = 118, "select failed", true;
    CLIENT_TERMINATED = 119, "the client has terminated", false;
    SERVER_TERMINATED = 120, "the server has terminated", false;
    ACCESS_DENIED = 121, "the server is busy running a test. try again later", false;
    SET_NO_DELAY = 122, "unable to set TCP/SCTP NODELAY", true;
    SET_MSS = 123, "unable to set TCP/SCTP MSS", true;
    SET_BUFFERS = 124, "unable to set socket buffer size", true;
    SET_TOS = 125, "unable to set IP TOS", true;
    SET_COS = 126, "unable to set IPv6 traffic class", true;
    SET_FLOW_LABEL = 127, "unable to set IPv6 flow label", true;
    REUSE_ADDRESS = 128, "unable to reuse address on socket", true;
    NONBLOCKING = 129, "unable to set socket to non-blocking mode", true;
    WINDOW_SIZE = 130, "unable to set socket window size", true;
    PROTOCOL = 131, "protocol does not exist", false;
    AFFINITY = 132, "unable to set CPU affinity", true;
    DAEMON = 133, "unable to become a daemon", true;
    CONGESTION = 134, "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host", true;
    PID_FILE = 135, "unable to write PID file", true;
    ONLY_V6 = 136, "unable to set or reset IPV6_V6ONLY", true;
    SET_PACING = 140, "unable to set socket pacing", true;
    SET_BUFFERS_2 = 141, "socket buffer size not set correctly", false;
    AUTHENTICATION = 142, "test authorization failed", false;
    BIND_DEVICE = 143, "unable to bind-to-device (check perror, maybe permissions?)", true;
    NO_MESSAGE = 144, "idle timeout for receiving data", false;
    DONT_FRAGMENT = 145, "unable to set IP Do-Not-Fragment flag", true;
    USER_TIMEOUT = 148, "unable to set TCP USER_TIMEOUT", true;
    DURATION_EXPIRED = 160, "server's test duration expired", false;
    CREATE_STREAM = 200, "unable to create a new stream", true;
    INIT_STREAM = 201, "stream initialization failed", true;
    STREAM_LISTEN = 202, "unable to start stream listener", true;
    STREAM_CONNECT = 203, "unable to connect stream", true;
    STREAM_ACCEPT = 204, "unable to accept stream connection", true;
    STREAM_WRITE = 205, "unable to write to stream socket", true;
    STREAM_READ = 206, "unable to read from stream socket", true;
    STREAM_CLOSE = 207, "stream socket has closed unexpectedly", false;
    STREAM_ID = 208, "stream has an invalid id", false;
}

impl Iperf3ErrorCode {
    /// This error with the kernel's error number.
    #[must_use]
    pub const fn with_errno(self, errno: i32) -> Self {
        Self { errno, ..self }
    }

    /// Reads the two numbers behind a server error; a missing one counts as 0.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Self {
        let at = |place: usize| {
            bytes
                .get(place..)
                .and_then(|rest| rest.first_chunk::<4>())
                .map_or(0, |four| i32::from_be_bytes(*four))
        };
        Self {
            code: at(0),
            errno: at(4),
        }
    }

    /// The two numbers as they are sent.
    #[must_use]
    pub fn encode(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.code.to_be_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_be_bytes());
        bytes
    }
}

impl fmt::Display for Iperf3ErrorCode {
    /// The text as iperf3 has it, with the kernel's error behind a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry() {
            Some((text, true)) if self.errno != 0 => {
                write!(f, "{text}: {}", kernel_text(self.errno))
            }
            Some((text, _)) => f.write_str(text),
            None => write!(f, "unknown error {}", self.code),
        }
    }
}

/// The kernel's text for an error number, without the number itself.
fn kernel_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_survives_the_trip_and_a_lone_number_is_enough() {
        let error = Iperf3ErrorCode::STREAM_CONNECT.with_errno(111);
        assert_eq!(Iperf3ErrorCode::decode(&error.encode()), error);
        assert_eq!(
            error.to_string(),
            "unable to connect stream: Connection refused"
        );
        assert_eq!(
            Iperf3ErrorCode::decode(&[0, 0, 0, 142]),
            Iperf3ErrorCode::AUTHENTICATION
        );
        assert_eq!(Iperf3ErrorCode::decode(&[]).to_string(), "unknown error 0");
    }
}
