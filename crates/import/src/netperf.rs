//! The tables of netperf: TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR and TCP_CRR, as the classic tests print them.
//!
//! Source: netperf 2.7, `src/nettest_bsd.c` and `src/nettest_omni.c`: the rate of a stream is of the bytes that arrived.

use super::line;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use super::log_head::LogHead;
use super::openings::OpeningLog;
use super::round_trips::RoundTripLog;
use super::tool_log::ToolLog;
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NetperfTest {
    SendTcp,
    ReceiveTcp,
    SendUdp,
    RoundTrips(Transport),
    Openings,
}

/// `true` for the title of a test.
#[must_use]
pub fn is_sign(text: &str) -> bool {
    title(text).is_some()
}

/// The test and the host of a title, and whether requests overlap.
fn title(text: &str) -> Option<(NetperfTest, &str, bool)> {
    let text = text.strip_prefix("MIGRATED ").unwrap_or(text);
    let (name, rest) = text.split_once(" TEST")?;
    let test = match name.trim() {
        "TCP STREAM" => NetperfTest::SendTcp,
        "TCP MAERTS" => NetperfTest::ReceiveTcp,
        "UDP STREAM" | "UDP UNIDIRECTIONAL SEND" => NetperfTest::SendUdp,
        "TCP REQUEST/RESPONSE" => NetperfTest::RoundTrips(Transport::Tcp),
        "UDP REQUEST/RESPONSE" => NetperfTest::RoundTrips(Transport::Udp),
        "TCP Connect/Request/Response" => NetperfTest::Openings,
        _ => return None,
    };
    let (_, to) = rest.split_once(" to ")?;
    let host = line::word(to).0;
    let burst = line::text_after(rest, "first burst ");
    let overlaps =
        burst.is_some_and(|burst| line::number(burst).is_some_and(|(count, _)| count > 0.0));
    Some((test, host, overlaps))
}

/// bit/s of one of the unit in a head line.
fn unit(text: &str) -> Option<f64> {
    let units = [
        ("10^3bits/s", 1e3),
        ("10^6bits/s", 1e6),
        ("10^9bits/s", 1e9),
        ("10^12bits/s", 1e12),
        ("KBytes/s", 8.0 * 1024.0),
        ("MBytes/s", 8.0 * 1024.0 * 1024.0),
        ("GBytes/s", 8.0 * 1024.0 * 1024.0 * 1024.0),
    ];
    let found = units.into_iter().find(|(name, _)| text.contains(name));
    found.map(|(_, factor)| factor)
}

/// The numbers of a line, or nothing when it has other words.
fn numbers(text: &str) -> Vec<f64> {
    let value = |word: &str| {
        let (value, rest) = line::number(word)?;
        rest.is_empty().then_some(value)
    };
    let all: Option<Vec<f64>> = text.split_whitespace().map(value).collect();
    all.unwrap_or_default()
}

struct NetperfTable<'a> {
    test: NetperfTest,
    host: &'a str,
    overlaps: bool,
    factor: Option<f64>,
    rows: Vec<Vec<f64>>,
    command: Option<String>,
}

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<ToolLog> {
    let mut tables: Vec<NetperfTable<'_>> = Vec::new();
    let mut command = None;
    for text in text.lines() {
        if let Some((test, host, overlaps)) = title(text.trim()) {
            tables.push(NetperfTable {
                test,
                host,
                overlaps,
                factor: None,
                rows: Vec::new(),
                command: command.take(),
            });
        } else if let Some(found) = line::command(text, "netperf") {
            command = Some(found.to_owned());
        } else if let Some(table) = tables.last_mut() {
            table.factor = table.factor.or_else(|| unit(text));
            let row = numbers(text);
            // A table has two rows at most.
            if !row.is_empty() && table.rows.len() < 2 {
                table.rows.push(row);
            }
        }
    }
    tables.iter().filter_map(finish).collect()
}

fn finish(table: &NetperfTable<'_>) -> Option<ToolLog> {
    let first = table.rows.first()?;
    match table.test {
        NetperfTest::SendTcp | NetperfTest::ReceiveTcp => {
            let [_, _, size, seconds, rate, ..] = first[..] else {
                return None;
            };
            let direction = match table.test {
                NetperfTest::ReceiveTcp => Direction::Down,
                _ => Direction::Up,
            };
            let mut log = stream(table, Transport::Tcp, direction, size, seconds);
            log.flows[0].receiver = Some(counts(seconds, rate * table.factor?));
            Some(log.into())
        }
        NetperfTest::SendUdp => {
            let [_, size, seconds, sent, _, rate, ..] = first[..] else {
                return None;
            };
            let mut log = stream(table, Transport::Udp, Direction::Up, size, seconds);
            let factor = table.factor?;
            log.flows[0].sender = Some(LogCounts {
                datagrams: Some(sent),
                ..counts(seconds, rate * factor)
            });
            if let Some([_, seconds, received, rate, ..]) = table.rows.get(1).map(|row| &row[..]) {
                log.flows[0].receiver = Some(LogCounts {
                    datagrams: Some(sent),
                    lost: Some((sent - received).max(0.0)),
                    ..counts(*seconds, rate * factor)
                });
            }
            Some(log.into())
        }
        NetperfTest::RoundTrips(transport) => {
            let [_, _, request, _, seconds, per_s, ..] = first[..] else {
                return None;
            };
            let mut log = RoundTripLog::new(LogFormat::NetperfText);
            log.head = head(table);
            log.transport = Some(transport);
            log.size_bytes = Some(request as u32);
            log.sent = (per_s * seconds).round() as u64;
            log.elapsed_s = Some(seconds);
            if table.overlaps {
                log.left_out = vec![format!(
                    "{per_s} transactions/s (with a burst they overlap, so the rate says nothing of one round trip)"
                )];
            } else {
                log.mean_us = (per_s > 0.0).then(|| 1e6 / per_s);
            }
            Some(log.finished().into())
        }
        NetperfTest::Openings => {
            let [_, _, _, _, seconds, per_s, ..] = first[..] else {
                return None;
            };
            Some(ToolLog::Openings(Box::new(OpeningLog {
                head: head(table),
                opened: (per_s * seconds).round() as u64,
                per_s,
                elapsed_s: seconds,
            })))
        }
    }
}

fn head(table: &NetperfTable<'_>) -> LogHead {
    LogHead {
        peer: Some(table.host.to_owned()),
        command: table.command.clone(),
        ..LogHead::new(LogFormat::NetperfText)
    }
}

fn counts(seconds: f64, bps: f64) -> LogCounts {
    LogCounts {
        end_s: seconds,
        bytes: Some(bps * seconds / 8.0),
        bps: Some(bps),
        ..LogCounts::default()
    }
}

fn stream(
    table: &NetperfTable<'_>,
    transport: Transport,
    direction: Direction,
    size: f64,
    seconds: f64,
) -> Log {
    let mut log = Log::new(LogFormat::NetperfText);
    log.side = Some(ImportSide::Client);
    log.protocol = Some(transport);
    log.peer = Some(table.host.to_owned());
    log.command = table.command.clone();
    log.length = Some(size);
    log.time_s = Some(seconds);
    log.is_complete = true;
    log.flows.push(LogFlow::new(direction, Role::Receiver));
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\
user@host:~$ netperf -H 192.0.2.1
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET : demo
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.03     941.38
";

    #[test]
    fn a_stream_is_what_arrived() {
        let logs = read(STREAM);
        let [ToolLog::Throughput(log)] = &logs[..] else {
            panic!("{logs:#?}");
        };
        let receiver = log.flows[0].receiver.unwrap();
        assert_eq!((receiver.bps, receiver.end_s), (Some(941.38e6), 10.03));
        assert_eq!(log.peer.as_deref(), Some("192.0.2.1"));
        assert_eq!(log.command.as_deref(), Some("netperf -H 192.0.2.1"));
        let megabytes = STREAM
            .replace("10^6bits/sec", "MBytes  /sec")
            .replace("MBytes  /sec", "MBytes/sec");
        let [ToolLog::Throughput(log)] = &read(&megabytes)[..] else {
            panic!("no test");
        };
        assert_eq!(
            log.flows[0].receiver.unwrap().bps,
            Some(941.38 * 8.0 * 1_048_576.0)
        );
    }

    #[test]
    fn a_stream_of_datagrams_has_both_ends() {
        let text = "\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1472   10.00      850000      0    1000.96
212992           10.00      800000            942.08
";
        let [ToolLog::Throughput(log)] = &read(text)[..] else {
            panic!("no test");
        };
        let receiver = log.flows[0].receiver.unwrap();
        assert_eq!(
            (receiver.lost, receiver.bps),
            (Some(50_000.0), Some(942.08e6))
        );
    }

    #[test]
    fn the_rate_of_transactions_is_the_mean_of_round_trips_where_they_do_not_overlap() {
        let table = |title: &str| {
            format!(
                "MIGRATED {title} TEST from 0.0.0.0 () port 0 AF_INET to h2 () port 0 AF_INET : first burst 0\n\
                 Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\nSend   Recv   Size     Size    Time     Rate\n\
                 bytes  Bytes  bytes    bytes   secs.    per sec\n\n16384  131072 1        1       10.00    20000.00\n16384  131072\n"
            )
        };
        let [ToolLog::RoundTrips(log)] = &read(&table("TCP REQUEST/RESPONSE"))[..] else {
            panic!("no test");
        };
        assert_eq!((log.mean_us, log.sent), (Some(50.0), 200_000));
        let burst = table("UDP REQUEST/RESPONSE").replace("burst 0", "burst 16");
        let [ToolLog::RoundTrips(log)] = &read(&burst)[..] else {
            panic!("no test");
        };
        assert_eq!(log.mean_us, None);
        assert!(log.head.warnings[0].1.contains("overlap"));
        let [ToolLog::Openings(log)] = &read(&table("TCP Connect/Request/Response"))[..] else {
            panic!("no test");
        };
        assert_eq!((log.per_s, log.opened), (20_000.0, 200_000));
    }
}
