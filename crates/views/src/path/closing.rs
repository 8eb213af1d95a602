//! The closing block of a path: the narrow link first, then each hop with the link that leads to it, then the path as a whole.

use super::{both_ends, facts, headline, hop_rows};
use crate::closing::ClosingLine;
use crate::interval_table::Detail;
use crate::quality;
use crate::text;
use crate::text_form::TextForm;
use caudal_core::path::MarkTrace;
use caudal_core::run::Run;

/// The lines of the closing block; of a quiet one the narrow link, the round-trip time and the warnings.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let Some(report) = run.path() else {
        return Vec::new();
    };
    if form.quiet {
        let mut lines = vec![ClosingLine::Emphasized(headline::in_one_line(report))];
        lines.extend(
            text::warnings(run, form.width)
                .into_iter()
                .map(ClosingLine::Text),
        );
        return lines;
    }
    let mut lines = both_ends::lines(report, form);
    if let Some(under_load) = run.quality() {
        lines.push("latency under load:".to_owned());
        lines.extend(quality::report_lines(under_load, form));
    }
    lines.extend(hop_rows::lines(report, form.detail, form.width));
    lines.extend(facts::lines(run, report, form.width));
    lines.extend(
        report
            .flows
            .iter()
            .map(|flows| text::fold(&flows.to_string(), 4, form.width)),
    );
    // Changes are warnings too.
    let is_told = |trace: &&MarkTrace| trace.changes.is_empty() || form.detail == Detail::Every;
    let marks = report.marks.iter().filter(is_told);
    lines.extend(marks.map(|trace| text::fold(&trace.to_string(), 4, form.width)));
    lines.extend(both_ends::next_steps(run, report, form.width));
    lines.extend(text::warnings(run, form.width));
    let headlines = headline::lines(report).into_iter();
    let others = lines.into_iter().map(ClosingLine::Text);
    headlines
        .map(ClosingLine::Emphasized)
        .chain(others)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::width::LineWidth;
    use caudal_core::path::{HopAnswering, HostAnswer, PathDuplex, PathDuplexMode, PathReport};
    use caudal_core::warning::{Warning, WarningCode};
    use unicode_width::UnicodeWidthStr;

    fn shown(report: PathReport, detail: Detail, quiet: bool) -> String {
        let form = TextForm {
            quiet,
            detail,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        let lines = result_lines(&sample::run(report), form);
        let texts: Vec<String> = lines
            .iter()
            .map(|line| line.text(LineWidth::UNLIMITED))
            .collect();
        texts.join("\n")
    }

    fn usual(report: PathReport) -> String {
        shown(report, Detail::Usual, false)
    }

    #[test]
    fn three_hops_are_a_table_with_a_link_above_each() {
        let text = usual(sample::three_hops());
        assert_eq!(
            text.replace("\n    ", " "),
            "\
narrow link: 9.94 Mbit/s (95 % CI 9.69–10.19 Mbit/s), hop 1 to 2
hop  address (name)                              loss     min     avg  max ms
  |  99.4 Mbit/s (96.9–101.9 Mbit/s), serialising
  1  10.0.0.1                                     0 %    1.00    1.50    2.00
  |  9.94 Mbit/s (9.69–10.19 Mbit/s), serialising, narrow link
  2  10.0.0.2                                     0 %    2.00    2.50    3.00
  |  49.7 Mbit/s (48.5–50.9 Mbit/s), serialising
  3  10.0.0.3 (host.example)                      0 %    3.00    3.50    4.00
path MTU: 1400 B, of 1500 B at this machine: a router before hop 2 says so (ICMP)
one route among 6 flows (95 %)
policers were not looked for: that takes --peer, and caudal serve at the other end
480 packets, 512 kB in 21 s"
                .replace("\n    ", " ")
        );
        let text = shown(sample::three_hops(), Detail::Every, false);
        assert!(
            text.contains("  |    the delay grows with the size"),
            "{text}"
        );
    }

    #[test]
    fn a_quiet_path_is_one_line() {
        let text = shown(sample::three_hops(), Detail::Usual, true).replace("\n    ", " ");
        assert_eq!(
            text,
            "narrow link: 9.94 Mbit/s (95 % CI 9.69–10.19 Mbit/s), hop 1 to 2; RTT of the host 3.00/3.50/4.00 ms (min/avg/max)"
        );
        let text = shown(sample::nothing(), Detail::Usual, true).replace("\n    ", " ");
        assert_eq!(
            text,
            "narrow link: cannot tell: nothing answers; no RTT of the host"
        );
    }

    #[test]
    fn a_silent_hop_has_no_values_and_the_link_spans_it() {
        let text = usual(sample::silent_hop());
        assert!(
            text.contains(
                "  2  does not answer                                –       –       –       –\n"
            ),
            "{text}"
        );
        assert!(text.contains("  |  hop 1 to 3: 9.94 Mbit/s"), "{text}");
    }

    #[test]
    fn where_nothing_answers_one_row_says_so() {
        let text = usual(sample::nothing());
        assert!(
            text.starts_with("narrow link: cannot tell: nothing answers\n"),
            "{text}"
        );
        assert!(text.contains("\n1–30  nothing answers\n"), "{text}");
        assert!(text.contains("the host does not answer"), "{text}");
        assert!(text.contains("cut short: ^C"), "{text}");
    }

    #[test]
    fn loopback_has_neither_hops_nor_a_table() {
        let text = usual(sample::loopback());
        assert_eq!(
            text.replace("\n    ", " "),
            "narrow link: cannot tell: packets to this machine cross no link"
        );
    }

    #[test]
    fn a_rate_limit_is_no_loss() {
        let mut report = sample::three_hops();
        report.hops[0].answering = HopAnswering::RateLimited;
        report.hops[0].unanswered = 20;
        report.hops[0].answer_interval_ms = Some(1000.0);
        let text = usual(report);
        assert!(
            text.contains("  1  10.0.0.1                                 limited    1.00    1.50    2.00\n     limits its answers to one in 1 s\n"),
            "{text}"
        );
    }

    #[test]
    fn other_routes_and_changes_are_told() {
        let mut report = sample::three_hops();
        sample::with_routes(&mut report);
        let text = usual(report);
        assert!(
            text.contains("     other flows: 10.1.0.2, 10.2.0.2\n"),
            "{text}"
        );
        assert!(text.contains("\n2 routes among 16 flows"), "{text}");
        assert!(
            text.contains("the route changed at 3.2 s: hop 2 was 10.0.0.2 and is 10.1.0.2"),
            "{text}"
        );
    }

    #[test]
    fn a_host_that_is_answered_for_is_told() {
        for (answer, words) in [
            (HostAnswer::Refused, "refuses probes"),
            (HostAnswer::Nothing, "the host does not answer"),
        ] {
            let report = PathReport {
                host_answer: answer,
                ..sample::three_hops()
            };
            assert!(usual(report).contains(words), "{words}");
        }
        assert!(!usual(sample::three_hops()).contains("the host"));
    }

    #[test]
    fn what_both_ends_found_stands_above_the_hops_and_the_next_step_last() {
        let mut report = sample::three_hops();
        report.between_ends = Some(Box::new(sample::between_ends()));
        report.duplex = Some(sample::duplex());
        let text = usual(report.clone());
        let (before, after) = text.split_once("\nhop  address").unwrap();
        assert_eq!(
            before,
            "\
narrow link: upload 9.940 Mbit/s, download 10.00 Mbit/s (a shaper), between both ends, hop 1 to 2
measured with 10.0.0.3:5201, in frames on the wire:
  upload: narrow link 9.940 Mbit/s (9.841–10.039 Mbit/s)
    no policer or shaper with a bucket of up to 76 900 B
    available bandwidth 4.753 Mbit/s to 4.902 Mbit/s, varying from 4.800 Mbit/s to 4.850 Mbit/s
    window 31.06 kB needed (BDP 24.85 kB at 9.940 Mbit/s); the receiver allows 20 kB, so that it takes 2 flows
  download: shaped to 10.00 Mbit/s (9.90–10.10 Mbit/s), 60 000 B at once, on a line of 98.80 Mbit/s (medium confidence)
    a token bucket: what exceeds the rate waits
    available bandwidth: cannot tell, because a token bucket is in the way
    window 31.25 kB needed (BDP 25 kB at 10 Mbit/s); the kernels allow 20 kB
  round trip without load: 20.0/20.5/22.0 ms (min/avg/max)
  delay variation (p50/p90): upload 40 µs/80 µs, download 40 µs/80 µs
duplex mode: duplex mismatch, the near end half duplex (high confidence): 8.9 % are lost in both directions at once only, small datagrams from the near end least
  this end: eth0 counted 43 late collisions, so it is half duplex and its partner does not defer to it
    → enable autonegotiation at both ends of the link, with all modes advertised"
        );
        assert!(
            after.ends_with(
                "\n480 packets, 512 kB in 21 s; between both ends 38582 packets, 49.84 MB in 123.5 s\n\
                 next step, upload: at the receiver: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 62500\""
            ),
            "{after}"
        );
        let text = shown(report, Detail::Every, false);
        for detail in [
            "    bulks of 8 packets: 9.940 Mbit/s (9.841–10.039 Mbit/s)",
            "    shorter bulks: 9.950 Mbit/s",
            "    counted both ways: 43 late collisions, 2 CRC (FCS) errors",
            "  light load, both directions, upload: 178 of 2000 lost",
            "  above the capacity, both directions, download: 45 Mbit/s arrived",
        ] {
            assert!(text.contains(detail), "{detail:?}: {text}");
        }
    }

    #[test]
    fn where_the_duplex_mode_was_asked_for_it_is_the_headline() {
        let mut report = sample::three_hops();
        report.links.clear();
        report.duplex = Some(sample::duplex());
        let text = usual(report.clone());
        assert!(
            text.starts_with(
                "duplex mode: duplex mismatch, the near end half duplex (high confidence): 8.9 %"
            ),
            "{text}"
        );
        report.duplex = Some(PathDuplex {
            mode: PathDuplexMode::CannotTell,
            reason: "cannot tell, because a run had 3 datagrams".into(),
            ..sample::duplex()
        });
        let text = usual(report);
        assert!(
            text.starts_with("duplex mode: cannot tell, because a run had 3 datagrams\n"),
            "{text}"
        );
    }

    #[test]
    fn what_a_warning_says_is_not_said_twice() {
        let mut run = sample::run(sample::nothing());
        let codes = [WarningCode::CutShort, WarningCode::HostSilent];
        run.warnings = codes.map(|code| Warning::new(code, "so it is")).to_vec();
        let form = TextForm {
            quiet: false,
            detail: Detail::Usual,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        let lines = result_lines(&run, form);
        let texts: Vec<String> = lines
            .iter()
            .map(|line| line.text(LineWidth::UNLIMITED))
            .collect();
        let text = texts.join("\n");
        assert_eq!(text.matches("warning: so it is").count(), 2, "{text}");
        assert!(
            !text.contains("cut short:") && !text.contains("the host does not"),
            "{text}"
        );
    }

    #[test]
    fn every_table_fits_the_terminal_whatever_strangers_choose() {
        let reports = [
            sample::three_hops(),
            sample::hostile(),
            sample::thirty_hops(),
            sample::silent_hop(),
            sample::nothing(),
        ];
        for report in reports {
            for detail in [Detail::Usual, Detail::Every] {
                for columns in [40, 60, text::WIDTH] {
                    let width = LineWidth::of_columns(columns);
                    for line in hop_rows::lines(&report, detail, width) {
                        assert!(line.width() <= columns, "{columns}: {line}");
                        assert!(!line.chars().any(char::is_control), "{line:?}");
                    }
                }
            }
        }
        let text = usual(sample::hostile());
        assert!(
            text.contains("2001:db8:1111:2222:3333:4444:5555:6666"),
            "{text}"
        );
        assert!(text.contains("\\u001b"), "{text}");
        assert_eq!(
            usual(sample::thirty_hops()).matches("serialising").count(),
            30
        );
    }
}
