//! The closing block: whether the path is healthy, what it is good for, what is wrong first, and what to do.

use crate::closing::ClosingLine;
use crate::emphasis::EmphasizedLine;
use crate::interval_table::Detail;
use crate::text::fold;
use crate::text_form::TextForm;
use caudal_core::check::{CheckReport, CheckVerdict, FindingWeight, Suitability, UseSuitability};

/// Maximum number of findings that are shown without every detail.
const MAX_FINDINGS: usize = 3;

/// The lines of the closing block.
pub(super) fn result_lines(report: &CheckReport, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = vec![ClosingLine::Emphasized(verdict(report))];
    let text = |line: &str| ClosingLine::Text(fold(line, 4, form.width));
    if !form.quiet
        && report
            .uses
            .iter()
            .any(|one| one.suitability != Suitability::Unknown)
    {
        lines.push(text(&uses(&report.uses)));
    }
    let shown = if form.detail == Detail::Every {
        usize::MAX
    } else {
        MAX_FINDINGS
    };
    for finding in report.findings.iter().take(shown) {
        let mark = match finding.weight {
            FindingWeight::Problem => "wrong",
            FindingWeight::Doubt => "cannot tell",
            FindingWeight::Note => "note",
        };
        lines.push(text(&format!("{mark}: {}", finding.finding)));
        if !finding.remedy.is_empty() {
            let remedy = fold(&format!("  → {}", finding.remedy), 4, form.width);
            lines.push(ClosingLine::Text(remedy));
        }
    }
    let left = report.findings.len().saturating_sub(shown);
    if left > 0 {
        lines.push(text(&format!("{left} more: -v, or caudal report show")));
    }
    lines
}

fn verdict(report: &CheckReport) -> EmphasizedLine {
    let problems = report.findings.iter();
    let problems = problems
        .filter(|finding| finding.weight == FindingWeight::Problem)
        .count();
    let (bold, after) = match report.verdict {
        CheckVerdict::Healthy => ("healthy", ": nothing wrong was found".to_owned()),
        CheckVerdict::Unhealthy if problems == 1 => {
            ("not healthy", ": one thing is wrong".to_owned())
        }
        CheckVerdict::Unhealthy => ("not healthy", format!(": {problems} things are wrong")),
        CheckVerdict::Undecided => {
            let reason = report
                .cut_short
                .as_ref()
                .map_or_else(|| ": see below".to_owned(), |reason| format!(": {reason}"));
            ("cannot tell whether it is healthy", reason)
        }
    };
    EmphasizedLine {
        before: String::new(),
        bold: bold.to_owned(),
        after,
    }
}

fn uses(uses: &[UseSuitability]) -> String {
    let each = uses.iter().map(|one| {
        let name = one.r#use.name();
        match one.suitability {
            Suitability::Suited => format!("{name}: yes"),
            Suitability::WithoutLoad => {
                format!("{name}: while nothing else loads it ({})", one.reason)
            }
            Suitability::Unsuited => format!("{name}: no ({})", one.reason),
            Suitability::Unknown => format!("{name}: cannot tell ({})", one.reason),
        }
    });
    let each: Vec<String> = each.collect();
    format!("good for {}", each.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::width::LineWidth;
    use caudal_core::check::{CheckFinding, CheckFindingCode, CheckTcp, NetworkUse};
    use caudal_core::plan::Direction;

    fn report(weights: &[FindingWeight]) -> CheckReport {
        let finding = |weight: &FindingWeight| CheckFinding {
            code: CheckFindingCode::Loss,
            weight: *weight,
            direction: None,
            finding: "1 % lost".to_owned(),
            remedy: "mend it".to_owned(),
        };
        CheckReport {
            tcp: vec![CheckTcp {
                direction: Direction::Up,
                one_bps: None,
                one_limited_by: None,
                several: 8,
                several_bps: None,
                several_limited_by: None,
                gain: None,
            }],
            findings: weights.iter().map(finding).collect(),
            uses: vec![UseSuitability {
                r#use: NetworkUse::Calls,
                suitability: Suitability::WithoutLoad,
                reason: "250 ms one way under load".to_owned(),
            }],
            ..CheckReport::default()
        }
        .judged()
    }

    fn text(report: &CheckReport, quiet: bool) -> Vec<String> {
        let form = TextForm {
            quiet,
            detail: Detail::Usual,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        let lines = result_lines(report, form);
        lines
            .iter()
            .map(|line| line.text(LineWidth::UNLIMITED))
            .collect()
    }

    #[test]
    fn the_verdict_comes_first_and_warnings_survive_quiet() {
        use FindingWeight::{Doubt, Note, Problem};
        assert_eq!(
            text(&report(&[]), false),
            [
                "healthy: nothing wrong was found",
                "good for video calls: while nothing else loads it (250 ms one way under load)",
            ]
        );
        assert_eq!(
            text(&report(&[Problem]), true),
            [
                "not healthy: one thing is wrong",
                "wrong: 1 % lost",
                "  → mend it"
            ]
        );
        assert_eq!(
            text(&report(&[Doubt, Note]), true)[..2],
            [
                "cannot tell whether it is healthy: see below",
                "cannot tell: 1 % lost"
            ]
        );
        let many = text(&report(&[Problem, Problem, Problem, Problem]), true);
        assert_eq!(many[0], "not healthy: 4 things are wrong");
        assert_eq!(many.last().unwrap(), "1 more: -v, or caudal report show");
    }
}
