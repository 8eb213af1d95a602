//! The settings of QUIC: datagrams of 1200 bytes that grow to 1400 where the path carries them, large windows, no surprises.

use crate::failure::TransferFailure;
use crate::secure_end::SecureEnd;
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, IdleTimeout, MtuDiscoveryConfig, ServerConfig, TransportConfig, VarInt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// UDP payload of a full datagram before the path MTU is known, the minimum of QUIC (RFC 9000, section 14), bytes.
pub(super) const MIN_DATAGRAM_BYTES: u16 = 1200;
/// The UDP payload of a full datagram where the path carries it, bytes.
const DATAGRAM_BYTES: u16 = 1400;
/// Maximum bytes in flight or waiting at the receiver: 2.5 s at 50 Mbit/s, 130 ms at 1 Gbit/s.
const WINDOW_BYTES: u32 = 16 << 20;

/// Maximum silence of the peer before it counts as gone.
pub(super) const IDLE_LIMIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });

/// A congestion control of quinn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuicCongestion {
    /// CUBIC (RFC 9438).
    Cubic,
    /// NewReno (RFC 9002).
    NewReno,
    /// BBR, the first version of it.
    Bbr,
}

impl QuicCongestion {
    /// The one that was asked for, or CUBIC, with a note when quinn does not have the one that was asked for.
    pub(super) fn from_name(name: Option<&str>) -> (Self, Option<String>) {
        match name {
            None | Some("cubic") => (Self::Cubic, None),
            Some("newreno" | "reno") => (Self::NewReno, None),
            Some("bbr") => (Self::Bbr, None),
            Some(other) => {
                let note = format!(
                    "QUIC has no congestion control {other} here (it has cubic, newreno and bbr): cubic was used"
                );
                (Self::Cubic, Some(note))
            }
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "newreno",
            Self::Bbr => "bbr",
        }
    }
}

/// The settings of an end, by its place in the connection.
pub(super) enum EndSettings {
    Client(ClientConfig),
    Server(ServerConfig),
}

impl EndSettings {
    /// # Errors
    /// TLS cannot be set up here.
    pub(super) fn new(
        end: SecureEnd<'_>,
        congestion: QuicCongestion,
    ) -> Result<Self, TransferFailure> {
        let transport = Arc::new(transport(congestion)?);
        match end {
            SecureEnd::Client(fingerprint) => {
                let tls = QuicClientConfig::try_from(fingerprint.client_config()?)
                    .map_err(|cause| failure(&cause))?;
                let mut config = ClientConfig::new(Arc::new(tls));
                config.transport_config(transport);
                Ok(Self::Client(config))
            }
            SecureEnd::Server(certificate) => {
                let tls = QuicServerConfig::try_from(certificate.server_config()?)
                    .map_err(|cause| failure(&cause))?;
                let mut config = ServerConfig::with_crypto(Arc::new(tls));
                config.transport_config(transport).migration(false);
                Ok(Self::Server(config))
            }
        }
    }
}

fn transport(congestion: QuicCongestion) -> Result<TransportConfig, TransferFailure> {
    let mut config = TransportConfig::default();
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(DATAGRAM_BYTES).minimum_change(1);
    let window = VarInt::from_u32(WINDOW_BYTES);
    let idle = IdleTimeout::try_from(IDLE_LIMIT).map_err(|cause| failure(&cause))?;
    config
        .initial_mtu(MIN_DATAGRAM_BYTES)
        .min_mtu(MIN_DATAGRAM_BYTES)
        .mtu_discovery_config(Some(discovery))
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(u64::from(WINDOW_BYTES))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(IDLE_LIMIT / 4));
    match congestion {
        QuicCongestion::Cubic => {
            config.congestion_controller_factory(Arc::new(CubicConfig::default()))
        }
        QuicCongestion::NewReno => {
            config.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
        }
        QuicCongestion::Bbr => config.congestion_controller_factory(Arc::new(BbrConfig::default())),
    };
    Ok(config)
}

fn failure(cause: &dyn fmt::Display) -> TransferFailure {
    TransferFailure::Connection(format!("cannot prepare QUIC: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_that_quinn_lacks_is_replaced_with_a_note() {
        for (asked, name) in [
            (None, "cubic"),
            (Some("cubic"), "cubic"),
            (Some("reno"), "newreno"),
            (Some("newreno"), "newreno"),
            (Some("bbr"), "bbr"),
        ] {
            let (congestion, note) = QuicCongestion::from_name(asked);
            assert_eq!((congestion.name(), note), (name, None));
        }
        let (congestion, note) = QuicCongestion::from_name(Some("vegas"));
        assert_eq!(congestion, QuicCongestion::Cubic);
        assert!(note.unwrap().contains("vegas"));
    }
}
