//! The round-trip time of every message of an echo flow.

use std::io::{BufRead, BufReader, PipeReader};

/// The round-trip time of every message of an echo flow.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct RoundTripSamples {
    /// The round-trip time of every counted message that came back, ns.
    pub rtt_ns: Vec<f64>,
    /// The connection of each of them.
    pub client: Vec<f64>,
    /// The size of each of them, bytes.
    pub size: Vec<f64>,
    /// The scheduled time of each of them, s; empty without a schedule.
    pub at_s: Vec<f64>,
    /// The round-trip time of the first message of each size and connection, ns.
    pub first_ns: Vec<f64>,
}

impl RoundTripSamples {
    /// Reads the samples that `caudal rtt` writes.
    pub(super) fn read(pipe: PipeReader) -> Self {
        let mut samples = Self::default();
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            samples.add_row(&line);
        }
        samples
    }

    /// Adds a row: client, size, index, round-trip time, scheduled time, and more.
    fn add_row(&mut self, line: &str) {
        let mut cells = line.split(',');
        let mut next = || cells.next().unwrap_or("").parse::<f64>().ok();
        let (client, size, index, rtt, scheduled) = (next(), next(), next(), next(), next());
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
        if let Some(scheduled) = scheduled {
            self.at_s.push(scheduled / 1e9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_first_messages_and_losses_are_kept_apart() {
        let mut samples = RoundTripSamples::default();
        for row in [
            "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns",
            "0,64,0,90000,,,,",
            "0,64,1,50000,,,,",
            "0,64,2,,,,,",
            "1,64,1,60000,1500000000,20,,",
        ] {
            samples.add_row(row);
        }
        assert_eq!(samples.rtt_ns, [50_000.0, 60_000.0]);
        assert_eq!(samples.client, [0.0, 1.0]);
        assert_eq!(
            (samples.first_ns, samples.at_s),
            (vec![90_000.0], vec![1.5])
        );
    }
}
