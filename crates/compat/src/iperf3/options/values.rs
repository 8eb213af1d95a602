//! The arguments of iperf3's options as values, and the errors of those that make no sense.

use crate::iperf3::units::{parse, parse_integer};
use crate::option_table::OptionArgument;
use caudal_core::marks::Dscp;
use caudal_wire::iperf3::Iperf3ErrorCode;
use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A number without a suffix.
pub(super) fn whole(argument: &OptionArgument<'_>) -> Result<u64, String> {
    let OptionArgument { written, text, .. } = argument;
    parse_integer(text)
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| format!("{written}: {text:?} is not a whole number"))
}

/// A number of whole seconds.
pub(super) fn seconds(argument: &OptionArgument<'_>) -> Result<u64, String> {
    let OptionArgument { written, text, .. } = argument;
    match text.trim().parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (0.0..1e9).contains(&number) => Ok(number as u64),
        Ok(number) if (0.0..1e9).contains(&number) => Err(format!(
            "{written}: iperf3 counts in whole seconds, not {text}"
        )),
        _ => Err(format!("{written}: {text:?} is not a number of seconds")),
    }
}

/// A number of seconds, a fraction of one counting as a whole one: the protocol has whole seconds.
pub(super) fn seconds_rounded_up(argument: &OptionArgument<'_>) -> Result<u64, String> {
    let OptionArgument { written, text, .. } = argument;
    match text.trim().parse::<f64>() {
        Ok(number) if (0.0..1e9).contains(&number) => Ok(number.ceil() as u64),
        _ => Err(format!("{written}: {text:?} is not a number of seconds")),
    }
}

/// A number with a suffix for powers of `step`.
pub(super) fn suffixed(text: &str, step: f64) -> Result<u64, String> {
    match parse(text, step) {
        Some(number) if (0.0..9.2e18).contains(&number) => Ok(number as u64),
        _ => Err(Iperf3ErrorCode::BAD_UNIT.to_string()),
    }
}

/// The number in a narrower type, where it is at most `max`.
pub(super) fn narrow<T: TryFrom<u64>>(
    number: u64,
    max: u64,
    error: Iperf3ErrorCode,
) -> Result<T, String> {
    Some(number)
        .filter(|number| *number <= max)
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| error.to_string())
}

/// A number of milliseconds.
pub(super) fn milliseconds(argument: &OptionArgument<'_>) -> Result<Duration, String> {
    whole(argument).map(Duration::from_millis)
}

/// A timeout in milliseconds within `range`, and `out_of_range` as the error of any other.
pub(super) fn timeout(
    argument: &OptionArgument<'_>,
    range: RangeInclusive<u64>,
    out_of_range: &str,
) -> Result<Duration, String> {
    let milliseconds = whole(argument)?;
    if !range.contains(&milliseconds) {
        return Err(out_of_range.to_owned());
    }
    Ok(Duration::from_millis(milliseconds))
}

/// Checks the times of a keepalive, IDLE/INTERVAL/COUNT: the retries end before the next probe is due.
pub(super) fn check_keepalive(argument: &OptionArgument<'_>) -> Result<(), String> {
    let mut numbers = [0_u64; 3];
    for (number, text) in numbers.iter_mut().zip(argument.text.splitn(3, '/')) {
        if !text.is_empty() {
            *number = text.parse().map_err(|_| {
                format!(
                    "{} {:?} is no IDLE/INTERVAL/COUNT",
                    argument.written, argument.text
                )
            })?;
        }
    }
    let [idle, interval, count] = numbers;
    if idle > 0 && idle <= interval.saturating_mul(count) {
        return Err(
            "control connection Keepalive period should be larger than the full retry period (interval * count)"
                .to_owned(),
        );
    }
    Ok(())
}

/// A port.
pub(super) fn port(argument: &OptionArgument<'_>) -> Result<u16, String> {
    let OptionArgument { written, text, .. } = argument;
    whole(argument)
        .ok()
        .and_then(|port| u16::try_from(port).ok())
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("{written}: {text:?} is not a port between 1 and 65535"))
}

/// The processor of this end, and behind a comma that of the other.
pub(super) fn processors(argument: &OptionArgument<'_>) -> Result<(usize, Option<u32>), String> {
    let (own, peer) = match argument.text.split_once([',', '/']) {
        Some((own, peer)) => (own, Some(peer)),
        None => (argument.text, None),
    };
    let cpu = |text| {
        let number = whole(&OptionArgument { text, ..*argument })?;
        narrow::<u32>(number, 1024, Iperf3ErrorCode::AFFINITY)
    };
    Ok((cpu(own)? as usize, peer.map(cpu).transpose()?))
}

/// The TOS byte of a DSCP, a number or a name.
pub(super) fn dscp(argument: &OptionArgument<'_>) -> Result<u8, String> {
    let code = match Dscp::from_name(argument.text) {
        Some(dscp) => u64::from(dscp.get()),
        None => whole(argument).map_err(|_| Iperf3ErrorCode::DSCP.to_string())?,
    };
    narrow::<u8>(code, 63, Iperf3ErrorCode::DSCP).map(|code| code << 2)
}

/// A rate, and the number that may follow behind a slash.
pub(super) fn rate_and<'a>(
    argument: &OptionArgument<'a>,
) -> Result<(u64, Option<OptionArgument<'a>>), String> {
    let (rate, rest) = match argument.text.split_once('/') {
        Some((rate, rest)) => (rate, Some(rest)),
        None => (argument.text, None),
    };
    let rest = rest.map(|text| OptionArgument { text, ..*argument });
    Ok((suffixed(rate, 1000.0)?, rest))
}

/// A local address, and the interface that may follow behind a percent sign.
pub(super) fn local_address(text: &str) -> Result<(IpAddr, Option<String>), String> {
    let (host, device) = match text.split_once('%') {
        Some((host, device)) => (host, Some(device.to_owned())),
        None => (text, None),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let resolved = || (bare, 0).to_socket_addrs().ok()?.next();
    bare.parse()
        .ok()
        .or_else(|| resolved().map(|address| address.ip()))
        .map(|address| (address, device))
        .ok_or_else(|| format!("--bind: {text:?} is no address of this machine"))
}

/// A server, and the interface that may follow behind a percent sign.
pub(super) fn server_host(text: &str) -> (&str, Option<String>) {
    match text.split_once('%') {
        // The scope of a link-local address belongs to it; anything else names an interface.
        Some((host, device)) if !is_link_local(host) => (host, Some(device.to_owned())),
        _ => (text, None),
    }
}

fn is_link_local(host: &str) -> bool {
    host.parse::<Ipv6Addr>()
        .is_ok_and(|address| address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_scope_of_a_link_local_address_belongs_to_it() {
        let device = |name: &str| Some(name.to_owned());
        assert_eq!(server_host("fe80::1%eth0"), ("fe80::1%eth0", None));
        assert_eq!(server_host("::1%lo"), ("::1", device("lo")));
        assert_eq!(server_host("127.0.0.1%lo"), ("127.0.0.1", device("lo")));
        assert_eq!(server_host("host"), ("host", None));
    }
}
