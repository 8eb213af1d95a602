//! The server of a test, and the local address.

use super::host::HostArg;
use super::local_address::{LocalAddressArg, missing_zone};
use crate::exit::Failure;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

/// The server, and the local address.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Peer")]
pub struct TargetArgs {
    /// The host that runs `caudal serve`, also as HOST:PORT, an IPv6 address then in brackets; without it this machine is measured over loopback
    #[arg(help_heading = None)]
    pub host: Option<HostArg>,
    /// The server's port, for control and data, TCP and UDP [default: 5201]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), allow_negative_numbers = true)]
    pub port: Option<u16>,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// File with the shared token for mutual authentication of client and server
    #[arg(
        long,
        value_name = "FILE",
        env = "CAUDAL_TOKEN_FILE",
        hide_env_values = true
    )]
    pub token_file: Option<PathBuf>,
    /// The local address to send from, a link-local one as fe80::1%eth0
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    pub bind: Option<LocalAddressArg>,
    /// The interface to send from (may need privileges)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
}

impl TargetArgs {
    /// Checks that the values fit one another.
    ///
    /// # Errors
    /// The flag, and the values that are accepted.
    pub fn check(&self) -> Result<(), Failure> {
        if let (Some(host), Some(port)) = (&self.host, self.port)
            && host.port.is_some_and(|given| given != port)
        {
            return Err(Failure::usage(
                format!("{host} names another port than --port {port}"),
                "give the port once",
            ));
        }
        if let Some(host) = self.host.as_ref().filter(|host| host.lacks_zone())
            && self.device.is_none()
        {
            let (message, advice) = missing_zone(&host.host);
            return Err(Failure::usage(message, advice));
        }
        let Some(LocalAddressArg { address: bind, .. }) = self.bind else {
            return Ok(());
        };
        let has_zone = self.device.is_some() || self.host.as_ref().is_some_and(HostArg::has_zone);
        if let Some(local) = self.bind.filter(|local| local.lacks_zone() && !has_zone) {
            let (message, advice) = missing_zone(&local.to_string());
            return Err(Failure::usage(format!("--bind {message}"), advice));
        }
        let peer = self.host.as_ref().and_then(HostArg::address);
        let of_host = peer.is_some_and(|peer| peer.is_ipv4() != bind.is_ipv4());
        if of_host || (bind.is_ipv4() && self.ipv6) || (bind.is_ipv6() && self.ipv4) {
            return Err(self.another_family(bind));
        }
        Ok(())
    }

    /// The server's port where one was given.
    #[must_use]
    pub fn given_port(&self) -> Option<u16> {
        let with_host = self.host.as_ref().and_then(|host| host.port);
        with_host.or(self.port)
    }

    /// The failure of a local address of another family than the host's.
    #[must_use]
    pub fn another_family(&self, bind: IpAddr) -> Failure {
        let (ours, other) = if bind.is_ipv4() {
            ("IPv4", "IPv6")
        } else {
            ("IPv6", "IPv4")
        };
        let host = self.host.as_ref().map_or("the peer", |host| &host.host);
        Failure::usage(
            format!("--bind {bind} is {ours}, and {host} is to be reached over {other}"),
            format!("give --bind an {other} address, or leave it out"),
        )
    }
}
