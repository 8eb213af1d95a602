//! The command line of iperf 2, whose long options may be abbreviated.

use super::options::Options;
use super::table::TABLE;
use crate::option_table::{
    ArgumentKind, CommandWord, EffectError, OptionEffect, OptionError, read_options,
};

impl Options {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// One line that names the option, and what it may be.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        for word in read_options(&TABLE, arguments.iter().cloned()).map_err(error_text)? {
            let given = match word {
                CommandWord::Option(given) => given,
                CommandWord::Operand(operand) => {
                    return Err(format!("extra argument -- {operand}"));
                }
            };
            given.apply(&mut options).map_err(|error| match error {
                EffectError::Argument(error) => error,
                EffectError::Unsupported(reason) => {
                    format!("option {} of iperf is not here: {reason}", given.written)
                }
            })?;
        }
        options.check()?;
        Ok(options)
    }

    /// The arguments that environment variables stand for: `IPERF_<LONG NAME>` and `TCP_WINDOW_SIZE`.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let supported = TABLE
            .iter()
            .filter(|option| !matches!(option.effect, OptionEffect::Unsupported(..)));
        let mut arguments: Vec<String> = supported
            .filter_map(|option| {
                let name = option.long.first()?;
                let known = format!("IPERF_{}", name.to_uppercase().replace('-', "_"));
                let value = variable(&known)?;
                Some(match option.argument() {
                    ArgumentKind::Absent => format!("--{name}"),
                    ArgumentKind::Required | ArgumentKind::Optional => format!("--{name}={value}"),
                })
            })
            .collect();
        let window = variable("TCP_WINDOW_SIZE");
        arguments.extend(window.map(|value| format!("--window={value}")));
        arguments
    }
}

/// The text of an error, as the older `getopt_long` of iperf 2 prints it.
fn error_text(error: OptionError) -> String {
    match error {
        OptionError::UnknownName(name) => format!("unrecognized option `--{name}'"),
        OptionError::UnknownLetter(letter) => format!("invalid option -- {letter}"),
        OptionError::Ambiguous(name, names) => {
            format!("option `--{name}' is ambiguous: {}", names.join(", "))
        }
        OptionError::ExcessArgument(name) => format!("option `--{name}' doesn't allow an argument"),
        OptionError::NameAlone(name) => format!("option `--{name}' requires an argument"),
        OptionError::LetterAlone(letter) => format!("option requires an argument -- {letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::iperf2::TestMode;
    use std::time::Duration;

    fn read(line: &str) -> Result<Options, String> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn every_option_of_2_0_5_is_taken_short_and_long() {
        let pairs = [
            ("-f k", "--format k"),
            ("-i 2", "--interval 2"),
            ("-l 8K", "--len 8K"),
            ("-m", "--print_mss"),
            ("-o out", "--output out"),
            ("-p 5002", "--port 5002"),
            ("-u", "--udp"),
            ("-w 13KB", "--window 13KB"),
            ("-B 127.0.0.1", "--bind 127.0.0.1"),
            ("-C", "--compatibility"),
            ("-M 1000", "--mss 1000"),
            ("-N", "--nodelay"),
            ("-V", "--IPv6Version"),
            ("-b 50m", "--bandwidth 50m"),
            ("-d", "--dualtest"),
            ("-n 1M", "--num 1M"),
            ("-r", "--tradeoff"),
            ("-t 20", "--time 20"),
            ("-F name", "--fileinput name"),
            ("-I", "--stdin"),
            ("-L 6001", "--listenport 6001"),
            ("-P 2", "--parallel 2"),
            ("-T 4", "--ttl 4"),
            ("-Z cubic", "--linux-congestion cubic"),
            ("-x CDMSV", "--reportexclude CDMSV"),
            ("-y C", "--reportstyle C"),
        ];
        for (short, long) in pairs {
            let short = read(&format!("-c host {short}"));
            let long = read(&format!("--client host {long}"));
            assert!(short.is_ok(), "{short:?}");
            assert_ne!(short, read("-c host"));
            assert_eq!(short, long);
        }
        for (short, long) in [
            ("-s", "--server"),
            ("-s -U", "--server --single_udp"),
            ("-s -D", "--server --daemon"),
        ] {
            assert!(read(short).is_ok());
            assert_eq!(read(short), read(long));
        }
        assert!(read("-h").unwrap().help && read("--version").unwrap().version);
    }

    #[test]
    fn letters_cluster_and_names_abbreviate() {
        let options = read("-uc host -t5 -b1.5m --dual --listen=6002").unwrap();
        assert!(options.udp);
        assert_eq!(options.rate, Some(1_500_000));
        assert_eq!(options.time, Some(Duration::from_secs(5)));
        assert_eq!(
            (options.mode, options.listen_port),
            (TestMode::Dual, Some(6002))
        );
        assert_eq!(
            read("-c h%eth0 -B [::1]:5006%lo").unwrap().bind_port,
            Some(5006)
        );
        assert_eq!(read("-c h -b 100pps").unwrap().pps, Some(100.0));
        let varying = read("-c h -u -b 50m,5m").unwrap();
        assert_eq!(
            (varying.rate, varying.rate_deviation),
            (Some(50_000_000), Some(5_000_000))
        );
        let range = read("-s -p 5001-5005 --histograms=1m,100").unwrap();
        assert_eq!((range.port, range.last_port), (5001, Some(5005)));
        assert_eq!(range.histograms.map(|shown| shown.bins.count), Some(100));
        assert_eq!(
            read("-c h -u --ipg 2.5").unwrap().gap,
            Some(Duration::from_micros(2500))
        );
        assert_eq!(read("-c h -S ef").unwrap().tos, Some(0xb8));
        assert_eq!(read("-c h -S 0x10").unwrap().tos, Some(16));
    }

    #[test]
    fn what_is_not_here_is_refused_by_its_name() {
        let cases = [
            ("-c h --isochronous=60:20m,0", "--isochronous"),
            ("-c h --histograms", "--histograms"),
            ("-c h --ipg 1", "--ipg"),
            ("-c h -u --ipg 1 -b 1m", "--ipg"),
            ("-c h -b 1m,1k", "-b RATE,DEVIATION"),
            ("-c h -u -b 1m,x", "deviation"),
            ("-c h -u --burst-size 20K", "over TCP"),
            ("-c h --burst-size 20K -b 1m", "exclude"),
            ("-c h --burst-period 1 -R", "that sends"),
            ("-c h -d -p 5001-5002", "-p takes no range"),
            ("-c h -z", "-z"),
            ("-c h --nonsense", "--nonsense"),
            ("-Q", "Q"),
            ("-c h word", "word"),
            ("-c h -p", "-- p"),
            ("-c h -p 5005-5001", "5005-5001"),
            ("-c h --t", "ambiguous"),
            ("-c h -i f", "\"f\""),
            ("-s -c h", "exclude"),
            ("", "-c HOST"),
            ("-c h -x Q", "\"Q\""),
            ("-c h -n -5", "-5"),
            ("-c h -u -l 70000", "65507"),
            ("-c h --udp=yes", "doesn't allow"),
        ];
        for (line, word) in cases {
            let error = read(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn the_environment_stands_in_front() {
        let arguments = Options::from_environment(|name| match name {
            "IPERF_BANDWIDTH" => Some("2m".to_owned()),
            "IPERF_UDP" => Some("1".to_owned()),
            "TCP_WINDOW_SIZE" => Some("64K".to_owned()),
            _ => None,
        });
        assert_eq!(arguments, ["--bandwidth=2m", "--udp", "--window=64K"]);
    }
}
