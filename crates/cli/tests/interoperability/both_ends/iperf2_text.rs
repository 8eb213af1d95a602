//! The account in the text that one end of an iperf 2 test prints with `-f B`.

use super::account::{Account, End, Figures};
use super::case::Directions;
use std::collections::BTreeMap;

/// A line of figures: `[ *1] 0.00-1.00 sec  1310500 Bytes  1308019 Bytes/sec   0.085 ms 0/91 (0%)`.
struct FiguresLine<'a> {
    id: &'a str,
    is_reverse: bool,
    bytes: u64,
    lost: Option<u64>,
}

impl<'a> FiguresLine<'a> {
    fn parse(id: &'a str, rest: &str) -> Option<Self> {
        let (_, after) = rest.split_once(" sec ")?;
        let words: Vec<&str> = after.split_whitespace().collect();
        let bytes = words.first()?.parse().ok()?;
        if words.get(1) != Some(&"Bytes") || id.starts_with("SUM") {
            return None;
        }
        let losses = words.iter().position(|word| *word == "ms");
        let lost = losses.map(|at| {
            let (lost, total) = words[at + 1].split_once('/').unwrap();
            let total = if total.is_empty() {
                words[at + 2]
            } else {
                total
            };
            let (lost, total): (u64, u64) = (lost.parse().unwrap(), total.parse().unwrap());
            assert!(lost <= total, "more lost than sent: {rest}");
            lost
        });
        Some(Self {
            id: id.trim_start_matches('*'),
            is_reverse: id.starts_with('*'),
            bytes,
            lost,
        })
    }
}

/// Reads what an end printed; `port` is the server's.
pub fn read(text: &str, end: End, directions: Directions, port: u16) -> Account {
    let mut account = Account::default();
    // Whether a flow is one that the server has opened, by its number.
    let mut opened_back = BTreeMap::new();
    let mut reported = None;
    for line in text.lines() {
        let Some((id, rest)) = line
            .strip_prefix('[')
            .and_then(|line| line.split_once(']'))
            .map(|(id, rest)| (id.trim(), rest))
        else {
            continue;
        };
        let number = id.trim_start_matches('*');
        if rest.trim_start().starts_with("local ") {
            let ports: Vec<&str> = rest.split(" port ").skip(1).collect();
            let of_server = match end {
                End::Client => ports.get(1),
                End::Server => ports.first(),
            };
            let of_server = of_server.and_then(|words| words.split_whitespace().next());
            opened_back.insert(number.to_owned(), of_server != Some(&port.to_string()));
        } else if rest.contains("Server Report") {
            reported = Some(number.to_owned());
        } else if let Some(line) = FiguresLine::parse(id, rest) {
            let is_report = reported.as_deref() == Some(line.id);
            let is_down = match directions {
                Directions::Down => true,
                // The lines of a server's threads are not always in order: its mark of a flow that it has opened is.
                Directions::Dual | Directions::Tradeoff => {
                    line.is_reverse || opened_back.get(line.id).copied().unwrap_or(false)
                }
                _ => line.is_reverse,
            };
            let sends = is_down == (end == End::Server);
            let figures = if is_report || !sends {
                Figures {
                    sent: None,
                    received: Some(line.bytes),
                    lost: line.lost,
                }
            } else {
                Figures {
                    sent: Some(line.bytes),
                    received: None,
                    lost: None,
                }
            };
            if is_report {
                reported = None;
            } else {
                account.flows += 1;
            }
            let direction = if is_down {
                &mut account.down
            } else {
                &mut account.up
            };
            direction.add(figures);
        }
    }
    account
}
