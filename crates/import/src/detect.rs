//! The format of a log, recognised by its content, never by its name.

use super::error::{ImportError, MAX_TESTS};
use super::iperf3_json;
use super::json_objects::JsonObjects;
use super::loaded::FlentData;
use super::log::LogFormat;
use super::round_trips;
use super::route::RouteLog;
use super::tool_log::ToolLog;
use super::{iperf2_csv, iperf2_text, iperf3_text, line, netperf, nttcp, nuttcp, speed};
use serde_json::Value;

/// Maximum lines before a JSON document.
const MAX_LINES_BEFORE_JSON: usize = 64;

/// Reads the tests of a text in any of the formats.
///
/// # Errors
/// When it is in none of them, or damaged.
pub fn read_logs(text: &str) -> Result<Vec<ToolLog>, ImportError> {
    if let Some(json) = json_part(text) {
        return read_json(json);
    }
    let (mut iperf3, mut iperf2, mut csv, mut rows) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut others = [0_usize; OTHERS.len()];
    for line in text.lines() {
        let line = line.trim_end();
        iperf3 += usize::from(iperf3_text::is_sign(line));
        iperf2 += usize::from(iperf2_text::is_sign(line));
        csv += usize::from(iperf2_csv::is_sign(line));
        rows += usize::from(nttcp::is_sign(line));
        for (count, other) in others.iter_mut().zip(&OTHERS) {
            *count += usize::from((other.is_sign)(line.trim_start()));
        }
    }
    if iperf3 + iperf2 + csv + rows + others.iter().sum::<usize>() == 0 {
        // Rows without anything around them: both iperfs print them, iperf3 with two digits and blanks.
        iperf3 = usize::from(text.lines().any(is_bare_row));
    }
    let mut logs: Vec<ToolLog> = Vec::new();
    let mut add = |found| logs.extend(Iterator::map(Vec::into_iter(found), ToolLog::from));
    if iperf3 > 0 && iperf3 >= iperf2 {
        add(iperf3_text::read(text));
    } else if iperf2 > 0 {
        add(iperf2_text::read(text));
    }
    if csv > 0 {
        add(iperf2_csv::read(text));
    }
    if rows > 0 {
        add(nttcp::read(text));
    }
    for (_, other) in others.iter().zip(&OTHERS).filter(|(count, _)| **count > 0) {
        logs.extend((other.read)(text));
    }
    if logs.is_empty() {
        return Err(ImportError::Unknown);
    }
    Ok(logs)
}

/// A format of text: the lines that show it, and its parser.
struct TextFormat {
    is_sign: fn(&str) -> bool,
    read: fn(&str) -> Vec<ToolLog>,
}

/// The formats of text that are not those of the iperfs and of nttcp.
const OTHERS: [TextFormat; 4] = [
    TextFormat {
        is_sign: round_trips::is_ping,
        read: |text| tool_logs(round_trips::read_ping(text)),
    },
    TextFormat {
        is_sign: round_trips::is_fping,
        read: |text| tool_logs(round_trips::read_fping(text)),
    },
    TextFormat {
        is_sign: netperf::is_sign,
        read: netperf::read,
    },
    TextFormat {
        is_sign: nuttcp::is_sign,
        read: |text| tool_logs(nuttcp::read(text)),
    },
];

fn tool_logs<T: Into<ToolLog>>(logs: Vec<T>) -> Vec<ToolLog> {
    logs.into_iter().map(Into::into).collect()
}

/// The text from the line on which JSON begins, which may follow error messages; `None` without JSON.
fn json_part(text: &str) -> Option<&str> {
    let from = |line: &str| &text[line.as_ptr() as usize - text.as_ptr() as usize..];
    let begins_object = |text: &str| {
        text.strip_prefix('{').is_some_and(|rest| {
            let line = rest.lines().next().unwrap_or("");
            line.trim().is_empty() || line.trim_start().starts_with('"')
        })
    };
    let mut lines = text.lines().take(MAX_LINES_BEFORE_JSON);
    let line = lines.find(|line| {
        let line = line.trim_start();
        // An array of objects; the rows of both iperfs begin with a bracket as well.
        let object = match line.strip_prefix('[') {
            Some(rest) => from(rest).trim_start(),
            None => from(line),
        };
        begins_object(object)
    })?;
    Some(from(line))
}

/// `true` for a line of a logger, as an object.
fn is_logged_line(object: &Value) -> bool {
    let has_text = |key| object.get(key).is_some_and(Value::is_string);
    (has_text("MESSAGE") || has_text("log")) && object.get("start").is_none()
}

/// The text that a logger keeps in JSON, an object a line: `journalctl -o json`, the files of Docker.
fn logged_text(objects: &[Value]) -> Option<String> {
    let mut text = String::new();
    for object in objects {
        let message = object
            .get("MESSAGE")
            .or_else(|| object.get("log"))?
            .as_str()?;
        text.push_str(message);
        if !message.ends_with('\n') {
            text.push('\n');
        }
    }
    (!text.is_empty()).then_some(text)
}

/// `true` for a row of an interval.
fn is_bare_row(text: &str) -> bool {
    let timed_row = line::bracketed(text).and_then(|line| line::timed_row(line.rest));
    timed_row.is_some_and(|(mut count, rest)| line::amount_and_rate(&mut count, rest).is_some())
}

/// Reads the objects of `iperf3 -J` or the events of `iperf3 --json-stream`.
fn read_json(text: &str) -> Result<Vec<ToolLog>, ImportError> {
    // A stream has many events a test.
    let are_lines = |objects: &[Value]| objects.first().is_some_and(is_logged_line);
    let are_too_many = |objects: &[Value]| {
        objects.len() > MAX_TESTS
            && !iperf3_json::is_stream(objects)
            && !speed::is_ndt7(objects)
            && !round_trips::are_of_fping(objects)
            && !are_lines(objects)
    };
    let parsed = JsonObjects::read(text, are_too_many);
    if are_lines(&parsed.objects)
        && let Some(text) = logged_text(&parsed.objects)
        && !json_part(&text)
            .is_some_and(|text| text.contains("\"MESSAGE\"") || text.contains("\"log\""))
    {
        return read_logs(&text);
    }
    if are_too_many(&parsed.objects) {
        return Err(ImportError::TooMany);
    }
    let of_others = other_objects(&parsed.objects);
    if !of_others.is_empty() {
        return Ok(of_others);
    }
    let is_stream = iperf3_json::is_stream(&parsed.objects);
    let broken = parsed.error.map(|cause| ImportError::Broken {
        tool: LogFormat::Iperf3Json.tool(),
        cause,
    });
    let logs = if is_stream {
        iperf3_json::from_events(&parsed.objects)
    } else {
        iperf3_json::from_objects(&parsed.objects)
    };
    let is_without_counts = logs.last().is_none_or(|last| !last.has_counts());
    match broken {
        Some(broken) if logs.is_empty() || (parsed.is_cut_off && is_without_counts) => Err(broken),
        None if logs.is_empty() => Err(ImportError::Unknown),
        _ => Ok(tool_logs(logs)),
    }
}

/// The tests of objects that other programs than iperf3 wrote.
fn other_objects(objects: &[Value]) -> Vec<ToolLog> {
    if speed::is_ndt7(objects) {
        return tool_logs(speed::ndt7_from_objects(objects));
    }
    if round_trips::are_of_fping(objects) {
        return tool_logs(round_trips::fping_from_objects(objects));
    }
    objects.iter().flat_map(other_object).collect()
}

fn other_object(object: &Value) -> Vec<ToolLog> {
    if let Some(log) = round_trips::irtt_from_object(object) {
        return vec![log.into()];
    }
    if let Some(log) = RouteLog::from_object(object) {
        return vec![ToolLog::Route(Box::new(log))];
    }
    match FlentData::from_object(object) {
        Some(FlentData::Loaded(log)) => return vec![ToolLog::Loaded(Box::new(log))],
        Some(FlentData::Throughput(log)) => return vec![log.into()],
        None => {}
    }
    speed::from_object(object).map_or_else(Vec::new, tool_logs)
}
