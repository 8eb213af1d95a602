//! The options of iperf3 up to 3.21, each with what it sets.

use super::draft::SettingsDraft;
use super::group::OptionGroup::{self, Client, Common, Server};
use super::values::{
    check_keepalive, dscp, local_address, milliseconds, narrow, port, processors, rate_and,
    seconds, seconds_rounded_up, server_host, suffixed, timeout, whole,
};
use crate::iperf3::login::LoginPadding;
use crate::option_table::OptionEffect::{Argument, Flag, Ignored, Optional, Unsupported};
use crate::option_table::{ArgumentKind, CommandOption, OptionArgument, OptionEffect};
use caudal_engine::AddressFamily;
use caudal_wire::iperf3::parameters::{
    MAX_BURST, MAX_FLOW_LABEL, MAX_MSS, MAX_OMIT_S, MAX_TIME_S, MAX_WINDOW,
};
use caudal_wire::iperf3::{Iperf3ErrorCode, MAX_STREAMS};
use std::time::Duration;

/// An option of iperf3.
pub(super) type Iperf3Option = CommandOption<SettingsDraft, OptionGroup>;

const fn option(
    group: OptionGroup,
    short: Option<char>,
    long: &'static [&'static str],
    effect: OptionEffect<SettingsDraft>,
) -> Iperf3Option {
    CommandOption {
        short,
        long,
        group,
        effect,
    }
}

const fn flag(
    group: OptionGroup,
    short: Option<char>,
    long: &'static [&'static str],
    set: fn(&mut SettingsDraft),
) -> Iperf3Option {
    option(group, short, long, Flag(set))
}

const fn argument(
    group: OptionGroup,
    short: Option<char>,
    long: &'static [&'static str],
    set: fn(&mut SettingsDraft, &OptionArgument<'_>) -> Result<(), String>,
) -> Iperf3Option {
    option(group, short, long, Argument(set))
}

/// The result of a setter whose argument makes no sense.
fn error(error: &str) -> Result<(), String> {
    Err(error.to_owned())
}

/// Every option. Those that are ignored are always in effect: output is flushed with every line, control connections are
/// kept alive, and the kernel paces by itself where nothing else is asked for.
pub(super) static TABLE: [Iperf3Option; 71] = [
    argument(Common, Some('p'), &["port"], |draft, argument| {
        draft.all.port = port(argument)?;
        Ok(())
    }),
    argument(Common, Some('f'), &["format"], |draft, argument| {
        let letter = argument.text.chars().next();
        draft.all.output.format = letter.filter(|letter| "kmgtKMGTaA".contains(*letter));
        match draft.all.output.format {
            Some(_) => {}
            None => return error("bad format specifier (valid formats are in the set [kmgtKMGT])"),
        }
        Ok(())
    }),
    argument(Common, Some('i'), &["interval"], |draft, argument| {
        let seconds: f64 = argument.text.trim().parse().unwrap_or(-1.0);
        draft.all.interval = if seconds == 0.0 {
            None
        } else if (0.1..=60.0).contains(&seconds) {
            Some(Duration::from_secs_f64(seconds))
        } else {
            return error("invalid report interval (min = 0.1, max = 60 seconds)");
        };
        Ok(())
    }),
    argument(Common, Some('I'), &["pidfile"], |draft, argument| {
        draft.all.pid_file = Some(argument.text.into());
        Ok(())
    }),
    argument(Common, Some('F'), &["file"], |draft, argument| {
        draft.all.file = Some(argument.text.into());
        Ok(())
    }),
    argument(Common, Some('A'), &["affinity"], |draft, argument| {
        let (own, peer) = processors(argument)?;
        draft.all.affinity = Some(own);
        draft.test.parameters.server_affinity = peer;
        Ok(())
    }),
    argument(Common, Some('B'), &["bind"], |draft, argument| {
        let (address, device) = local_address(argument.text)?;
        draft.all.bind = Some(address);
        draft.all.device = device.or_else(|| draft.all.device.take());
        Ok(())
    }),
    argument(Common, None, &["bind-dev"], |draft, argument| {
        draft.all.device = Some(argument.text.to_owned());
        Ok(())
    }),
    flag(Common, Some('V'), &["verbose"], |draft| {
        draft.all.output.verbose = true;
    }),
    flag(Common, Some('J'), &["json"], |draft| {
        draft.all.output.json = true;
    }),
    flag(Common, None, &["json-stream"], |draft| {
        draft.all.output.json = true;
        draft.all.output.json_stream = true;
    }),
    flag(Common, None, &["json-stream-full-output"], |draft| {
        draft.all.output.json = true;
        draft.all.output.json_stream = true;
        draft.all.output.json_full = true;
    }),
    argument(Common, None, &["logfile"], |draft, argument| {
        draft.all.output.log_file = Some(argument.text.into());
        Ok(())
    }),
    option(Common, None, &["forceflush"], Ignored(ArgumentKind::Absent)),
    option(
        Common,
        None,
        &["timestamps"],
        Optional(|draft, argument| {
            let format = argument.map_or("%c ", |argument| argument.text);
            draft.all.output.timestamps = Some(format.to_owned());
            Ok(())
        }),
    ),
    argument(Common, None, &["rcv-timeout"], |draft, argument| {
        draft.all.receive_timeout = timeout(
            argument,
            100..=86_400_000,
            "receive timeout value is incorrect or not in range (100 to 86400000 ms)",
        )?;
        draft.has_receive_timeout = true;
        Ok(())
    }),
    argument(Common, None, &["snd-timeout"], |draft, argument| {
        let time = timeout(
            argument,
            0..=86_400_000,
            "send timeout value is incorrect or not in range (0 to 86400000 ms)",
        )?;
        draft.test.send_timeout = Some(time).filter(|time| !time.is_zero());
        Ok(())
    }),
    option(
        Common,
        None,
        &["cntl-ka"],
        // The control connection is kept alive in any case.
        Optional(|_, argument| argument.map_or(Ok(()), check_keepalive)),
    ),
    flag(Client, Some('m'), &["mptcp"], |draft| {
        draft.test.parameters.mptcp = true;
    }),
    option(
        Common,
        Some('d'),
        &["debug"],
        Optional(|draft, level| {
            if let Some(level) = level {
                whole(level)?;
            }
            draft.all.output.verbose = true;
            Ok(())
        }),
    ),
    flag(Common, Some('v'), &["version"], |draft| {
        draft.version = true;
    }),
    flag(Common, Some('h'), &["help"], |draft| draft.help = true),
    flag(Server, Some('s'), &["server"], |draft| {
        draft.is_server = true;
    }),
    flag(Server, Some('D'), &["daemon"], |draft| {
        draft.service.daemon = true;
    }),
    flag(Server, Some('1'), &["one-off"], |draft| {
        draft.service.one_off = true;
    }),
    argument(
        Server,
        None,
        &["server-bitrate-limit"],
        |draft, argument| {
            let (rate, time) = rate_and(argument)?;
            let time = time.map(|time| seconds(&time)).transpose()?;
            let time = Duration::from_secs(time.unwrap_or(5).max(1));
            draft.service.rate_limit = Some((rate, time)).filter(|(rate, _)| *rate > 0);
            Ok(())
        },
    ),
    argument(Server, None, &["idle-timeout"], |draft, argument| {
        let timeout = seconds(argument)?;
        if !(1..=86_400).contains(&timeout) {
            return error("idle timeout parameter is not positive or larger than allowed limit");
        }
        draft.service.idle_timeout = Some(Duration::from_secs(timeout));
        Ok(())
    }),
    argument(Server, None, &["server-max-duration"], |draft, argument| {
        let max = seconds(argument)?;
        draft.service.max_duration = Some(Duration::from_secs(max)).filter(|_| max > 0);
        Ok(())
    }),
    argument(
        Server,
        None,
        &["rsa-private-key-path"],
        |draft, argument| {
            draft.service.private_key = Some(argument.text.into());
            Ok(())
        },
    ),
    argument(
        Server,
        None,
        &["authorized-users-path"],
        |draft, argument| {
            draft.service.users = Some(argument.text.into());
            Ok(())
        },
    ),
    argument(Server, None, &["time-skew-threshold"], |draft, argument| {
        let skew = seconds(argument)?;
        if skew == 0 {
            return error("skew threshold must be a positive number");
        }
        draft.service.skew = Duration::from_secs(skew);
        Ok(())
    }),
    flag(Common, None, &["use-pkcs1-padding"], |draft| {
        draft.service.padding = LoginPadding::Pkcs1;
        draft.test.padding = LoginPadding::Pkcs1;
    }),
    argument(Client, Some('c'), &["client"], |draft, argument| {
        let (host, device) = server_host(argument.text);
        draft.is_client = true;
        draft.test.host = host.to_owned();
        draft.all.device = device.or_else(|| draft.all.device.take());
        Ok(())
    }),
    flag(Client, Some('u'), &["udp"], |draft| draft.udp = true),
    option(
        Client,
        None,
        &["sctp"],
        Unsupported(ArgumentKind::Absent, "tests are over TCP and UDP"),
    ),
    option(
        Client,
        Some('X'),
        &["xbind"],
        Unsupported(ArgumentKind::Required, "tests are over TCP and UDP"),
    ),
    option(
        Client,
        None,
        &["nstreams"],
        Unsupported(ArgumentKind::Required, "tests are over TCP and UDP"),
    ),
    argument(Client, None, &["connect-timeout"], |draft, argument| {
        let timeout = milliseconds(argument)?;
        draft.test.connect_timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
        Ok(())
    }),
    argument(
        Client,
        Some('b'),
        &["bitrate", "bandwidth"],
        |draft, argument| {
            let (rate, burst) = rate_and(argument)?;
            draft.rate_bps = Some(rate);
            if let Some(burst) = burst {
                let burst = Some(whole(&burst)?).filter(|burst| *burst > 0);
                let burst = burst.ok_or_else(|| Iperf3ErrorCode::BURST.to_string())?;
                let burst = narrow(burst, MAX_BURST, Iperf3ErrorCode::BURST)?;
                draft.test.parameters.burst = Some(burst);
            }
            Ok(())
        },
    ),
    argument(Client, None, &["pacing-timer"], |draft, argument| {
        let time = suffixed(argument.text, 1000.0)?;
        draft.test.parameters.pacing_timer_us =
            narrow(time, u64::from(u32::MAX), Iperf3ErrorCode::BAD_UNIT)?;
        Ok(())
    }),
    argument(Client, None, &["fq-rate"], |draft, argument| {
        let rate = suffixed(argument.text, 1000.0)?;
        draft.test.parameters.fq_rate_bps = Some(rate).filter(|rate| *rate > 0);
        Ok(())
    }),
    option(
        Client,
        None,
        &["no-fq-socket-pacing"],
        Ignored(ArgumentKind::Absent),
    ),
    argument(Client, Some('t'), &["time"], |draft, argument| {
        let time = seconds(argument)?;
        draft.test.parameters.time_s = narrow(time, MAX_TIME_S, Iperf3ErrorCode::DURATION)?;
        draft.has_time = true;
        Ok(())
    }),
    argument(Client, Some('n'), &["bytes"], |draft, argument| {
        draft.test.parameters.bytes = suffixed(argument.text, 1024.0)?;
        draft.has_bytes = draft.test.parameters.bytes > 0;
        Ok(())
    }),
    argument(Client, Some('k'), &["blockcount"], |draft, argument| {
        draft.test.parameters.blocks = suffixed(argument.text, 1024.0)?;
        draft.has_blocks = draft.test.parameters.blocks > 0;
        Ok(())
    }),
    argument(Client, Some('l'), &["length"], |draft, argument| {
        draft.length = Some(suffixed(argument.text, 1024.0)?);
        Ok(())
    }),
    argument(Client, None, &["cport"], |draft, argument| {
        draft.test.client_port = Some(port(argument)?);
        Ok(())
    }),
    argument(Client, Some('P'), &["parallel"], |draft, argument| {
        let streams = whole(argument)?;
        if streams == 0 {
            return error("number of parallel streams must be at least 1");
        }
        draft.test.parameters.parallel =
            narrow(streams, u64::from(MAX_STREAMS), Iperf3ErrorCode::STREAMS)?;
        Ok(())
    }),
    flag(Client, Some('R'), &["reverse"], |draft| {
        draft.test.parameters.reverse = true;
    }),
    flag(Client, None, &["bidir"], |draft| {
        draft.test.parameters.bidirectional = true;
    }),
    argument(Client, Some('w'), &["window"], |draft, argument| {
        let window = suffixed(argument.text, 1024.0)?;
        let window: u64 = narrow(window, MAX_WINDOW, Iperf3ErrorCode::BUFFER_SIZE)?;
        draft.test.parameters.window = Some(window).filter(|window| *window > 0);
        Ok(())
    }),
    argument(
        Client,
        Some('C'),
        &["congestion", "linux-congestion"],
        |draft, argument| {
            draft.test.parameters.congestion = Some(argument.text.into());
            Ok(())
        },
    ),
    argument(Client, Some('M'), &["set-mss"], |draft, argument| {
        let mss: u32 = narrow(whole(argument)?, MAX_MSS, Iperf3ErrorCode::MSS)?;
        draft.test.parameters.mss = Some(mss).filter(|mss| *mss > 0);
        Ok(())
    }),
    flag(Client, Some('N'), &["no-delay"], |draft| {
        draft.test.parameters.no_delay = true;
    }),
    flag(Common, Some('4'), &["version4"], |draft| {
        draft.all.family = Some(AddressFamily::V4);
    }),
    flag(Common, Some('6'), &["version6"], |draft| {
        draft.all.family = Some(AddressFamily::V6);
    }),
    argument(Client, Some('S'), &["tos"], |draft, argument| {
        let tos = whole(argument).map_err(|_| Iperf3ErrorCode::TOS.to_string())?;
        draft.test.parameters.tos = Some(narrow(tos, 255, Iperf3ErrorCode::TOS)?);
        Ok(())
    }),
    argument(Client, None, &["dscp"], |draft, argument| {
        draft.test.parameters.tos = Some(dscp(argument)?);
        Ok(())
    }),
    argument(Client, Some('L'), &["flowlabel"], |draft, argument| {
        let label = whole(argument)?;
        if !(1..=MAX_FLOW_LABEL).contains(&label) {
            return error(&Iperf3ErrorCode::SET_FLOW_LABEL.to_string());
        }
        draft.test.parameters.flow_label = u32::try_from(label).ok();
        Ok(())
    }),
    flag(Client, Some('Z'), &["zerocopy"], |draft| {
        draft.test.parameters.zero_copy = true;
    }),
    flag(Client, None, &["skip-rx-copy"], |draft| {
        draft.test.parameters.skip_rx_copy = true;
    }),
    argument(Client, Some('O'), &["omit"], |draft, argument| {
        let time = seconds_rounded_up(argument)?;
        draft.test.parameters.omit_s = narrow(time, MAX_OMIT_S, Iperf3ErrorCode::OMIT)?;
        Ok(())
    }),
    argument(Client, Some('T'), &["title"], |draft, argument| {
        draft.test.parameters.title = Some(argument.text.into());
        Ok(())
    }),
    argument(Client, None, &["extra-data"], |draft, argument| {
        draft.test.parameters.extra_data = Some(argument.text.into());
        Ok(())
    }),
    flag(Client, None, &["get-server-output"], |draft| {
        draft.test.parameters.get_server_output = true;
    }),
    flag(Client, None, &["udp-counters-64bit"], |draft| {
        draft.test.parameters.wide_counters = true;
    }),
    flag(Client, None, &["gsro"], |draft| {
        draft.test.parameters.gsro = true;
    }),
    flag(Client, None, &["repeating-payload"], |draft| {
        draft.test.parameters.repeating_payload = true;
    }),
    flag(Client, None, &["dont-fragment"], |draft| {
        draft.test.parameters.dont_fragment = true;
    }),
    argument(Client, None, &["username"], |draft, argument| {
        draft.test.user_name = Some(argument.text.to_owned());
        Ok(())
    }),
    argument(Client, None, &["rsa-public-key-path"], |draft, argument| {
        draft.test.public_key = Some(argument.text.into());
        Ok(())
    }),
];

/// The options that have no effect here, as the section of a document.
#[must_use]
pub fn absent_options() -> String {
    crate::option_document::absent_options(&TABLE)
}

/// The names of an option.
#[derive(Debug, Clone, Copy)]
pub struct Iperf3OptionNames {
    /// Its letter.
    pub short: Option<char>,
    /// Its names, the usual one first.
    pub long: &'static [&'static str],
}

/// The names of every option.
pub fn option_names() -> impl Iterator<Item = Iperf3OptionNames> {
    TABLE.iter().map(|option| Iperf3OptionNames {
        short: option.short,
        long: option.long,
    })
}
