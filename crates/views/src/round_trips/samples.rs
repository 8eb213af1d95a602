//! Every sample of a round-trip test as comma-separated values.

use crate::column::{self, Column, optional};
use caudal_analysis::echo::{EchoRecord, Reply};

/// A row of the samples: a message and what is known of its reply. Times after the clocks' offset is taken out.
#[derive(Debug)]
pub struct SampleRow {
    client: u32,
    size_bytes: u32,
    /// The number in its size; 0 is the first message, which counts apart.
    index: usize,
    rtt_ns: Option<u64>,
    intended_ns: Option<u64>,
    late_ns: Option<u64>,
    up_ns: Option<i64>,
    down_ns: Option<i64>,
}

impl SampleRow {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 8] = [
        Column::new("client", "", "the client's number, from 0", |row| {
            row.client.to_string()
        }),
        Column::new("size_bytes", "bytes", "in the message", |row| {
            row.size_bytes.to_string()
        }),
        Column::new(
            "index",
            "",
            "the message's number in its size; 0 is the first, which counts separately",
            |row| row.index.to_string(),
        ),
        Column::new(
            "rtt_ns",
            "ns",
            "round trip; empty when no reply came in time",
            |row| optional(row.rtt_ns),
        ),
        Column::new(
            "intended_ns",
            "ns",
            "on a schedule, when it was due, after the start",
            |row| optional(row.intended_ns),
        ),
        Column::new(
            "late_ns",
            "ns",
            "on a schedule, how much later than due it left",
            |row| optional(row.late_ns),
        ),
        Column::new(
            "up_ns",
            "ns",
            "one-way delay up, where the message carried times",
            |row| optional(row.up_ns),
        ),
        Column::new("down_ns", "ns", "one-way delay down, likewise", |row| {
            optional(row.down_ns)
        }),
    ];
}

/// Every sample of a run, a text for each series so that none of them grows too large.
pub fn raw(record: &EchoRecord) -> impl Iterator<Item = String> + '_ {
    record.series.iter().map(|series| {
        let mut text = String::new();
        let replies = series.first.iter().chain(&series.replies);
        for (index, reply) in replies.enumerate() {
            let departure = index
                .checked_sub(1)
                .and_then(|nth| series.departures.get(nth));
            let way = departure.and_then(|departure| record.one_way_ns(departure));
            let row = SampleRow {
                client: series.client,
                size_bytes: series.size,
                index,
                rtt_ns: Reply::ns(*reply),
                intended_ns: departure.map(|departure| departure.intended_ns),
                late_ns: departure.map(|departure| departure.late_ns),
                up_ns: way.map(|(up, _)| up),
                down_ns: way.map(|(_, down)| down),
            };
            text += &column::row(&SampleRow::COLUMNS, &row);
            text.push('\n');
        }
        text
    })
}
