//! The command line of iperf3.

use super::draft::SettingsDraft;
use super::error::CommandLineError;
use super::group::OptionGroup;
use super::settings::Iperf3Settings;
use super::table::TABLE;
use crate::option_table::{CommandWord, EffectError, GivenOption, read_options};

/// The usage, as help shows it.
pub const USAGE: &str = include_str!("usage.txt");

/// The request that a command line makes.
#[derive(Debug, Clone)]
pub enum CommandLine {
    /// The version.
    Version,
    /// Help.
    Help,
    /// A test or a server.
    Run(Box<Iperf3Settings>),
}

/// Reads a command line of iperf3, without the program's own name.
///
/// # Errors
/// When it cannot be read, makes no sense, or asks for something that this program does not have.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<CommandLine, CommandLineError> {
    let words = read_options(&TABLE, arguments)
        .map_err(|error| CommandLineError::Usage(error.to_string()))?;
    let mut draft = SettingsDraft::default();
    for word in words {
        let given = match word {
            CommandWord::Option(given) => given,
            CommandWord::Operand(operand) => {
                return Err(CommandLineError::Usage(format!(
                    "unexpected argument '{operand}'"
                )));
            }
        };
        draft.note_group(given.option.group, &given.written);
        apply(&given, &mut draft).map_err(CommandLineError::Parameter)?;
        if draft.version {
            return Ok(CommandLine::Version);
        }
        if draft.help {
            return Ok(CommandLine::Help);
        }
    }
    draft
        .finish()
        .map(|settings| CommandLine::Run(Box::new(settings)))
}

fn apply(
    given: &GivenOption<'_, SettingsDraft, OptionGroup>,
    draft: &mut SettingsDraft,
) -> Result<(), String> {
    let written = &given.written;
    given.apply(draft).map_err(|error| match error {
        EffectError::Argument(error) => error,
        EffectError::Unsupported(reason) => {
            format!("{written} is not available in caudal iperf3: {reason}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3::options::{Iperf3End, TestSettings};
    use caudal_core::text::ExternalText;
    use caudal_wire::iperf3::TransportProtocol;

    fn client(line: &str) -> Result<TestSettings, CommandLineError> {
        match parse(line.split_whitespace().map(str::to_owned))? {
            CommandLine::Run(all) => match all.end {
                Iperf3End::Client(client) => Ok(*client),
                Iperf3End::Server(_) => panic!("{line} is a server"),
            },
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        match parse(line.split_whitespace().map(str::to_owned)) {
            Err(CommandLineError::Parameter(error) | CommandLineError::Usage(error)) => error,
            Ok(other) => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_name_is_one_option_only() {
        let mut longs: Vec<&str> = TABLE
            .iter()
            .flat_map(|option| option.long)
            .copied()
            .collect();
        let mut shorts: Vec<char> = TABLE.iter().filter_map(|option| option.short).collect();
        let (long, short) = (longs.len(), shorts.len());
        longs.sort_unstable();
        longs.dedup();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!((longs.len(), shorts.len()), (long, short));
    }

    #[test]
    fn a_client_has_the_settings_that_iperf3_has_with_the_same_options() {
        let one =
            client("-c h -ub1G/10 -l 1400 -P 3 -R -O 2 -t 5 -S 0x10 -w 1M --title t").unwrap();
        let asked = &one.parameters;
        assert_eq!(
            (asked.protocol, asked.rate_bps, asked.burst),
            (TransportProtocol::Udp, 1_000_000_000, Some(10))
        );
        assert_eq!(
            (one.length, asked.parallel, asked.reverse),
            (Some(1400), 3, true)
        );
        assert_eq!((asked.omit_s, asked.time_s, asked.tos), (2, 5, Some(16)));
        assert_eq!(
            (
                asked.window,
                asked.title.as_ref().map(ExternalText::as_received)
            ),
            (Some(1 << 20), Some("t"))
        );
        let usual = client("-c h").unwrap().parameters;
        assert_eq!((usual.time_s, usual.rate_bps, usual.parallel), (10, 0, 1));
        assert_eq!(client("-c h -u").unwrap().parameters.rate_bps, 1 << 20);
        assert_eq!(client("-c h -u -b 0").unwrap().parameters.rate_bps, 0);
        let amount = client("-c h -n 1.5K").unwrap().parameters;
        assert_eq!((amount.bytes, amount.time_s), (1536, 0));
        assert_eq!(client("-c h --dscp ef").unwrap().parameters.tos, Some(184));
        assert_eq!(client("-c h --band 7").unwrap().parameters.rate_bps, 7);
    }

    #[test]
    fn options_that_make_no_sense_have_the_errors_of_iperf3() {
        let cases = [
            ("-s -c h", "cannot be both server and client"),
            (
                "-c h -t 5 -n 1M",
                "only one test end condition (-t, -n, -k) may be specified",
            ),
            (
                "-c h -R --bidir",
                "cannot be both reverse and bidirectional",
            ),
            (
                "-s -u",
                "some option you are trying to set is client only: -u",
            ),
            (
                "-c h -1",
                "some option you are trying to set is server only: -1",
            ),
            (
                "-c h -i 0.05",
                "invalid report interval (min = 0.1, max = 60 seconds)",
            ),
            (
                "-c h -t 86401",
                "test duration valid values are 0 to 86400 seconds",
            ),
            (
                "-c h -u -l 8",
                "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
            ),
            (
                "-c h -P 129",
                "number of parallel streams too large (maximum = 128)",
            ),
            ("-c h --foo", "unrecognized option '--foo'"),
            (
                "-c h -b 1Q",
                "an option's value has an invalid unit suffix or is not a number",
            ),
        ];
        for (line, words) in cases {
            assert_eq!(refused(line), words, "{line}");
        }
    }

    #[test]
    fn an_option_that_is_not_available_is_named() {
        for (line, name) in [
            ("-c h --sctp", "--sctp"),
            ("-c h -X a", "-X"),
            ("-c h --nstreams 5", "--nstreams"),
            ("-c h -F f --bidir", "-F"),
            ("-c h -F f -Z", "-F"),
        ] {
            assert!(refused(line).contains(name), "{line}: {}", refused(line));
        }
    }
}
