//! A study as a report: what was asked, what came out, and how far it can be believed.

use super::page::{Block, Cell, Column, Item, Mark, Page, Section, Table};
use super::pictures::{self, Material, label, sentence};
use super::words::{self, about, count};
use crate::study::findings::{self, Beside, CaseFindings, Checked, Findings, MetricFindings};
use crate::study::trial::Trial;
use caudal_core::stats::Estimate;
use serde_json::Value;

/// Rows of raw numbers at most; beyond, the reader is sent to the data.
const MOST_ROWS: usize = 300;
/// Sentences of one kind at most.
const MOST_SENTENCES: usize = 12;

/// The whole report. With `data`, the findings lie beside it under that name.
#[must_use]
pub fn page(material: &Material<'_>, data: Option<&str>) -> Page {
    let findings = material.findings;
    let mut sections = Vec::new();
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section {
                heading: heading.to_owned(),
                blocks,
            });
        }
    };
    add("Verdict", verdict(findings));
    add("Predicted, published, observed", tables(findings));
    let plates = pictures::plates(material);
    add("Figures", plates.into_iter().map(Block::Plate).collect());
    add("Who starves whom", contention(findings));
    add("Conclusions", conclusions(findings));
    add("Beside the published results", agreement(findings));
    add("Method", method(findings));
    add("Statistics", statistics(findings, material.trials));
    add("Environment", environment(&findings.environment));
    add("What to doubt", doubts(findings, material.trials));
    add("Repeat it", repeat(findings));
    add("Data", raw(findings, data));
    let mut byline = vec![
        format!("study {}", findings.name),
        day(&findings.started),
        format!(
            "{} in {}",
            count(findings.trials, "trial"),
            count(measured(findings), "case")
        ),
    ];
    if findings.quick {
        byline.push("quick variant".to_owned());
    }
    byline.push(findings.id.chars().take(8).collect());
    Page {
        title: findings.title.clone(),
        lead: findings.question.clone(),
        byline,
        sections,
    }
}

/// The time of RFC 3339 without seconds, for people.
fn day(started: &str) -> String {
    match started.split_once('T') {
        Some((day, time)) if time.len() >= 5 && time.is_char_boundary(5) => {
            format!("{day} {} UTC", &time[..5])
        }
        _ => started.to_owned(),
    }
}

fn measured(findings: &Findings) -> u64 {
    findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none() && case.n > 0)
        .count() as u64
}

/// In plain words first, then what was expected: what failed before what cannot be told before what holds.
fn verdict(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    let any_failed = findings
        .expectations
        .iter()
        .any(|one| one.holds == Some(false));
    if !findings.complete {
        blocks.push(Block::Lead(
            "This study is not complete: the trials carried out until now are what it rests on."
                .to_owned(),
        ));
    }
    if findings.trials == 0 {
        blocks.push(Block::Lead("No trial was carried out.".to_owned()));
    }
    if any_failed {
        blocks.extend(tally(findings));
        blocks.push(Block::List(failed(findings)));
    }
    blocks.extend(
        findings
            .verdict
            .iter()
            .map(|text| Block::Lead(sentence(text))),
    );
    if !any_failed {
        blocks.extend(tally(findings));
    }
    let open: Vec<&Checked> = with(findings, None);
    if !open.is_empty() {
        blocks.push(Block::List(limited(&open)));
    }
    let held = with(findings, Some(true));
    if !held.is_empty() {
        let rows = held.iter().map(|one| {
            let cells = vec![
                Cell::of(
                    one.case
                        .clone()
                        .unwrap_or_else(|| "the whole study".to_owned()),
                ),
                Cell::of(one.evidence.clone()),
                Cell::of(one.because.clone().unwrap_or_default()),
            ];
            (one.that.clone(), cells)
        });
        let table = Table {
            caption: String::new(),
            corner: "expected".to_owned(),
            columns: ["case", "seen", "because"].map(Column::words).to_vec(),
            rows: rows.collect(),
            note: None,
        };
        blocks.push(Block::Details(
            format!(
                "{} that {}",
                count(held.len() as u64, "expectation"),
                if held.len() == 1 { "holds" } else { "hold" }
            ),
            vec![Block::Table(table)],
        ));
    }
    blocks
}

fn with(findings: &Findings, holds: Option<bool>) -> Vec<&Checked> {
    findings
        .expectations
        .iter()
        .filter(|one| one.holds == holds)
        .collect()
}

fn failed(findings: &Findings) -> Vec<Item> {
    let failed = with(findings, Some(false));
    limited(&failed)
}

fn limited(checked: &[&Checked]) -> Vec<Item> {
    let mut items: Vec<Item> = checked
        .iter()
        .take(MOST_SENTENCES)
        .map(|one| item(one))
        .collect();
    if checked.len() > MOST_SENTENCES {
        items.push(Item::plain(format!(
            "{} more, in the data.",
            checked.len() - MOST_SENTENCES
        )));
    }
    items
}

fn item(checked: &Checked) -> Item {
    let case = checked
        .case
        .as_ref()
        .map_or(String::new(), |case| format!(" ({case})"));
    let mut more = vec![checked.evidence.clone()];
    if let Some(because) = &checked.because {
        more.push(format!("Expected because: {because}"));
    }
    more.retain(|text| !text.is_empty());
    Item {
        mark: Mark::of(checked.holds),
        text: format!("{}{case}", checked.that),
        more,
    }
}

/// How many expectations hold, where the verdict does not say so already.
fn tally(findings: &Findings) -> Option<Block> {
    let all = findings.expectations.len() as u64;
    let said = |text: &String| text.contains("expectation");
    if all == 0 || findings.verdict.iter().any(said) {
        return None;
    }
    let of = |holds| with(findings, holds).len() as u64;
    let (held, failed, open) = (of(Some(true)), of(Some(false)), of(None));
    let text = if held == all {
        match all {
            1 => "The one expectation holds.".to_owned(),
            _ => format!("All {all} expectations hold."),
        }
    } else {
        let mut parts = Vec::new();
        if failed > 0 {
            parts.push(format!(
                "{failed} fail{}",
                if failed == 1 { "s" } else { "" }
            ));
        }
        if open > 0 {
            parts.push(format!("{open} cannot be told"));
        }
        parts.push(format!("{held} hold{}", if held == 1 { "s" } else { "" }));
        format!("Of {}, {}.", count(all, "expectation"), words::list(&parts))
    };
    Some(Block::Lead(text))
}

/// The tables of the experiment, then what was published beside what was observed.
fn tables(findings: &Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings
        .tables
        .iter()
        .filter(|table| !table.rows.is_empty())
        .map(|table| Block::Table(of_findings(table, findings.confidence)))
        .collect();
    if !findings.published.is_empty() {
        blocks.push(Block::Table(beside(findings)));
    }
    blocks
}

fn of_findings(table: &findings::Table, confidence: f64) -> Table {
    let mut intervals = false;
    let rows = table.rows.iter().map(|(head, cells)| {
        let cells = cells.iter().map(|cell| {
            let beside = cell
                .interval
                .filter(|_| !cell.text.contains('±') && !cell.text.contains('–'))
                .and_then(|(low, high)| short_interval(&cell.text, cell.value?, low, high));
            intervals |= beside.is_some() || cell.text.contains('±');
            Cell {
                text: cell.text.clone(),
                beside,
                mark: None,
            }
        });
        (head.clone(), cells.collect())
    });
    let rows = rows.collect();
    Table {
        caption: table.title.clone(),
        corner: "case".to_owned(),
        columns: table
            .columns
            .iter()
            .map(|(group, name)| Column {
                group: words::metric(group),
                name: name.clone(),
                words: false,
            })
            .collect(),
        rows,
        note: intervals.then(|| interval_note(confidence)),
    }
}

fn interval_note(confidence: f64) -> String {
    format!(
        "Intervals: {} of the mean over the trials.",
        words::level(confidence)
    )
}

/// An interval in the unit its value is shown in.
fn short_interval(text: &str, value: f64, low: f64, high: f64) -> Option<String> {
    let unit = text.split_once(' ').map_or("", |(_, unit)| unit);
    // The shown value tells by which power its unit divides.
    let shown: f64 = text.split(' ').next()?.replace('−', "-").parse().ok()?;
    if shown == 0.0 || value == 0.0 || !low.is_finite() || !high.is_finite() {
        return None;
    }
    let scale = 10_f64.powi((value / shown).abs().log10().round() as i32);
    let digits = text
        .split(' ')
        .next()?
        .split_once('.')
        .map_or(0, |(_, behind)| behind.len());
    // Narrow intervals need a digit more than the value.
    let narrow = (high - low) / scale < 2.0 * 10_f64.powi(-(digits as i32));
    let digits = digits + usize::from(narrow);
    Some(
        format!("{:.digits$}–{:.digits$} {unit}", low / scale, high / scale)
            .trim_end()
            .to_owned(),
    )
}

/// Published beside observed, a row each.
fn beside(findings: &Findings) -> Table {
    let predicted = findings
        .published
        .iter()
        .any(|one| one.published_prediction.is_some() || ours(findings, one).is_some());
    let theirs = findings
        .published
        .iter()
        .any(|one| one.published_prediction.is_some());
    // Where they predicted too, theirs and ours stand in pairs.
    let column = |pair: &str, name: &str| Column {
        group: if theirs {
            pair.to_owned()
        } else {
            String::new()
        },
        name: name.to_owned(),
        words: false,
    };
    let mut columns = Vec::new();
    if theirs {
        columns.push(column("predicted", "published"));
    }
    if predicted {
        columns.push(column(
            "predicted",
            if theirs { "ours" } else { "predicted" },
        ));
    }
    columns.push(column("observed", "published"));
    columns.push(column("observed", if theirs { "ours" } else { "observed" }));
    columns.push(Column::number("difference"));
    columns.push(Column::words("agrees"));
    let rows = findings.published.iter().map(|one| {
        let unit = words::unit(one.unit);
        let value = |value: Option<f64>| Cell::of(value.map_or(String::new(), |v| about(v, unit)));
        let mut cells = Vec::new();
        if predicted {
            if theirs {
                cells.push(value(one.published_prediction));
            }
            cells.push(value(
                ours(findings, one).and_then(|known| known.predicted.or(known.simulated)),
            ));
        }
        cells.push(value(one.published));
        cells.push(estimate(one.observed.as_ref(), one.unit));
        cells.push(Cell::of(
            one.difference.map_or(String::new(), words::percent),
        ));
        let mark = Mark::of(one.agrees);
        let word = match one.agrees {
            Some(true) => "yes",
            Some(false) => "no",
            None => "cannot tell",
        };
        let why = one
            .because
            .as_ref()
            .filter(|_| one.agrees != Some(true))
            .map_or(String::new(), |why| format!(": {why}"));
        cells.push(Cell {
            text: format!("{word}{why}"),
            beside: None,
            mark: Some(mark),
        });
        (
            format!("{}: {}", one.case, words::metric(&one.metric)),
            cells,
        )
    });
    Table {
        caption: "Published beside observed".to_owned(),
        corner: "case and metric".to_owned(),
        columns,
        rows: rows.collect(),
        note: findings
            .source
            .as_ref()
            .map(|source| format!("Published: {source}")),
    }
}

/// What ours knows of a published value's case and metric.
fn ours<'a>(findings: &'a Findings, one: &Beside) -> Option<&'a MetricFindings> {
    findings
        .cases
        .iter()
        .find(|case| case.key == one.case)?
        .metrics
        .get(&one.metric)
        .filter(|known| known.predicted.is_some() || known.simulated.is_some())
}

/// An estimate with its interval in smaller letters.
fn estimate(estimate: Option<&Estimate>, unit: &str) -> Cell {
    let Some(known) = estimate else {
        return Cell::default();
    };
    let unit = words::unit(unit);
    Cell {
        text: about(known.mean, unit),
        beside: words::interval(known, unit),
        mark: None,
    }
}

fn contention(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in &findings.contention {
        blocks.push(Block::Text(sentence(&group.verdict)));
        if group.steps.is_empty() {
            continue;
        }
        let group_words = if group.group.is_empty() {
            String::new()
        } else {
            format!(" ({})", group.group)
        };
        let rows = group.steps.iter().map(|step| {
            let answer = match step.starves {
                Some(true) => ("starves", Mark::Fails),
                Some(false) => ("no", Mark::Holds),
                None => ("cannot tell", Mark::Open),
            };
            let longest = step.longest_s.map_or(String::new(), |longest| {
                about(longest, caudal_core::predict::Unit::Seconds)
            });
            let cells = vec![
                estimate(step.goodput.as_ref(), "bit/s"),
                estimate(step.share.as_ref(), "share"),
                estimate(step.harm.as_ref(), "ratio"),
                estimate(step.starved.as_ref(), "share"),
                Cell::of(longest),
                Cell {
                    text: answer.0.to_owned(),
                    beside: None,
                    mark: Some(answer.1),
                },
            ];
            (step.load.clone(), cells)
        });
        let mut columns = [
            "goodput",
            "of its fair share",
            "harm",
            "time starved",
            "longest",
        ]
        .map(Column::number)
        .to_vec();
        columns.push(Column::words("starves"));
        blocks.push(Block::Table(Table {
            caption: format!(
                "{} by {}{group_words}",
                group.victim,
                words::metric(&group.load)
            ),
            corner: words::metric(&group.load),
            columns,
            rows: rows.collect(),
            note: None,
        }));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text(format!(
            "Fair share: max–min share of the link. Harm: the part of what the flow reaches alone that the others \
             take from it (0 none, 1 all). Time starved: intervals below a tenth of the fair share. Intervals: {}.",
            words::level(findings.confidence)
        )));
    }
    blocks
}

fn conclusions(findings: &Findings) -> Vec<Block> {
    let items: Vec<Item> = findings
        .conclusions
        .iter()
        .map(|one| Item {
            mark: Mark::None,
            text: sentence(&one.text),
            more: one
                .answers
                .iter()
                .map(|question| format!("Answers: {question}"))
                .collect(),
        })
        .collect();
    if items.is_empty() {
        Vec::new()
    } else {
        vec![Block::List(items)]
    }
}

/// Where ours agrees with what was published, where not, and why.
fn agreement(findings: &Findings) -> Vec<Block> {
    let all = &findings.published;
    if all.is_empty() {
        return Vec::new();
    }
    let of = |agrees: Option<bool>| all.iter().filter(move |one| one.agrees == agrees);
    let named = |one: &Beside| format!("{} of {}", words::metric(&one.metric), one.case);
    let mut parts = Vec::new();
    let (agree, differ, open) = (
        of(Some(true)).count(),
        of(Some(false)).count(),
        of(None).count(),
    );
    if agree > 0 {
        parts.push(format!(
            "{agree} agree{}",
            if agree == 1 { "s" } else { "" }
        ));
    }
    if differ > 0 {
        parts.push(format!(
            "{differ} differ{}",
            if differ == 1 { "s" } else { "" }
        ));
    }
    if open > 0 {
        parts.push(format!("{open} cannot be told"));
    }
    let mut blocks = vec![Block::Text(format!(
        "Of {}, {}.",
        count(all.len() as u64, "published value"),
        words::list(&parts)
    ))];
    let mut items: Vec<Item> = Vec::new();
    if agree > 0 {
        let names: Vec<String> = of(Some(true)).take(MOST_SENTENCES).map(named).collect();
        let more = agree.saturating_sub(MOST_SENTENCES);
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        items.push(Item {
            mark: Mark::Holds,
            text: format!("Agrees: {}{more}.", words::list(&names)),
            more: Vec::new(),
        });
    }
    for one in of(Some(false)).chain(of(None)).take(2 * MOST_SENTENCES) {
        let unit = words::unit(one.unit);
        let values: Vec<String> = [
            one.published
                .map(|value| format!("published {}", about(value, unit))),
            one.observed
                .map(|value| format!("observed {}", about(value.mean, unit))),
            one.difference.map(words::percent),
        ]
        .into_iter()
        .flatten()
        .collect();
        items.push(Item {
            mark: Mark::of(one.agrees),
            text: format!("{}: {}.", named(one), values.join(", ")),
            more: vec![
                one.because
                    .as_deref()
                    .map_or_else(|| "No reason is known.".to_owned(), sentence),
            ],
        });
    }
    // "holds" and "fails" are words for expectations; here the text says it.
    for one in &mut items {
        if one.mark == Mark::Holds {
            one.mark = Mark::None;
        }
        if one.mark == Mark::Fails {
            one.mark = Mark::None;
            one.text = format!("Differs: {}", one.text);
        }
    }
    blocks.push(Block::List(items));
    if let Some(source) = &findings.source {
        blocks.push(Block::Text(format!("Published: {source}")));
    }
    blocks
}

fn method(findings: &Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings
        .method
        .iter()
        .flat_map(|text| text.split("\n\n"))
        .filter(|text| !text.trim().is_empty())
        .map(|text| Block::Text(text.trim().to_owned()))
        .collect();
    if findings.quick {
        blocks.push(Block::Text(
            "This is the quick variant: fewer values and repetitions and shorter trials than the whole study."
                .to_owned(),
        ));
    }
    blocks
}

fn statistics(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let mut items = vec![Item::plain(format!(
        "{} count{}; {} in which the emulator stood still {} done again.",
        sentence(&count(findings.trials, "trial")).trim_end_matches('.'),
        if findings.trials == 1 { "s" } else { "" },
        match findings.spoiled {
            0 => "none".to_owned(),
            spoiled => spoiled.to_string(),
        },
        if findings.spoiled == 1 { "was" } else { "were" }
    ))];
    items.push(Item::plain(format!(
        "Intervals of {} confidence: Student's t over the results of independent trials; a case with one trial has none.",
        words::level(findings.confidence)
    )));
    let ruled: Vec<&CaseFindings> = findings
        .cases
        .iter()
        .filter(|case| case.reached.is_some())
        .collect();
    if ruled.is_empty() {
        items.push(Item::plain(
            "The number of repetitions was fixed beforehand; no error was asked for.",
        ));
    } else {
        let missed: Vec<String> = ruled
            .iter()
            .filter(|case| case.reached == Some(false))
            .map(|case| format!("{} (n = {})", label(case), case.n))
            .collect();
        let reached = ruled.len() - missed.len();
        let mut text = format!(
            "The relative error asked for was reached in {reached} of {}.",
            count(ruled.len() as u64, "case")
        );
        if !missed.is_empty() {
            let more = missed.len().saturating_sub(MOST_SENTENCES);
            let names: Vec<String> = missed.into_iter().take(MOST_SENTENCES).collect();
            text += &format!(" Not in {}", words::list(&names));
            if more > 0 {
                text += &format!(", nor in {more} more");
            }
            text += ".";
        }
        items.push(Item::plain(text));
    }
    items.push(Item::plain(format!(
        "Order of the trials: in blocks of one trial a case, each block shuffled; seed {}.",
        findings.seed
    )));
    let n: Vec<u64> = findings.cases.iter().map(|case| case.n).collect();
    if let (Some(least), Some(most)) = (n.iter().min(), n.iter().max()) {
        items.push(Item::plain(if least == most {
            format!("Every case was carried out {}.", times(*most))
        } else {
            format!("Cases were carried out {least} to {most} times.")
        }));
    }
    let measured: Vec<f64> = trials.iter().map(|trial| trial.measured_s).collect();
    if let (Some(low), Some(high)) = (
        crate::report::view::quantile(&measured, 0.0),
        crate::report::view::quantile(&measured, 1.0),
    ) {
        let seconds = caudal_core::predict::Unit::Seconds;
        let how_long = if about(low, seconds) == about(high, seconds) {
            about(low, seconds)
        } else {
            words::pair(low, high, seconds, "to")
        };
        let warm_up = trials.first().map_or(0.0, |trial| trial.warm_up_s);
        items.push(Item::plain(format!(
            "Each trial was measured for {how_long}{}.",
            if warm_up > 0.0 {
                format!(", after {} that do not count", about(warm_up, seconds))
            } else {
                String::new()
            }
        )));
    }
    vec![Block::List(items)]
}

fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

/// The environment as names and values, whatever its shape.
pub(super) fn environment(environment: &Value) -> Vec<Block> {
    let mut facts = Vec::new();
    flatten(environment, "", &mut facts);
    let most = 80;
    let more = facts.len().saturating_sub(most);
    facts.truncate(most);
    if facts.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Facts(facts)];
    if more > 0 {
        blocks.push(Block::Text(format!("{more} more, in the data.")));
    }
    blocks
}

fn flatten(value: &Value, name: &str, facts: &mut Vec<(String, String)>) {
    let under = |key: &str| {
        let key = key.replace('_', " ");
        if name.is_empty() {
            key
        } else {
            format!("{name}, {key}")
        }
    };
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, inner) in map {
                flatten(inner, &under(key), facts);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (nth, inner) in items.iter().enumerate() {
                flatten(inner, &under(&(nth + 1).to_string()), facts);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            if !items.is_empty() {
                facts.push((name.to_owned(), items.join(", ")));
            }
        }
        Value::String(text) if text.is_empty() => {}
        other => facts.push((name.to_owned(), plain(other))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

/// Warnings, once each with how often.
pub(super) fn tallied(warnings: impl Iterator<Item = String>) -> Vec<Item> {
    let mut seen: Vec<(String, u64)> = Vec::new();
    for warning in warnings {
        match seen.iter_mut().find(|known| known.0 == warning) {
            Some(known) => known.1 += 1,
            None => seen.push((warning, 1)),
        }
    }
    let more = seen.len().saturating_sub(2 * MOST_SENTENCES);
    let mut items: Vec<Item> = seen
        .into_iter()
        .take(2 * MOST_SENTENCES)
        .map(|(text, times)| {
            Item::plain(if times == 1 {
                sentence(&text)
            } else {
                format!("{} ({times} times)", sentence(&text))
            })
        })
        .collect();
    if more > 0 {
        items.push(Item::plain(format!("{more} more, in the data.")));
    }
    items
}

fn doubts(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let failed = trials.iter().flat_map(|trial| {
        trial
            .flows
            .iter()
            .filter_map(|flow| Some(format!("{} failed: {}", flow.name, flow.failure.as_ref()?)))
    });
    let spoiled = trials.iter().filter_map(|trial| {
        Some(format!(
            "a trial does not count: {}",
            trial.spoiled.as_ref()?
        ))
    });
    let of_trials = trials
        .iter()
        .flat_map(|trial| trial.warnings.iter().cloned());
    let items = tallied(
        findings
            .warnings
            .iter()
            .cloned()
            .chain(failed)
            .chain(spoiled)
            .chain(of_trials),
    );
    if items.is_empty() {
        vec![Block::Text(
            "Nothing was noticed that would cast doubt on the result.".to_owned(),
        )]
    } else {
        vec![Block::List(items)]
    }
}

fn repeat(findings: &Findings) -> Vec<Block> {
    vec![Block::Command(findings.command.clone())]
}

/// Where the numbers are, and the small ones themselves.
fn raw(findings: &Findings, data: Option<&str>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(name) = data {
        blocks.push(Block::Link(
            format!("All findings as JSON: {name}"),
            name.to_owned(),
        ));
    }
    let id: String = findings.id.chars().take(12).collect();
    blocks.push(Block::Text(
        "From the store that has the study, findings and every interval of every trial:".to_owned(),
    ));
    blocks.push(Block::Command(format!(
        "caudal report export {id} --json\ncaudal report export {id} --csv"
    )));
    let all: Vec<(&CaseFindings, &String, &MetricFindings)> = findings
        .cases
        .iter()
        .flat_map(|case| {
            case.metrics
                .iter()
                .map(move |(name, known)| (case, name, known))
        })
        .filter(|(_, _, known)| !known.values.is_empty())
        .collect();
    if all.is_empty() {
        return blocks;
    }
    let rows = all.iter().take(MOST_ROWS).map(|(case, name, known)| {
        let unit = words::unit(known.unit);
        let values: Vec<String> = known
            .values
            .iter()
            .take(30)
            .map(|value| number(*value))
            .collect();
        let more = known.values.len().saturating_sub(30);
        let more = if more > 0 {
            format!(" … {more} more")
        } else {
            String::new()
        };
        let cells = vec![
            Cell::of((*name).clone()),
            Cell::of(known.unit),
            estimate(known.observed.as_ref(), known.unit),
            Cell::of(
                known
                    .predicted
                    .map_or(String::new(), |value| about(value, unit)),
            ),
            Cell::of(known.values.len().to_string()),
            Cell::of(format!("{}{more}", values.join(" "))),
        ];
        (case.key.clone(), cells)
    });
    let columns = vec![
        Column::words("metric"),
        Column::words("unit"),
        Column::number("observed"),
        Column::number("predicted"),
        Column::number("n"),
        Column::words("each trial, in the unit"),
    ];
    let table = Table {
        caption: "Every metric of every case".to_owned(),
        corner: "case".to_owned(),
        columns,
        rows: rows.collect(),
        note: (all.len() > MOST_ROWS).then(|| {
            format!(
                "{MOST_ROWS} of {} rows; the others are in the data.",
                all.len()
            )
        }),
    };
    blocks.push(Block::Details(
        "The numbers".to_owned(),
        vec![Block::Table(table)],
    ));
    blocks
}

/// A number with six digits, as short as it can be.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
