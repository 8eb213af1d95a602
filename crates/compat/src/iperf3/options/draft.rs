//! The settings while a command line is read, and their validation.

use super::error::CommandLineError;
use super::group::OptionGroup;
use super::settings::{Iperf3End, Iperf3Settings, ServiceSettings, TestSettings};
use super::values::narrow;
use crate::iperf3::about::VERSION;
use caudal_wire::iperf3::parameters::{MAX_BLOCK, MAX_DATAGRAM, MIN_DATAGRAM};
use caudal_wire::iperf3::{Iperf3ErrorCode, TransportProtocol};

/// The default rate of UDP, bit/s.
const UDP_RATE_BPS: u64 = 1 << 20;

/// The settings of a command line as far as it was read.
#[derive(Debug, Default)]
pub(super) struct SettingsDraft {
    pub(super) all: Iperf3Settings,
    pub(super) test: TestSettings,
    pub(super) service: ServiceSettings,
    pub(super) is_server: bool,
    pub(super) is_client: bool,
    pub(super) udp: bool,
    pub(super) rate_bps: Option<u64>,
    pub(super) length: Option<u64>,
    /// `true` when a duration was given.
    pub(super) has_time: bool,
    /// `true` when an amount in bytes was given.
    pub(super) has_bytes: bool,
    /// `true` when an amount in blocks was given.
    pub(super) has_blocks: bool,
    /// `true` when a time to wait for data was given.
    pub(super) has_receive_timeout: bool,
    /// `true` when help was asked for.
    pub(super) help: bool,
    /// `true` when the version was asked for.
    pub(super) version: bool,
    /// The first option that only a client has.
    client_option: Option<String>,
    /// The first option that only a server has.
    server_option: Option<String>,
}

impl SettingsDraft {
    /// Takes note that an option of a group was given.
    pub(super) fn note_group(&mut self, group: OptionGroup, written: &str) {
        let first = match group {
            OptionGroup::Common => return,
            OptionGroup::Client => &mut self.client_option,
            OptionGroup::Server => &mut self.server_option,
        };
        first.get_or_insert_with(|| written.to_owned());
    }

    /// The settings, when they make sense together.
    ///
    /// # Errors
    /// The first that does not.
    pub(super) fn finish(mut self) -> Result<Iperf3Settings, CommandLineError> {
        if !self.is_server && !self.is_client {
            return Err(CommandLineError::Usage(
                "parameter error - must either be a client (-c) or server (-s)".to_owned(),
            ));
        }
        self.check_end().map_err(CommandLineError::Parameter)?;
        let title = &self.test.parameters.title;
        self.all.output.title = title.as_ref().map(|title| title.as_received().to_owned());
        let finished = if self.is_server {
            self.finish_server()
        } else {
            self.finish_client()
        };
        finished.map_err(CommandLineError::Parameter)
    }

    /// Checks that all options belong to the end that this program is.
    fn check_end(&self) -> Result<(), String> {
        if self.is_server && self.is_client {
            return Err("cannot be both server and client".to_owned());
        }
        match (self.is_server, &self.client_option, &self.server_option) {
            (true, Some(written), _) => Err(format!(
                "some option you are trying to set is client only: {written}"
            )),
            (false, _, Some(written)) => Err(format!(
                "some option you are trying to set is server only: {written}"
            )),
            _ => Ok(()),
        }
    }

    fn finish_server(self) -> Result<Iperf3Settings, String> {
        if self.service.private_key.is_some() != self.service.users.is_some() {
            return Err(
                "you must specify a path to a valid RSA private key and a user credential file"
                    .to_owned(),
            );
        }
        Ok(Iperf3Settings {
            end: Iperf3End::Server(self.service),
            ..self.all
        })
    }

    fn finish_client(mut self) -> Result<Iperf3Settings, String> {
        let default_bps = if self.udp { UDP_RATE_BPS } else { 0 };
        let parameters = &mut self.test.parameters;
        parameters.protocol = if self.udp {
            TransportProtocol::Udp
        } else {
            TransportProtocol::Tcp
        };
        parameters.rate_bps = self.rate_bps.unwrap_or(default_bps);
        parameters.client_version = Some(VERSION.into());
        let ends = [self.has_time, self.has_bytes, self.has_blocks];
        if ends.into_iter().filter(|is_given| *is_given).count() > 1 {
            return Err("only one test end condition (-t, -n, -k) may be specified".to_owned());
        }
        if self.has_bytes || self.has_blocks {
            parameters.time_s = 0;
        }
        if parameters.reverse && parameters.bidirectional {
            return Err("cannot be both reverse and bidirectional".to_owned());
        }
        if self.has_receive_timeout && !parameters.reverse && !parameters.bidirectional {
            return Err("client receive timeout is valid only in receiving mode".to_owned());
        }
        self.test.length = self.length()?;
        self.check_file()?;
        if self.test.user_name.is_some() != self.test.public_key.is_some() {
            return Err(
                "you must specify a username, password, and path to a valid RSA public key"
                    .to_owned(),
            );
        }
        if self.test.parameters.mptcp && self.udp {
            return Err("--mptcp goes with TCP only".to_owned());
        }
        if self.test.host.is_empty() {
            return Err("-c names no host".to_owned());
        }
        Ok(Iperf3Settings {
            end: Iperf3End::Client(Box::new(self.test)),
            ..self.all
        })
    }

    /// The length of blocks or datagrams, where one is given.
    fn length(&self) -> Result<Option<u32>, String> {
        let Some(length) = self.length.filter(|length| *length > 0) else {
            return Ok(None);
        };
        let (max, error) = if self.udp {
            (MAX_DATAGRAM, Iperf3ErrorCode::UDP_BLOCK_SIZE)
        } else {
            (MAX_BLOCK, Iperf3ErrorCode::BLOCK_SIZE)
        };
        if self.udp && length < MIN_DATAGRAM {
            return Err(error.to_string());
        }
        narrow(length, max, error).map(Some)
    }

    /// Checks that a file can be sent, where one is given.
    fn check_file(&self) -> Result<(), String> {
        let parameters = &self.test.parameters;
        if self.all.file.is_none() {
            return Ok(());
        }
        if self.udp {
            return Err(Iperf3ErrorCode::UDP_FILE.to_string());
        }
        if parameters.bidirectional || parameters.zero_copy || parameters.skip_rx_copy {
            return Err(
                "-F is not available in caudal iperf3 together with --bidir, -Z and --skip-rx-copy"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
