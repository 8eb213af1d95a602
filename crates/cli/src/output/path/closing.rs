//! The closing block of a path: the narrow link first, then each hop with the link that leads to it, then the path as a whole.

use super::{both_ends, facts, headline, hop_rows};
use crate::output::closing::ClosingLine;
use crate::output::text;
use crate::output::text_form::TextForm;
use caudal_core::run::Run;

/// The lines of the closing block; of a quiet one the narrow link and the round-trip time alone.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let Some(report) = &run.path else {
        return Vec::new();
    };
    if form.quiet {
        return vec![ClosingLine::Emphasized(headline::in_one_line(report))];
    }
    let mut lines = both_ends::lines(report, form.detail);
    lines.extend(hop_rows::lines(report, form.detail));
    lines.extend(facts::lines(run, report));
    lines.extend(run.warnings.iter().map(text::warning));
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
    use crate::output::interval_table::Detail;
    use caudal_core::path::{HopAnswering, HostAnswer, PathReport};
    use caudal_core::warning::{Warning, WarningCode};
    use unicode_width::UnicodeWidthStr;

    fn shown(report: PathReport, detail: Detail, quiet: bool) -> String {
        let form = TextForm {
            quiet,
            detail,
            size_columns: false,
        };
        let lines = result_lines(&sample::run(report), form);
        let texts: Vec<String> = lines.iter().map(ClosingLine::text).collect();
        texts.join("\n")
    }

    /// The text with the lines that only the terminal of the tests folds unfolded.
    fn usual(report: PathReport) -> String {
        shown(report, Detail::Usual, false)
    }

    #[test]
    fn three_hops_are_a_table_with_a_link_above_each() {
        let text = usual(sample::three_hops());
        assert_eq!(
            text.replace("\n    ", " "),
            "\
narrow link: 9.94 Mbit/s (95 % interval 9.69 to 10.19 Mbit/s), hop 1 to 2
hop  address (name)                              loss     min     avg  max ms
  |  99.4 Mbit/s (96.9 to 101.9 Mbit/s), serialising
  1  10.0.0.1                                     0 %    1.00    1.50    2.00
  |  9.94 Mbit/s (9.69 to 10.19 Mbit/s), serialising, narrow link
  2  10.0.0.2                                     0 %    2.00    2.50    3.00
  |  49.7 Mbit/s (48.5 to 50.9 Mbit/s), serialising
  3  10.0.0.3 (host.example)                      0 %    3.00    3.50    4.00
path MTU: 1400 B, of 1500 B at this machine: a router before hop 2 says so (ICMP)
one route among 6 flows (95 %)
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
            "narrow link: 9.94 Mbit/s (95 % interval 9.69 to 10.19 Mbit/s), hop 1 to 2; RTT of the host 3.00/3.50/4.00 ms (min/avg/max)"
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
                "  2  does not answer                                -       -       -       -\n"
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
    fn what_a_warning_says_is_not_said_twice() {
        let mut run = sample::run(sample::nothing());
        let codes = [WarningCode::CutShort, WarningCode::HostSilent];
        run.warnings = codes.map(|code| Warning::new(code, "so it is")).to_vec();
        let form = TextForm {
            quiet: false,
            detail: Detail::Usual,
            size_columns: false,
        };
        let lines = result_lines(&run, form);
        let texts: Vec<String> = lines.iter().map(ClosingLine::text).collect();
        let text = texts.join("\n");
        assert_eq!(text.matches("warning: so it is").count(), 2, "{text}");
        assert!(
            !text.contains("cut short:") && !text.contains("the host does not"),
            "{text}"
        );
    }

    #[test]
    fn every_table_fits_eighty_columns_whatever_strangers_choose() {
        let reports = [
            sample::three_hops(),
            sample::hostile(),
            sample::thirty_hops(),
            sample::silent_hop(),
            sample::nothing(),
        ];
        for report in reports {
            for detail in [Detail::Usual, Detail::Every] {
                for line in hop_rows::lines(&report, detail) {
                    assert!(line.width() <= text::WIDTH, "{line}");
                    assert!(!line.chars().any(char::is_control), "{line:?}");
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
