//! The single bytes that control the progress of a test of iperf3.

/// The meaning of one byte on the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlState {
    /// Server: all streams exist.
    TestStart,
    /// Server: send now.
    TestRunning,
    /// Client: its end condition is met.
    TestEnd,
    /// Server: the parameters are due.
    ParamExchange,
    /// Server: the data connections are due.
    CreateStreams,
    /// Server: it is being stopped.
    ServerTerminate,
    /// Client: it is being stopped.
    ClientTerminate,
    /// Server: results are due, the client's first.
    ExchangeResults,
    /// Server: both ends may print their results.
    DisplayResults,
    /// Client: finished.
    IperfDone,
    /// Server: busy, or a wrong cookie.
    AccessDenied,
    /// Server: two big-endian numbers follow, iperf3's own and the kernel's error.
    ServerError,
}

impl ControlState {
    const ALL: [(Self, i8); 12] = [
        (Self::TestStart, 1),
        (Self::TestRunning, 2),
        (Self::TestEnd, 4),
        (Self::ParamExchange, 9),
        (Self::CreateStreams, 10),
        (Self::ServerTerminate, 11),
        (Self::ClientTerminate, 12),
        (Self::ExchangeResults, 13),
        (Self::DisplayResults, 14),
        (Self::IperfDone, 16),
        (Self::AccessDenied, -1),
        (Self::ServerError, -2),
    ];

    /// The byte as it is sent.
    #[must_use]
    pub fn byte(self) -> u8 {
        Self::ALL
            .iter()
            .find(|(state, _)| *state == self)
            .map_or(0, |(_, code)| code.cast_unsigned())
    }

    /// Reads a byte; `None` for one that no version sends.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, code)| code.cast_unsigned() == byte)
            .map(|(state, _)| *state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_survives_the_trip_and_no_other_byte_is_one() {
        let known: Vec<u8> = (0..=255)
            .filter(|byte| ControlState::from_byte(*byte).is_some())
            .collect();
        assert_eq!(known, [1, 2, 4, 9, 10, 11, 12, 13, 14, 16, 254, 255]);
        for byte in known {
            assert_eq!(
                ControlState::from_byte(byte).map(ControlState::byte),
                Some(byte)
            );
        }
    }
}
