//! What is kept, as values: runs with their samples, studies with what happened to them, and lists of both.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run that has ended, with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    /// Names it: 32 hexadecimal digits.
    pub id: String,
    /// What it was: `tcp`, `udp`, `rtt`, `find-rate` or `trial`; an imported run's is what its tool measured.
    pub kind: String,
    /// When it began, ns of the wall clock since 1970.
    pub started_ns: i64,
    /// The program that measured, with its version.
    pub tool: String,
    /// The far side, as an address.
    pub peer: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// What repeats it.
    pub command: String,
    /// How it ended: `done`, `cut short` or `failed`.
    pub outcome: String,
    /// The study it belongs to.
    pub of: Option<TrialOf>,
    /// What a list shows of it.
    pub headline: Headline,
    /// The machines: `{client, server, machine}`.
    pub environment: Value,
    /// The run itself, as `--json` prints it.
    pub document: Value,
    /// Its raw samples.
    pub series: Vec<Series>,
}

/// The place of a trial in its study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialOf {
    /// The study's id.
    pub study: String,
    /// The case that was carried out.
    pub case: String,
    /// Which time of that case, from 1.
    pub repeat: u32,
    /// Which of the study's trials, from 1, in the order they were carried out.
    pub position: u32,
    /// Whether it is a flow by itself, which others are held against.
    pub baseline: bool,
}

/// What a list shows of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// Payload that arrived, bit/s, all directions together.
    pub goodput_bps: Option<f64>,
    /// The fraction of datagrams or messages lost, 0 to 1.
    pub loss: Option<f64>,
    /// The mean round-trip time, µs.
    pub rtt_us: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
}

impl Headline {
    /// What a list shows of a run, from its document (schema `caudal.run/1`).
    ///
    /// Several directions add up; their round trips are averaged. Of round trips by message size the smallest size
    /// counts. A search for a rate shows what it found.
    #[must_use]
    pub fn of(document: &Value) -> Self {
        let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_f64);
        let summary = document.get("summary").unwrap_or(&Value::Null);
        let list = |value: &Value, key: &str| -> Vec<Value> {
            let found = value.get(key).and_then(Value::as_array);
            found.cloned().unwrap_or_default()
        };
        let directions = list(summary, "directions");
        let over = list(document, "over_repeats");
        let of_each = |of: &[Value], path: &str| -> Vec<f64> {
            of.iter().filter_map(|one| number(one, path)).collect()
        };
        let sum = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>());
        let mean = |values: &[f64]| sum(values).map(|sum| sum / values.len() as f64);
        let fraction = |lost: Option<f64>, sent: Option<f64>| {
            sent.filter(|sent| *sent > 0.0)
                .and_then(|sent| Some(lost? / sent))
        };
        let told: Vec<Value> = directions
            .iter()
            .filter(|one| one.pointer("/loss/complete") != Some(&Value::Bool(false)))
            .cloned()
            .collect();
        let smallest = list(summary, "sizes").into_iter().min_by(|a, b| {
            let size = |one: &Value| number(one, "/size_bytes").unwrap_or(f64::INFINITY);
            size(a).total_cmp(&size(b))
        });
        Self {
            goodput_bps: number(summary, "/goodput_bps/mean")
                // An imported log knows no interval.
                .or_else(|| number(summary, "/goodput_bps"))
                .or_else(|| sum(&of_each(&over, "/goodput_bps/mean")))
                .or_else(|| sum(&of_each(&directions, "/goodput_bps/mean")))
                .or_else(|| sum(&of_each(&directions, "/goodput_bps")))
                .or_else(|| number(document, "/search/rate_bps")),
            loss: fraction(
                sum(&of_each(&told, "/loss/lost")),
                sum(&of_each(&told, "/loss/sent")),
            )
            .or_else(|| fraction(number(summary, "/lost"), number(summary, "/messages"))),
            rtt_us: mean(&of_each(&directions, "/tcp/rtt_mean_us"))
                .or_else(|| number(&smallest?, "/pooled/mean_us/mean")),
            retransmits: sum(&of_each(&directions, "/tcp/retransmits")),
        }
    }
}

/// Raw samples of one quantity of one flow, in the order they were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The flow's number.
    pub flow: u32,
    /// The quantity, such as `rtt 64 B`.
    pub name: String,
    /// Its unit, such as `ns`.
    pub unit: String,
    /// The samples; NaN is one that is missing, such as the round trip of a lost message.
    pub values: Vec<f64>,
}

/// One execution of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptStudy {
    /// Names it: 32 hexadecimal digits.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// The experiment's title.
    pub title: String,
    /// When it began, ns of the wall clock since 1970.
    pub started_ns: i64,
    /// What its random order grew from.
    pub seed: u64,
    /// What repeats it.
    pub command: String,
    /// The experiment as it was resolved, overrides included.
    pub experiment: Value,
    /// Its cases and their order.
    pub campaign: Value,
    /// The machines.
    pub environment: Value,
    /// What happened to it: when (ns since 1970), what, and more about it. Those given to
    /// [`begin_study`](super::Store::begin_study) are its first.
    pub events: Vec<(i64, String, Value)>,
}

impl KeptStudy {
    /// How it stands, by the last of its events that says so: `done`, `interrupted`, `failed`, or
    /// `unfinished` while it runs and when it was killed.
    #[must_use]
    pub fn state(&self) -> &str {
        state(self.events.iter().map(|(_, event, _)| event.as_str()))
    }
}

/// How a study stands that these events happened to.
pub(super) fn state<'a>(events: impl DoubleEndedIterator<Item = &'a str>) -> &'a str {
    events
        .rev()
        .find_map(|event| match event {
            "done" | "interrupted" | "failed" => Some(event),
            "resumed" | "begun" => Some("unfinished"),
            _ => None,
        })
        .unwrap_or("unfinished")
}

/// Something kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// A run, or a trial of a study, with its samples.
    Run(Box<KeptRun>),
    /// A study, without its trials.
    Study(Box<KeptStudy>),
}

impl Kept {
    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Run(run) => &run.id,
            Self::Study(study) => &study.id,
        }
    }
}

/// Which of what is kept a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind: a run's, or `study`.
    pub kind: Option<String>,
    /// The trials of the study with this id, prefix of an id, or name.
    pub study: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// With this in the peer's address.
    pub peer: Option<String>,
    /// Begun at this moment or later, ns since 1970.
    pub since_ns: Option<i64>,
    /// With all of these words somewhere in id, kind, tool, peer, title, command or tags; letters of
    /// either case count as one.
    pub words: Vec<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
    /// Trials of studies too; without this they are shown when their kind or study is asked for.
    pub trials: bool,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Names it.
    pub id: String,
    /// A run's kind, or `study`.
    pub kind: String,
    /// When it began, ns since 1970.
    pub started_ns: i64,
    /// The program that measured, with its version; empty for a study.
    pub tool: String,
    /// The far side.
    pub peer: Option<String>,
    /// What people call it; a study's is its title.
    pub title: Option<String>,
    /// A study's name.
    pub name: Option<String>,
    /// What repeats it.
    pub command: String,
    /// How it ended; how a study stands.
    pub outcome: String,
    /// The place of a trial in its study.
    pub of: Option<TrialOf>,
    /// What was measured.
    pub headline: Headline,
    /// How many trials a study has so far.
    pub trials: Option<u64>,
    /// Its tags, by name.
    pub tags: Vec<String>,
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Amounts {
    /// Runs that belong to no study.
    pub runs: u64,
    /// Studies.
    pub studies: u64,
    /// Their trials.
    pub trials: u64,
    /// Raw samples of all of them.
    pub samples: u64,
    /// The version of the tables.
    pub version: i64,
    /// The size on disk, bytes, what is not yet merged into the file included.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_shows_of_a_run_what_its_document_tells() {
        use serde_json::json;
        let shown = |document| {
            let line = Headline::of(&document);
            (line.goodput_bps, line.loss, line.rtt_us, line.retransmits)
        };
        let both = json!({"summary": {"goodput_bps": null, "directions": [
            {"goodput_bps": {"mean": 2e6}, "loss": {"complete": true, "sent": 100, "lost": 1},
             "tcp": {"rtt_mean_us": 10.0, "retransmits": 3}},
            {"goodput_bps": {"mean": 1e6}, "loss": {"complete": true, "sent": 300, "lost": 3},
             "tcp": {"rtt_mean_us": 30.0, "retransmits": 4}},
        ]}});
        assert_eq!(shown(both), (Some(3e6), Some(0.01), Some(20.0), Some(7.0)));
        let repeated = json!({
            "summary": {"goodput_bps": {"mean": 5e6}, "directions": [{"goodput_bps": {"mean": 2e6}}]},
            "over_repeats": [{"goodput_bps": {"mean": 5e6}}],
        });
        assert_eq!(shown(repeated), (Some(5e6), None, None, None));
        let unknown = json!({"summary": {"directions": [{"loss": {"complete": false, "sent": 9, "lost": 0}}]}});
        assert_eq!(shown(unknown), (None, None, None, None));
        let rtt = json!({"summary": {"messages": 200, "lost": 50, "sizes": [
            {"size_bytes": 64, "pooled": {"mean_us": {"mean": 80.0}}},
            {"size_bytes": 1, "pooled": {"mean_us": {"mean": 70.0}}},
        ]}});
        assert_eq!(shown(rtt), (None, Some(0.25), Some(70.0), None));
        let search = json!({"search": {"rate_bps": 95_000_000}});
        assert_eq!(shown(search), (Some(95e6), None, None, None));
        assert_eq!(Headline::of(&json!("no run")), Headline::default());
    }

    #[test]
    fn a_study_stands_as_its_last_telling_event_says() {
        let cases: [(&[&str], &str); 7] = [
            (&[], "unfinished"),
            (&["begun"], "unfinished"),
            (&["begun", "interrupted"], "interrupted"),
            (&["interrupted", "resumed"], "unfinished"),
            (&["resumed", "done"], "done"),
            (&["done", "findings"], "done"),
            (&["failed", "findings"], "failed"),
        ];
        for (events, expected) in cases {
            assert_eq!(state(events.iter().copied()), expected, "{events:?}");
        }
    }
}
