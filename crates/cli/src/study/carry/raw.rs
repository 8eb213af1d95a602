//! The raw round-trip times of an echo flow.

use std::io::{BufRead, BufReader, PipeReader};

/// Raw round-trip times of an echo flow.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Raw {
    /// Of all counted messages that came back, ns.
    pub rtt_ns: Vec<f64>,
    /// The connection of each.
    pub client: Vec<f64>,
    /// The size of each, bytes.
    pub size: Vec<f64>,
    /// When each was due, s; empty without a schedule.
    pub at_s: Vec<f64>,
    /// Of the first message of each size and connection, ns.
    pub first_ns: Vec<f64>,
}

impl Raw {
    /// Reads the rows of `caudal rtt --raw`.
    pub(super) fn read(pipe: PipeReader) -> Self {
        let mut raw = Self::default();
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            raw.row(&line);
        }
        raw
    }

    /// Takes a row in: client, size, index, round trip, when it was due, and more.
    fn row(&mut self, line: &str) {
        let mut cells = line.split(',');
        let mut next = || cells.next().unwrap_or("").parse::<f64>().ok();
        let (client, size, index, rtt, due) = (next(), next(), next(), next(), next());
        let (Some(client), Some(size), Some(index), Some(rtt)) = (client, size, index, rtt) else {
            // The heading, or a message that did not come back.
            return;
        };
        if index == 0.0 {
            self.first_ns.push(rtt);
            return;
        }
        self.rtt_ns.push(rtt);
        self.client.push(client);
        self.size.push(size);
        if let Some(due) = due {
            self.at_s.push(due / 1e9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_rows_are_told_apart_from_the_heading_firsts_and_losses() {
        let mut raw = Raw::default();
        for row in [
            "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns",
            "0,64,0,90000,,,,",
            "0,64,1,50000,,,,",
            "0,64,2,,,,,",
            "1,64,1,60000,1500000000,20,,",
        ] {
            raw.row(row);
        }
        assert_eq!(raw.rtt_ns, [50_000.0, 60_000.0]);
        assert_eq!(raw.client, [0.0, 1.0]);
        assert_eq!((raw.first_ns, raw.at_s), (vec![90_000.0], vec![1.5]));
    }
}
