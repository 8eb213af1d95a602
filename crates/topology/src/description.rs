//! Impairments as text for people.

use std::time::Duration;

use caudal_core::quantity::Unit;

use crate::impairments::{
    BucketSetup, DelayDistribution, Discipline, FrameOrder, Impairments, JitterSetup, QueueLimit,
    QueueSetup,
};

impl Impairments {
    /// Each effect on frames in a few words, such as `loss 1 %`: all that are present but a constant rate and the delay.
    #[must_use]
    pub fn descriptions(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(rate) = self.rate.as_ref().filter(|rate| rate.constant().is_none()) {
            found.push(format!("rate changes, at most {}", rate.max()));
        }
        if self.rate.is_some() {
            found.extend(queue(&self.queue));
        }
        found.extend(self.jitter.as_ref().map(jitter));
        found.extend(probability("loss", self.loss));
        if let Some(burst) = &self.burst_loss {
            found.push(format!(
                "burst loss {} (bad state {} of the time)",
                share(burst.loss_in_bad),
                share(burst.good_to_bad / (burst.good_to_bad + burst.bad_to_good))
            ));
        }
        if !self.lost_positions.is_empty() {
            found.push(format!(
                "{} frames lost by position",
                self.lost_positions.len()
            ));
        }
        found.extend(probability("damaged", self.corrupt));
        found.extend(probability("damaged undetected", self.corrupt_silently));
        found.extend(probability("duplicated", self.duplicate));
        if let Some(reorder) = &self.reorder {
            found.push(format!(
                "reordered {} by {}",
                share(reorder.probability),
                reorder.extent
            ));
        }
        found.extend(self.shaper.as_ref().map(|it| bucket("shaper", it)));
        found.extend(self.policer.as_ref().map(|it| bucket("policer", it)));
        if !self.paths.is_empty() {
            found.push(format!("{} parallel paths", self.paths.len()));
        }
        found
    }
}

fn share(fraction: f64) -> String {
    Unit::Share.show(fraction)
}

fn time(duration: Duration) -> String {
    Unit::Seconds.show(duration.as_secs_f64())
}

fn probability(name: &str, fraction: f64) -> Option<String> {
    (fraction > 0.0).then(|| format!("{name} {}", share(fraction)))
}

fn queue(queue: &QueueSetup) -> Option<String> {
    let limit = match queue.limit {
        QueueLimit::Frames(1) => "1 frame".to_owned(),
        QueueLimit::Frames(frames) => format!("{frames} frames"),
        QueueLimit::Bytes(bytes) => bytes.to_string(),
        QueueLimit::None if queue.discipline == Discipline::DropTail => return None,
        QueueLimit::None => "unlimited".to_owned(),
    };
    let discipline = match queue.discipline {
        Discipline::DropTail => format!("queue {limit}"),
        Discipline::Red { .. } => format!("RED queue {limit}"),
        Discipline::Codel { .. } => format!("CoDel queue {limit}"),
        Discipline::Dual { .. } => format!("dual queue {limit}"),
    };
    Some(match queue.ecn {
        true => format!("{discipline}, marks ECN"),
        false => discipline,
    })
}

fn jitter(jitter: &JitterSetup) -> String {
    let delay = match jitter.distribution {
        DelayDistribution::Constant(delay) => time(delay),
        DelayDistribution::Uniform(min, max) => format!("{} to {}", time(min), time(max)),
        DelayDistribution::Normal(mean, deviation) => {
            format!("normal {} ± {}", time(mean), time(deviation))
        }
        DelayDistribution::Pareto(min, _) => format!("Pareto from {}", time(min)),
    };
    match jitter.order {
        FrameOrder::Preserved => format!("jitter {delay}"),
        FrameOrder::Free => format!("jitter {delay}, reorders"),
    }
}

fn bucket(name: &str, bucket: &BucketSetup) -> String {
    format!("{name} {}, bucket {}", bucket.rate, bucket.burst)
}

#[cfg(test)]
mod tests {
    use crate::{Topology, TopologyFile};

    #[test]
    fn all_effects_but_rate_and_delay_are_described() {
        let described = |keys: &str| {
            let text = format!(
                "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
            );
            let file: TopologyFile = toml::from_str(&text).unwrap();
            Topology::resolve(&file).unwrap().links[0].directions[0]
                .descriptions()
                .join("; ")
        };
        let table = [
            ("delay = \"20ms\"", ""),
            ("rate = \"10M\", queue = { frames = 50 }", "queue 50 frames"),
            (
                "loss = \"1%\", jitter = { distribution = \"uniform\", low = \"0ms\", high = \"3ms\" }",
                "jitter 0 s to 3 ms; loss 1 %",
            ),
            ("corrupt_silently = 0.02", "damaged undetected 2 %"),
            (
                "policer = { rate = \"15M\", burst = \"64k\" }",
                "policer 15 Mbit/s, bucket 64 kB",
            ),
        ];
        for (keys, text) in table {
            assert_eq!(described(keys), text, "{keys}");
        }
    }
}
