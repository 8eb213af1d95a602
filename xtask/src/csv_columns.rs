//! The generated reference of CSV columns.

use crate::file_columns::file_column;
use crate::path_columns::{direction_column, path_column};
use crate::pcap_columns::pcap_column;
use caudal_cli::output::{csv, path, quality, round_trips, transfers};
use caudal_cli::predict::output as predict;
use caudal_report::LIST_COLUMNS;
use caudal_report::export::VALUE_COLUMNS;
use std::fmt::Write as _;

/// The page of CSV columns, after `note`.
pub fn page(note: &str) -> String {
    let mut page = format!(
        "{note}# CSV\n\n`--csv` prints a header line and then a line for each flow and interval, as soon as both ends \
         have been read, and one more line for the sum of each direction that has several flows. A cell \
         is empty where a column does not apply, or the kernel or the server does not report the value. New columns are added at the \
         end.\n\n## caudal tcp, caudal udp\n\n| column | unit | present | meaning |\n|---|---|---|---|\n"
    );
    for name in csv::COLUMNS {
        let (unit, present, meaning) = column(name).unwrap_or(("", "", "NOT DESCRIBED"));
        let _ = writeln!(page, "| `{name}` | {unit} | {present} | {meaning} |");
    }
    page += "\n## caudal udp --find-rate\n\nOne line for each trial.\n\n| column | unit | meaning |\n|---|---|---|\n\
        | `rate_bps` | bit/s | the rate tried, payload a flow |\n\
        | `sent` | datagrams | sent in this trial |\n\
        | `lost` | datagrams | lost in this trial |\n\
        | `loss` | fraction | lost of sent, over all trials of this rate so far |\n\
        | `loss_low` | fraction | lower end of Wilson's interval of that |\n\
        | `loss_high` | fraction | upper end of the same |\n\
        | `outcome` | | `held`, `failed`, `queueing` (a queue was still filling: failed), `unreached` (the sender could not send that fast) or `undecided` (tried again) |\n";
    page += "\n## caudal rtt\n\nA line for each size and client, then one for all clients of that size.\n\n\
        | column | unit | meaning |\n|---|---|---|\n";
    for name in round_trips::COLUMNS {
        let (unit, meaning) = round_trip_column(name).unwrap_or(("", "NOT DESCRIBED"));
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal rtt --raw FILE\n\nEvery message.\n\n| column | unit | meaning |\n|---|---|---|\n";
    for name in round_trips::RAW_COLUMNS.split(',') {
        let (unit, meaning) = raw_column(name).unwrap_or(("", "NOT DESCRIBED"));
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal report list\n\nA line for each run and study, the newest first.\n\n| column | unit | meaning |\n|---|---|---|\n";
    for (name, unit, meaning) in LIST_COLUMNS {
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal predict\n\nA line for each prediction, of every value of a sweep.\n\n| column | unit | meaning |\n|---|---|---|\n";
    for name in predict::COLUMNS {
        let (unit, meaning) = predict_column(name).unwrap_or(("", "NOT DESCRIBED"));
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal quality\n\nOne line for each interval, as soon as its probes have come back.\n\n\
             | column | unit | meaning |\n|---|---|---|\n";
    for name in quality::CSV_COLUMNS.split(',') {
        let (unit, meaning) = quality_column(name).expect("every column is described");
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal file\n\nOne line for each transfer that counts, when all are over.\n\n\
             | column | unit | meaning |\n|---|---|---|\n";
    for name in transfers::COLUMNS {
        let (unit, meaning) = file_column(name).expect("every column is described");
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal path\n\nOne line for each hop, with the link that leads to it, when probing is over.\n\n\
             | column | unit | meaning |\n|---|---|---|\n";
    for name in path::CSV_COLUMNS {
        let (unit, meaning) = path_column(name).expect("every column is described");
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\nWith a server at the host an empty line follows, and a second table: one line for each direction between both ends.\n\n\
             | column | unit | meaning |\n|---|---|---|\n";
    for name in path::DIRECTION_COLUMNS {
        let (unit, meaning) = direction_column(name).expect("every column is described");
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal pcap\n\nA line for each flow, the most bytes first; a value that is not known is empty.\n\n| column | unit | meaning |\n|---|---|---|\n";
    for name in caudal_cli::pcap::COLUMNS {
        let (unit, meaning) = pcap_column(name).expect("every column is described");
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "\n## caudal report export --csv\n\nA line for each value of a run or study. A value that is not known has no line.\n\n\
        | column | unit | meaning |\n|---|---|---|\n";
    for (name, unit, meaning) in VALUE_COLUMNS {
        let _ = writeln!(page, "| `{name}` | {unit} | {meaning} |");
    }
    page += "| `parameter_NAME` | that of the parameter | a study has one for each parameter: its value as the experiment writes it |\n";
    page
}

/// The unit, presence and meaning of a column; `None` for one without a description.
fn column(name: &str) -> Option<(&'static str, &'static str, &'static str)> {
    const ALWAYS: &str = "always";
    const TCP: &str = "tcp, not in sums";
    const UDP: &str = "udp, not in sums";
    Some(match name {
        "start_s" => (
            "s",
            ALWAYS,
            "when the interval begins, after the start, by the receiver's clock",
        ),
        "end_s" => ("s", ALWAYS, "when it ends"),
        "flow" => (
            "",
            ALWAYS,
            "the flow's number, or `sum` for all flows of a direction that has several",
        ),
        "direction" => (
            "",
            ALWAYS,
            "`up` from the client to the server, `down` the other way",
        ),
        "omitted" => (
            "0 or 1",
            ALWAYS,
            "1 when the interval belongs to the warm-up of `--omit TIME`",
        ),
        "bytes" => ("bytes", ALWAYS, "payload that arrived"),
        "goodput_bps" => (
            "bit/s",
            ALWAYS,
            "goodput: `bytes` over the length of the interval",
        ),
        "sender_cpu" => (
            "share, 0 to 1",
            "not in sums",
            "time the sending thread was on a processor",
        ),
        "receiver_cpu" => (
            "share, 0 to 1",
            "not in sums",
            "time the receiving thread was on a processor",
        ),
        "rtt_us" => ("µs", TCP, "smoothed round-trip time at the interval's end"),
        "min_rtt_us" => (
            "µs",
            TCP,
            "minimum round-trip time so far, as the kernel estimates it",
        ),
        "cwnd_bytes" => ("bytes", TCP, "congestion window at the interval's end"),
        "retransmitted_bytes" => ("bytes", TCP, "payload sent again"),
        "retransmits" => ("segments", TCP, "segments sent again"),
        "delivery_rate_bps" => (
            "bit/s",
            TCP,
            "the kernel's latest estimate of the delivery rate",
        ),
        "busy_us" => ("µs", TCP, "time with data outstanding"),
        "receiver_window_limited_us" => (
            "µs",
            TCP,
            "of that, time held back by the receiver's window",
        ),
        "send_buffer_limited_us" => ("µs", TCP, "of that, time held back by the send buffer"),
        "datagrams" => ("datagrams", UDP, "distinct datagrams that arrived"),
        "lost" => (
            "datagrams",
            UDP,
            "change in the number missing; negative when missing datagrams arrived late",
        ),
        "duplicate" => ("datagrams", UDP, "datagrams that arrived again"),
        "reordered" => (
            "datagrams",
            UDP,
            "datagrams overtaken by a later one (RFC 4737)",
        ),
        "late" => (
            "datagrams",
            UDP,
            "datagrams that arrived after they had been counted as lost",
        ),
        "corrupt" => (
            "datagrams",
            UDP,
            "datagrams whose content differs from what was sent",
        ),
        "socket_drops" => (
            "datagrams",
            UDP,
            "dropped by the kernel for a full buffer at the receiving socket",
        ),
        "jitter_rfc3550_us" => (
            "µs",
            UDP,
            "interarrival jitter at the interval's end (RFC 3550)",
        ),
        "run" => ("", ALWAYS, "the repetition, from 1"),
        _ => return None,
    })
}

/// The unit and meaning of a column of `caudal quality`; `None` for one without a description.
fn quality_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "load" => (
            "",
            "the load of the phase: `idle`, `download`, `upload` or `both`",
        ),
        "start_s" => ("s", "when the interval begins, after the start of the test"),
        "end_s" => ("s", "when it ends"),
        "down_bps" => (
            "bit/s",
            "goodput of all flows from the server; empty without such flows",
        ),
        "up_bps" => (
            "bit/s",
            "goodput of all flows to the server; empty without such flows",
        ),
        "retransmitted" => (
            "share, 0 to 1",
            "payload the flows sent again; empty without load",
        ),
        "rtt_us" => (
            "µs",
            "median round-trip time of the UDP probes due in it; empty when none came back",
        ),
        "rtt_max_us" => ("µs", "maximum of them"),
        "tcp_rtt_us" => ("µs", "median round-trip time of the TCP probe"),
        "probes" => ("probes", "UDP probes due in it"),
        "lost" => ("probes", "of these, overtaken by later ones"),
        _ => return None,
    })
}

/// The unit and meaning of a column of round trips; `None` for one without a description.
fn round_trip_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "protocol" => ("", "`tcp` or `udp`"),
        "size_bytes" => ("bytes", "in each message"),
        "client" => (
            "",
            "the client's number, from 0, or `all` for their pooled messages",
        ),
        "connect_us" => ("µs", "duration of the TCP handshake; for `all` the mean"),
        "sent" => ("messages", "sent, without those that do not count"),
        "lost" => ("messages", "of these, without a reply in time"),
        "late" => (
            "messages",
            "replies to messages that had been counted as lost",
        ),
        "duplicate" => ("messages", "replies to messages answered already"),
        "first_us" => (
            "µs",
            "round trip of the first message of this size, which counts separately; for `all` the mean",
        ),
        "n" => ("messages", "round trips"),
        "mean_us" => ("µs", "their mean"),
        "mean_low_us" => ("µs", "lower end of the mean's interval"),
        "mean_high_us" => ("µs", "upper end"),
        "confidence" => ("", "of that interval"),
        "sd_us" => ("µs", "standard deviation"),
        "min_us" => ("µs", "minimum"),
        "p50_us" => ("µs", "median"),
        "p90_us" => ("µs", "90th percentile, from 29 values on"),
        "p99_us" => ("µs", "99th percentile, from 299 values on"),
        "p99_9_us" => ("µs", "99.9th percentile, from 2995 values on"),
        "max_us" => ("µs", "maximum"),
        "stamped" => ("messages", "messages that the kernel timestamped"),
        "kernel_rtt_p50_us" => ("µs", "of those, outside this host: median"),
        "host_p50_us" => ("µs", "of those, within this host: median"),
        "lateness_p50_us" => ("µs", "on a schedule, how late messages left: median"),
        "lateness_p99_us" => ("µs", "99th percentile of the same"),
        "lateness_max_us" => ("µs", "maximum of the same"),
        "up_p50_us" => (
            "µs",
            "one-way delay up, with the clocks' offset taken out: median",
        ),
        "up_pdv_p99_us" => (
            "µs",
            "one-way delay up above its minimum: 99th percentile (RFC 5481)",
        ),
        "up_ipdv_mean_abs_us" => (
            "µs",
            "mean change of the one-way delay up, regardless of sign (RFC 3393)",
        ),
        "down_p50_us" => ("µs", "the same down"),
        "down_pdv_p99_us" => ("µs", "the same down"),
        "down_ipdv_mean_abs_us" => ("µs", "the same down"),
        "one_way_bound_us" => (
            "µs",
            "maximum error of the one-way delays due to the clocks' offset",
        ),
        "method" => ("", "method of the mean's interval"),
        _ => return None,
    })
}

/// The unit and meaning of a column of `--raw`; `None` for one without a description.
fn raw_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "client" => ("", "the client's number, from 0"),
        "size_bytes" => ("bytes", "in the message"),
        "index" => (
            "",
            "the message's number in its size; 0 is the first, which counts separately",
        ),
        "rtt_ns" => ("ns", "round trip; empty when no reply came in time"),
        "intended_ns" => ("ns", "on a schedule, when it was due, after the start"),
        "late_ns" => ("ns", "on a schedule, how much later than due it left"),
        "up_ns" => ("ns", "one-way delay up, where the message carried times"),
        "down_ns" => ("ns", "one-way delay down, likewise"),
        _ => return None,
    })
}

/// The unit and meaning of a column of predictions; `None` for one without a description.
fn predict_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "parameter" => (
            "",
            "the parameter that was swept, by its key in JSON; empty without a sweep",
        ),
        "at" => ("that of the parameter", "its value; empty without a sweep"),
        "name" => ("", "the quantity that was predicted"),
        "value" => ("that of `unit`", "the predicted value"),
        "unit" => ("", "of the value"),
        "method" => ("", "`formula` or `simulation`"),
        "binding" => (
            "",
            "the term that determines the value, where it is the minimum of several",
        ),
        "tolerance_below" => (
            "share",
            "how far below the value an observation may lie; one further off contradicts an assumption",
        ),
        "tolerance_above" => ("share", "how far above the value, likewise"),
        "title" => ("", "the name for people"),
        "detail" => ("", "the intermediate result that explains the value"),
        "assumes" => ("", "the assumptions under which the value holds"),
        "source" => ("", "the source of the formula"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_described() {
        for name in csv::COLUMNS {
            assert!(column(name).is_some(), "{name} needs a line in `column`");
        }
        for name in predict::COLUMNS {
            assert!(
                predict_column(name).is_some(),
                "{name} needs a line in `predict_column`"
            );
        }
        for name in round_trips::COLUMNS {
            assert!(
                round_trip_column(name).is_some(),
                "{name} needs a line in `round_trip_column`"
            );
        }
        for name in round_trips::RAW_COLUMNS.split(',') {
            assert!(
                raw_column(name).is_some(),
                "{name} needs a line in `raw_column`"
            );
        }
    }
}
