//! A comparison as JUnit's XML, which CI systems show: a test case for each metric that was checked for a regression.

use quick_xml::Writer;
use quick_xml::events::BytesText;
use std::io;

use super::comparison::Comparison;
use super::regression::RegressionOutcome;

/// A test case of the file.
struct TestCase<'a> {
    case: &'a str,
    metric: &'a str,
    outcome: RegressionOutcome,
    reason: &'a str,
    details: String,
}

/// The comparison as a JUnit file; a metric that is worse is a failure, one that cannot be determined an error.
///
/// # Errors
/// Never: the text is written to memory.
pub fn comparison_as_junit(comparison: &Comparison) -> io::Result<String> {
    let cases = test_cases(comparison);
    let count = |outcome: RegressionOutcome| {
        let of_outcome = cases.iter().filter(|case| case.outcome == outcome);
        of_outcome.count().to_string()
    };
    let (tests, failures, errors) = (
        cases.len().to_string(),
        count(RegressionOutcome::Worse),
        count(RegressionOutcome::CannotTell),
    );
    let counts = [
        ("tests", tests.as_str()),
        ("failures", failures.as_str()),
        ("errors", errors.as_str()),
        ("skipped", "0"),
    ];
    let name = format!(
        "{} against {}",
        comparison.second.given, comparison.first.given
    );
    let mut bytes = Vec::from(*b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut xml = Writer::new_with_indent(&mut bytes, b' ', 2);
    xml.create_element("testsuites")
        .with_attribute(("name", "caudal report compare"))
        .with_attributes(counts)
        .write_inner_content(|xml| {
            xml.create_element("testsuite")
                .with_attribute(("name", name.as_str()))
                .with_attributes(counts)
                .write_inner_content(|xml| {
                    for case in &cases {
                        write_case(xml, case)?;
                    }
                    Ok(())
                })?;
            Ok(())
        })?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The metrics that were checked, then those that only the first side has.
fn test_cases(comparison: &Comparison) -> Vec<TestCase<'_>> {
    let checked = comparison.cells.iter().filter_map(|cell| {
        let check = cell.regression.as_ref()?;
        Some(TestCase {
            case: &cell.case,
            metric: &cell.metric,
            outcome: check.outcome,
            reason: &check.reason,
            details: cell.verdict.clone(),
        })
    });
    let missing = comparison.unmatched.checked.iter().map(|name| TestCase {
        case: "",
        metric: name,
        outcome: RegressionOutcome::CannotTell,
        reason: "cannot tell: B has no result",
        details: String::new(),
    });
    checked.chain(missing).collect()
}

fn write_case(xml: &mut Writer<&mut Vec<u8>>, case: &TestCase<'_>) -> io::Result<()> {
    let class = if case.case.is_empty() {
        "caudal"
    } else {
        case.case
    };
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", class))
        .with_attribute(("name", case.metric));
    let (inner, kind) = match case.outcome {
        RegressionOutcome::NotWorse => {
            element.write_inner_content(|xml| {
                let output = xml.create_element("system-out");
                output.write_text_content(BytesText::new(case.reason))?;
                Ok(())
            })?;
            return Ok(());
        }
        RegressionOutcome::Worse => ("failure", "worse"),
        RegressionOutcome::CannotTell => ("error", "cannot_tell"),
    };
    element.write_inner_content(|xml| {
        xml.create_element(inner)
            .with_attribute(("type", kind))
            .with_attribute(("message", case.reason))
            .write_text_content(BytesText::new(&case.details))?;
        Ok(())
    })?;
    Ok(())
}
