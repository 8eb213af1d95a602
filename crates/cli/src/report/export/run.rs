//! A single run as a report, whoever measured it.

use super::page::{Block, Cell, Column, Item, Mark, Page, Plate, Section, Table};
use super::pictures::{
    box_figure, cdf_figure, first_figure, lines_figure, loss_figure, rates_figure, rtt_figure,
    sentence, sizes_figure, window_figure,
};
use super::study::{environment, tallied};
use super::words::{self, about, count};
use crate::report::view::{self, Course, EchoSize, Kind, RoundTrips};
use caudal_core::quantity::Unit;
use caudal_plot::Quantity;
use caudal_store::SampleSeries;
use serde_json::Value;

/// The report of a run. With `data`, its document lies beside it under that name.
#[must_use]
pub fn page(run: &Value, series: &[SampleSeries], data: Option<&str>) -> Page {
    let kind = view::kind(run);
    let courses = view::courses(run, 0.0);
    let mut sections = Vec::new();
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section {
                heading: heading.to_owned(),
                blocks,
            });
        }
    };
    let sizes = view::echo_sizes(run);
    add("Result", result(run, kind, &sizes));
    add("Predicted, observed", predictions(run));
    let mut plates = plates(run, kind, &courses, &sizes, series);
    for (nth, drawn) in plates
        .iter_mut()
        .flat_map(|plate| &mut plate.figures)
        .enumerate()
    {
        drawn.name = format!("{:02}-{}", nth + 1, drawn.name);
    }
    add("Figures", plates.into_iter().map(Block::Plate).collect());
    add("Connections", connections(&courses));
    add("Round trips", round_trips(&sizes));
    add(
        "Environment",
        run.get("environment").map_or_else(Vec::new, environment),
    );
    add("What to doubt", doubts(run));
    add("Repeat it", command(run));
    add("Data", raw(run, data));
    let transport = match kind {
        Kind::Tcp => "TCP",
        Kind::Udp => "UDP",
        Kind::Echo => "Round trips",
    };
    let peer = view::text(run, "plan.peer");
    let mut byline: Vec<String> = Vec::new();
    byline.extend(view::text(run, "started").map(str::to_owned));
    byline.extend(view::text(run, "tool.name").map(|name| {
        format!("{name} {}", view::text(run, "tool.version").unwrap_or(""))
            .trim_end()
            .to_owned()
    }));
    byline.extend(view::text(run, "imported.file").map(|file| format!("imported from {file}")));
    byline.extend(view::text(run, "id").map(|id| id.chars().take(8).collect()));
    Page {
        title: peer.map_or_else(
            || transport.to_owned(),
            |peer| format!("{transport} to {peer}"),
        ),
        lead: None,
        byline,
        sections,
    }
}

fn direction(name: &str) -> &str {
    match name {
        "up" => "from client to server",
        "down" => "from server to client",
        _ => "",
    }
}

/// What came out, in sentences.
fn result(run: &Value, kind: Kind, sizes: &[EchoSize]) -> Vec<Block> {
    let mut sentences = Vec::new();
    for one in view::list(run, "summary.directions") {
        let way = direction(view::text(one, "direction").unwrap_or(""));
        let Some(mean) = goodput(one) else {
            if let Some(sent) = view::number(one, "sent_bps") {
                let sent = about(sent, Unit::BitPerSecond);
                sentences.push(format!(
                    "{sent} of payload left the sender; what arrived is not told."
                ));
            }
            continue;
        };
        let mut text = format!(
            "{} of payload arrived {way}",
            about(mean, Unit::BitPerSecond)
        );
        let end = |end: &str| view::number(one, &format!("goodput_bps.{end}"));
        if let (Some(low), Some(high), Some(level)) = (end("low"), end("high"), end("confidence"))
            && level > 0.0
        {
            text += &format!(
                " ({} interval {})",
                words::level(level),
                words::span(low, high, Unit::BitPerSecond)
            );
        }
        sentences.push(sentence(text.trim_end()));
        if let Some(loss) = view::number(one, "loss.fraction.mean") {
            sentences.push(format!(
                "{} of its datagrams were lost.",
                about(loss, Unit::Share)
            ));
        }
        if let Some(evidence) = view::text(one, "limited_by.evidence") {
            let what = view::text(one, "limited_by.limit")
                .unwrap_or("unknown")
                .replace('_', " ");
            sentences.push(if what == "unknown" {
                sentence(&format!("what limited it is not known: {evidence}"))
            } else {
                sentence(&format!("it was limited by the {what}: {evidence}"))
            });
        }
    }
    if sentences.is_empty()
        && let Some(mean) = view::number(run, "summary.goodput_bps.mean")
            .or_else(|| view::number(run, "summary.goodput_bps"))
    {
        sentences.push(format!(
            "{} of payload arrived.",
            about(mean, Unit::BitPerSecond)
        ));
    }
    if let (Kind::Echo, [first, ..], Some(last)) = (kind, sizes, sizes.last()) {
        sentences.push(if sizes.len() == 1 {
            format!(
                "A message of {} came back after {} on average, over {}.",
                Unit::Bytes.show(first.size_bytes),
                about(first.mean_s, Unit::Seconds),
                count(first.n, "round trip")
            )
        } else {
            format!(
                "The mean round trip goes from {} for {} to {} for {}.",
                about(first.mean_s, Unit::Seconds),
                Unit::Bytes.show(first.size_bytes),
                about(last.mean_s, Unit::Seconds),
                Unit::Bytes.show(last.size_bytes)
            )
        });
        match view::number(run, "summary.lost") {
            Some(0.0) => sentences.push("None was lost.".to_owned()),
            Some(lost) => sentences.push(format!(
                "{} without a reply.",
                sentence(&count(lost as u64, "message")).trim_end_matches('.')
            )),
            None => {}
        }
    }
    if let Some(rate) = run
        .get("search")
        .map(|search| view::number(search, "rate_bps"))
    {
        sentences.push(match rate {
            Some(rate) => format!(
                "The highest rate that held is {} of payload a flow.",
                about(rate, Unit::BitPerSecond)
            ),
            None => "No rate held.".to_owned(),
        });
    }
    if sentences.is_empty() {
        sentences.push("The run tells no result.".to_owned());
    }
    sentences.into_iter().map(Block::Lead).collect()
}

/// The goodput of a direction, which another program may tell as a bare number.
fn goodput(direction: &Value) -> Option<f64> {
    view::number(direction, "goodput_bps.mean").or_else(|| view::number(direction, "goodput_bps"))
}

fn predictions(run: &Value) -> Vec<Block> {
    let rows: Vec<(String, Vec<Cell>)> = view::list(run, "predictions")
        .iter()
        .filter_map(|one| {
            let unit = words::unit(view::text(one, "unit")?);
            let value = |key: &str| {
                Cell::of(view::number(one, key).map_or(String::new(), |value| about(value, unit)))
            };
            let holds = one.get("holds").and_then(Value::as_bool);
            let word = match holds {
                Some(true) => "yes",
                Some(false) => "no",
                None => "cannot tell",
            };
            let why = view::text(one, "why").map_or(String::new(), |why| format!(": {why}"));
            let cells = vec![
                value("value"),
                value("observed"),
                Cell::of(view::number(one, "difference").map_or(String::new(), words::percent)),
                Cell {
                    text: format!("{word}{why}"),
                    beside: None,
                    mark: Some(Mark::of(holds)),
                },
            ];
            Some((
                view::text(one, "title")
                    .or_else(|| view::text(one, "name"))?
                    .to_owned(),
                cells,
            ))
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut columns = ["predicted", "observed", "difference"]
        .map(Column::number)
        .to_vec();
    columns.push(Column::words("within tolerance"));
    vec![Block::Table(Table {
        caption: "What theory gives beside what was observed".to_owned(),
        corner: "prediction".to_owned(),
        columns,
        rows,
        note: None,
    })]
}

fn plates(
    run: &Value,
    kind: Kind,
    courses: &[Course],
    sizes: &[EchoSize],
    series: &[SampleSeries],
) -> Vec<Plate> {
    let mut figures = Vec::new();
    match kind {
        Kind::Tcp => {
            figures.push(rates_figure("Goodput over time", courses, warm_up(courses)));
            figures.push(window_figure(
                "Congestion window and retransmissions",
                courses,
            ));
            figures.push(rtt_figure("Round-trip time under load", courses));
        }
        Kind::Udp => {
            figures.push(rates_figure("Goodput over time", courses, warm_up(courses)));
            figures.push(loss_figure("Loss and reordering", courses));
            let what = ("smoothed jitter", Quantity::Seconds, Unit::Seconds);
            figures.push(lines_figure(
                "jitter",
                "Jitter (RFC 3550)",
                courses,
                what,
                &|slice| slice.jitter_s,
            ));
        }
        Kind::Echo => {
            let trips = view::round_trips(series);
            let samples = by_size(&trips);
            let known: Vec<(String, Vec<(f64, f64)>)> = if samples.is_empty() {
                let points = |one: &EchoSize| {
                    one.quantiles
                        .iter()
                        .map(|(share, at)| (*at, *share))
                        .collect()
                };
                let named = |one: &EchoSize| (Unit::Bytes.show(one.size_bytes), points(one));
                sizes.iter().map(named).collect()
            } else {
                Vec::new()
            };
            if sizes.len() > 1 {
                let series = [("observed".to_owned(), sizes.to_vec())];
                figures.push(sizes_figure("Round-trip time by message size", &series));
            }
            figures.push(cdf_figure(
                "Distribution of round-trip times",
                &samples,
                &known,
            ));
            if sizes.len() > 1 {
                figures.push(box_figure("Round-trip times by message size", &trips));
            }
            figures.push(first_figure("The first round trips", &smallest(&trips)));
        }
    }
    let _ = run;
    figures
        .into_iter()
        .flatten()
        .map(|drawn| Plate {
            title: String::new(),
            figures: vec![drawn],
            notes: Vec::new(),
        })
        .collect()
}

/// Where the warm-up ends, if there was one.
fn warm_up(courses: &[Course]) -> Option<f64> {
    courses
        .iter()
        .flat_map(|course| &course.slices)
        .filter(|slice| slice.omitted)
        .map(|slice| slice.end_s)
        .max_by(f64::total_cmp)
}

/// Samples by size, of all connections together; of many sizes eight from the smallest to the largest.
fn by_size(trips: &[RoundTrips]) -> Vec<(String, Vec<f64>)> {
    let mut sizes: Vec<(Option<f64>, Vec<f64>)> = Vec::new();
    for one in trips {
        let values = one
            .values_s
            .iter()
            .copied()
            .filter(|value| value.is_finite());
        match sizes.iter_mut().find(|known| known.0 == one.size_bytes) {
            Some(known) => known.1.extend(values),
            None => sizes.push((one.size_bytes, values.collect())),
        }
    }
    sizes.retain(|one| !one.1.is_empty());
    let name = |size: Option<f64>| {
        size.map_or_else(|| "all messages".to_owned(), |size| Unit::Bytes.show(size))
    };
    let last = sizes.len().saturating_sub(1);
    let most = 6;
    let picked: Vec<usize> = if sizes.len() <= most {
        (0..sizes.len()).collect()
    } else {
        (0..most).map(|nth| nth * last / (most - 1)).collect()
    };
    picked
        .into_iter()
        .map(|at| (name(sizes[at].0), std::mem::take(&mut sizes[at].1)))
        .collect()
}

/// The connections' round trips with the smallest messages.
fn smallest(trips: &[RoundTrips]) -> Vec<RoundTrips> {
    let least = trips
        .iter()
        .filter_map(|one| one.size_bytes)
        .min_by(f64::total_cmp);
    trips
        .iter()
        .filter(|one| one.size_bytes == least)
        .cloned()
        .collect()
}

/// A column of a table of connections: its head, its unit, and where its values come from.
type Told = (&'static str, Unit, fn(&Course) -> Option<f64>);

fn connections(courses: &[Course]) -> Vec<Block> {
    if courses.is_empty() {
        return Vec::new();
    }
    let sum = |course: &Course, of: fn(&view::Slice) -> Option<f64>| {
        let known = course.slices.iter().filter_map(of);
        known.fold(None, |sum: Option<f64>, one| Some(sum.unwrap_or(0.0) + one))
    };
    // Columns that no connection fills are left out.
    let columns: [Told; 6] = [
        ("goodput", Unit::BitPerSecond, Course::mean_rate),
        ("payload", Unit::Bytes, |course| {
            course.slices.iter().map(|slice| slice.bytes).sum()
        }),
        ("sent again", Unit::Segments, |course| {
            let known = course.slices.iter().filter_map(|slice| slice.retransmits);
            known.fold(None, |sum: Option<f64>, one| Some(sum.unwrap_or(0.0) + one))
        }),
        ("largest window", Unit::Bytes, |course| {
            let known = course.slices.iter().filter_map(|slice| slice.cwnd_bytes);
            known.max_by(f64::total_cmp)
        }),
        ("highest RTT", Unit::Seconds, |course| {
            let known = course.slices.iter().filter_map(|slice| slice.rtt_s);
            known.max_by(f64::total_cmp)
        }),
        ("highest jitter", Unit::Seconds, |course| {
            let known = course.slices.iter().filter_map(|slice| slice.jitter_s);
            known.max_by(f64::total_cmp)
        }),
    ];
    let mut heads = Vec::new();
    let mut rows: Vec<(String, Vec<Cell>)> = courses
        .iter()
        .map(|course| (course.name.clone(), Vec::new()))
        .collect();
    for (name, unit, of) in columns {
        let values: Vec<Option<f64>> = courses.iter().map(of).collect();
        if values.iter().any(Option::is_some) {
            heads.push(Column::number(name));
            for (row, value) in rows.iter_mut().zip(values) {
                row.1.push(Cell::of(
                    value.map_or(String::new(), |value| about(value, unit)),
                ));
            }
        }
    }
    let lost: Vec<Option<(f64, f64)>> = courses
        .iter()
        .map(|course| {
            Some((
                sum(course, |one| one.lost)?,
                sum(course, |one| one.datagrams)?,
            ))
        })
        .collect();
    if lost.iter().any(Option::is_some) {
        heads.push(Column::number("lost"));
        for (row, counts) in rows.iter_mut().zip(lost) {
            let share = counts
                .filter(|(lost, arrived)| lost + arrived > 0.0)
                .map(|(lost, arrived)| about((lost / (lost + arrived)).max(0.0), Unit::Share));
            row.1.push(Cell::of(share.unwrap_or_default()));
        }
    }
    vec![Block::Table(Table {
        caption: "Each connection over its intervals".to_owned(),
        corner: "connection".to_owned(),
        columns: heads,
        rows,
        note: None,
    })]
}

fn round_trips(sizes: &[EchoSize]) -> Vec<Block> {
    if sizes.is_empty() {
        return Vec::new();
    }
    let time = |value: Option<f64>| {
        Cell::of(value.map_or(String::new(), |value| about(value, Unit::Seconds)))
    };
    let rows = sizes.iter().map(|one| {
        let quantile = |share: f64| {
            let known = one.quantiles.iter().find(|known| known.0 == share);
            time(known.map(|known| known.1))
        };
        let mean = Cell {
            text: about(one.mean_s, Unit::Seconds),
            beside: one
                .interval
                .map(|(low, high)| words::span(low, high, Unit::Seconds)),
            mark: None,
        };
        let cells = vec![
            Cell::of(one.n.to_string()),
            time(one.first_s),
            mean,
            quantile(0.0),
            quantile(0.5),
            quantile(0.9),
            quantile(0.99),
            quantile(1.0),
        ];
        (Unit::Bytes.show(one.size_bytes), cells)
    });
    let columns = ["n", "first", "mean", "min", "p50", "p90", "p99", "max"];
    vec![Block::Table(Table {
        caption: "Round-trip times by message size, all connections together".to_owned(),
        corner: "message".to_owned(),
        columns: columns.map(Column::number).to_vec(),
        rows: rows.collect(),
        note: Some(
            "Under the mean its interval. A percentile stands only where there are samples enough for it."
                .to_owned(),
        ),
    })]
}

fn doubts(run: &Value) -> Vec<Block> {
    let warnings = view::list(run, "warnings").iter().filter_map(|one| {
        // An imported run's warnings are bare texts.
        if let Some(text) = one.as_str() {
            return Some(text.to_owned());
        }
        let message = view::text(one, "message")?;
        Some(match view::text(one, "remedy") {
            Some(remedy) if !remedy.is_empty() => format!("{message}; {remedy}"),
            _ => message.to_owned(),
        })
    });
    let mut items: Vec<Item> = tallied(warnings);
    if let Some(why) = view::text(run, "summary.cut_short") {
        items.insert(
            0,
            Item::plain(sentence(&format!("the run ended early: {why}"))),
        );
    }
    if items.is_empty() {
        vec![Block::Text(
            "Nothing was noticed that would cast doubt on the result.".to_owned(),
        )]
    } else {
        vec![Block::List(items)]
    }
}

fn command(run: &Value) -> Vec<Block> {
    view::text(run, "command")
        .map(|command| Block::Command(command.to_owned()))
        .into_iter()
        .collect()
}

fn raw(run: &Value, data: Option<&str>) -> Vec<Block> {
    let mut blocks: Vec<Block> = data
        .map(|name| Block::Link(format!("The whole run as JSON: {name}"), name.to_owned()))
        .into_iter()
        .collect();
    if let Some(id) = view::text(run, "id") {
        let id: String = id.chars().take(12).collect();
        blocks.push(Block::Text("From the store that has the run:".to_owned()));
        blocks.push(Block::Command(format!(
            "caudal report export {id} --json\ncaudal report export {id} --csv"
        )));
    }
    blocks
}
