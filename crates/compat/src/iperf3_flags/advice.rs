//! One line of advice for an option of iperf3 that caudal does not have.

use super::equivalent::{EQUIVALENTS, Equivalent};
use crate::iperf3::option_names;
use caudal_core::marks::Dscp;

/// The advice for an argument that caudal's command does not have; `None` when iperf3 has no such option.
///
/// `written` is the argument, and `line` the command line without the program's name.
#[must_use]
pub fn advice(written: &str, line: &[String]) -> Option<String> {
    let option = usual_name(written)?;
    let command = line.first().map_or("", String::as_str);
    let bare = written.split('=').next().unwrap_or(written);
    match (option, command) {
        ("bytes", "rtt") => {
            return Some(format!(
                "{bare} is an amount of payload; round trips are counted with --count N"
            ));
        }
        ("client", "rtt")
            if value_of(bare, line).is_some_and(|value| value.parse::<u64>().is_ok()) =>
        {
            return Some(format!("ping's {bare} is --count here"));
        }
        ("client", _) => return Some(client_advice(bare, line)),
        ("server", _) => return Some(format!("iperf3's {bare} is `caudal serve` here")),
        ("udp", "rtt") => return Some(format!("iperf3's {bare} is --proto udp here")),
        ("tos", _) => return Some(tos_advice(bare, value_of(bare, line).as_deref())),
        _ => {}
    }
    let row = EQUIVALENTS.iter().find(|row| row.option == option)?;
    Some(match row.here {
        Equivalent::Flag(flag) if flag.starts_with("caudal ") => {
            format!("iperf3's {bare} is `{flag}` here")
        }
        Equivalent::Flag(flag) => format!("iperf3's {bare} is {flag} here"),
        Equivalent::Nothing => format!("there is no {bare} as in iperf3: {}", row.note),
        Equivalent::Same if command.starts_with('-') || command.is_empty() => {
            format!("{bare} goes with a command, as `caudal tcp {bare}`")
        }
        Equivalent::Same => format!("`caudal {command}` has no {bare}; `caudal tcp` has it"),
    })
}

/// The usual name of the option of iperf3 that is written like this, alone, with a value, or first in a cluster.
fn usual_name(written: &str) -> Option<&'static str> {
    let names = match written.strip_prefix("--") {
        Some(long) => {
            let long = long.split('=').next().unwrap_or(long);
            option_names().find(|names| names.long.contains(&long))
        }
        None => {
            let letter = written.strip_prefix('-')?.chars().next()?;
            option_names().find(|names| names.short == Some(letter))
        }
    };
    names?.long.first().copied()
}

/// The value behind an option, attached or as the next argument.
fn value_of(written: &str, line: &[String]) -> Option<String> {
    let at = line.iter().position(|word| {
        let is_cluster = !written.starts_with("--") && word.starts_with(written);
        word == written || is_cluster || word.starts_with(&format!("{written}="))
    })?;
    let attached = line[at].strip_prefix(written).unwrap_or_default();
    let attached = attached.strip_prefix('=').unwrap_or(attached);
    if attached.is_empty() {
        line.get(at + 1).cloned()
    } else {
        Some(attached.to_owned())
    }
}

/// The advice for `-c HOST`: the command with that host, and the same command line for `caudal iperf3`.
fn client_advice(written: &str, line: &[String]) -> String {
    let host = value_of(written, line).unwrap_or_else(|| "HOST".to_owned());
    let is_udp = line
        .iter()
        .any(|word| word == "--udp" || (word.starts_with("-u") && !word.starts_with("--")));
    let command = match line.first().map(String::as_str) {
        Some(command @ ("tcp" | "udp" | "rtt")) => command,
        _ if is_udp => "udp",
        _ => "tcp",
    };
    let options = line.iter().skip_while(|word| !word.starts_with('-'));
    let same: Vec<String> = options.cloned().collect();
    format!(
        "iperf3's {written} HOST is `caudal {command} {host}` here; `caudal iperf3 {}` takes the same command line",
        same.join(" ")
    )
}

/// The advice for `-S TOS`.
fn tos_advice(written: &str, value: Option<&str>) -> String {
    let number = value.and_then(|text| {
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let octal = text.strip_prefix('0').filter(|rest| !rest.is_empty());
        match (hex, octal) {
            (Some(hex), _) => u8::from_str_radix(hex, 16).ok(),
            (None, Some(octal)) => u8::from_str_radix(octal, 8).ok(),
            (None, None) => text.parse().ok(),
        }
    });
    let Some((text, tos)) = value.zip(number) else {
        return format!(
            "iperf3's {written} is --dscp here, with a quarter of the TOS byte's value"
        );
    };
    let dscp = Dscp::from_tos(tos);
    let ecn = if tos & 3 == 0 {
        ""
    } else {
        ", without the two bits of ECN, which TCP negotiates"
    };
    format!("iperf3's {written} {text} is --dscp {dscp} here{ecn}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let written = words.iter().find(|word| word.starts_with('-')).unwrap();
        advice(written, &words).unwrap()
    }

    #[test]
    fn an_option_of_iperf3_is_answered_with_the_flag_of_caudal() {
        for (line, expected) in [
            ("-c far", "`caudal tcp far` here; `caudal iperf3 -c far`"),
            (
                "-c far -u -b 10M",
                "`caudal udp far` here; `caudal iperf3 -c far -u -b 10M`",
            ),
            ("udp --client=far", "`caudal udp far`"),
            ("-s -p 5202", "`caudal serve`"),
            ("tcp -u far", "`caudal udp HOST`"),
            ("rtt -u far", "--proto udp"),
            ("rtt far -n 5", "--count N"),
            ("rtt far -c 5", "--count"),
            ("rtt -c far", "`caudal rtt far`"),
            ("tcp -S 184 far", "-S 184 is --dscp EF"),
            ("tcp -S 0x10 far", "--dscp 4"),
            (
                "tcp --tos=7 far",
                "--dscp LE here, without the two bits of ECN",
            ),
            ("tcp --set-mss 1400", "-M BYTES"),
            ("tcp -k 5", "-n"),
            ("serve -D", "service manager"),
            ("-J", "`caudal tcp -J`"),
        ] {
            let advice = of(line);
            assert!(advice.contains(expected), "{line}: {advice}");
            assert!(!advice.contains('\n'), "{line}: {advice}");
        }
    }

    #[test]
    fn an_option_that_iperf3_has_not_is_left_to_others() {
        for written in ["--frobnicate", "-y", "far"] {
            assert_eq!(advice(written, &[written.to_owned()]), None);
        }
    }

    #[test]
    fn every_option_of_iperf3_has_an_equivalent_or_a_reason() {
        let known: Vec<&str> = option_names()
            .filter_map(|names| names.long.first().copied())
            .collect();
        let listed: Vec<&str> = EQUIVALENTS.iter().map(|row| row.option).collect();
        for name in &known {
            assert!(listed.contains(name), "--{name} of iperf3 is not listed");
        }
        for row in &EQUIVALENTS {
            assert!(
                known.contains(&row.option),
                "iperf3 has no --{}",
                row.option
            );
            assert!(
                row.here != Equivalent::Nothing || !row.note.is_empty(),
                "--{} needs a reason",
                row.option
            );
        }
        assert_eq!(known.len(), listed.len());
    }
}
