//! The headline of a run: the few results that a list shows.

use serde::{Deserialize, Serialize};

use caudal_core::run::Run;

/// The most important results of a run, which a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The payload received, bit/s, all directions together.
    pub goodput_bps: Option<f64>,
    /// The fraction of datagrams or messages lost, 0 to 1.
    pub loss: Option<f64>,
    /// The mean round-trip time, µs.
    pub rtt_us: Option<f64>,
    /// Segments retransmitted.
    pub retransmits: Option<f64>,
}

impl From<&Run> for Headline {
    /// The headline of a run.
    ///
    /// Several directions are summed, and their round-trip times averaged. Of round-trip times by message size the smallest
    /// size counts. A search for a rate gives the rate found.
    fn from(run: &Run) -> Self {
        let directions = run.directions();
        let sum = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>());
        let mean = |values: Vec<f64>| {
            let count = values.len() as f64;
            sum(values).map(|sum| sum / count)
        };
        let over_repeats = || {
            let means = run.over_repeats.iter().filter_map(|over| over.goodput_bps);
            sum(means.map(|goodput| goodput.mean).collect())
        };
        let over_directions = || {
            let means = directions
                .iter()
                .filter_map(caudal_core::summary::DirectionSummary::goodput_mean);
            sum(means.collect())
        };
        let counts = directions
            .iter()
            .filter_map(|one| one.loss.as_ref())
            .filter(|loss| loss.is_complete());
        let (lost, sent) = counts.fold((None, None), |(lost, sent), loss| {
            let add = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
            (add(lost, loss.lost), add(sent, loss.sent))
        });
        let fraction = |lost: Option<u64>, sent: Option<u64>| {
            let sent = sent.filter(|sent| *sent > 0)?;
            Some(lost? as f64 / sent as f64)
        };
        let round_trips = run.round_trips();
        let smallest =
            round_trips.and_then(|summary| summary.sizes.iter().min_by_key(|size| size.size_bytes));
        let rtts = directions.iter().filter_map(|one| one.tcp?.rtt_mean_us);
        let retransmits = directions.iter().filter_map(|one| one.tcp?.retransmits);
        Self {
            goodput_bps: run
                .throughput()
                .and_then(|summary| summary.goodput_bps)
                .map(|goodput| goodput.mean)
                .or_else(over_repeats)
                .or_else(over_directions)
                .or_else(|| Some(run.search.as_ref()?.found.rate_bps? as f64)),
            loss: fraction(lost, sent).or_else(|| {
                let summary = round_trips?;
                fraction(Some(summary.lost), Some(summary.messages))
            }),
            rtt_us: mean(rtts.collect()).or_else(|| Some(smallest?.pooled.mean_us?.mean)),
            retransmits: sum(retransmits.map(|count| count as f64).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The headline of a document of the corpus, and the document.
    fn headline(name: &str) -> (Headline, Value) {
        let path = format!(
            "{}/../core/tests/corpus/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        let run: Run = serde_json::from_str(&text).unwrap();
        (Headline::from(&run), serde_json::from_str(&text).unwrap())
    }

    fn number(document: &Value, path: &str) -> f64 {
        document.pointer(path).and_then(Value::as_f64).unwrap()
    }

    #[test]
    fn several_directions_are_summed_and_their_round_trip_times_averaged() {
        let (shown, document) = headline("tcp-bidir");
        let each = |path: &str| {
            [0, 1].map(|n| number(&document, &format!("/summary/directions/{n}{path}")))
        };
        let sum = |values: [f64; 2]| values[0] + values[1];
        assert_eq!(shown.goodput_bps, Some(sum(each("/goodput_bps/mean"))));
        assert_eq!(shown.rtt_us, Some(sum(each("/tcp/rtt_mean_us")) / 2.0));
        assert_eq!(shown.retransmits, Some(sum(each("/tcp/retransmits"))));
        assert_eq!(shown.loss, None);
    }

    #[test]
    fn the_headline_of_each_kind_of_run_comes_from_its_summary() {
        let (shown, document) = headline("udp-down");
        let loss = "/summary/directions/0/loss";
        let lost = number(&document, &format!("{loss}/lost"));
        assert_eq!(
            shown.loss,
            Some(lost / number(&document, &format!("{loss}/sent")))
        );
        let (shown, document) = headline("rtt-tcp");
        assert_eq!(
            shown.rtt_us,
            Some(number(&document, "/summary/sizes/0/pooled/mean_us/mean"))
        );
        let lost = number(&document, "/summary/lost") / number(&document, "/summary/messages");
        assert_eq!(shown.loss, Some(lost));
        assert_eq!((shown.goodput_bps, shown.retransmits), (None, None));
        let (shown, document) = headline("lab-find-rate");
        assert_eq!(
            shown.goodput_bps,
            Some(number(&document, "/search/rate_bps"))
        );
    }
}
