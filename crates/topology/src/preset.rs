//! Predefined topologies.

use std::time::Duration;

use crate::file::{
    BucketFile, DistributionFile, HostFile, ImpairmentsFile, JitterFile, LinkFile, QueueFile,
    SwitchFile, TopologyFile,
};
use crate::scalar::{ByteValue, FractionValue, RateValue, TimeValue};
use caudal_core::units::{BitRate, ByteCount};

/// A predefined topology.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The number it takes; `None` when it takes none.
    pub parameter: Option<PresetParameter>,
    build: fn(usize) -> TopologyFile,
}

/// The number that a preset takes.
#[derive(Debug, Clone, Copy)]
pub struct PresetParameter {
    /// The plural noun of what it counts.
    pub counts: &'static str,
    /// The number when none is given.
    pub default: usize,
}

/// A number that a preset does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    /// The preset takes no number.
    #[error("preset {0} takes no number")]
    NoNumber(&'static str),
    /// The number is out of range.
    #[error("preset {preset} takes 1 to {MAX_NUMBER} {counts}, not {number}")]
    OutOfRange {
        /// The name of the preset.
        preset: &'static str,
        /// The things that the number counts.
        counts: &'static str,
        /// The number that was given.
        number: usize,
    },
}

/// Maximum number of any preset.
const MAX_NUMBER: usize = 100;

/// All presets.
pub const PRESETS: [Preset; 7] = [
    Preset {
        name: "pair",
        about: "two hosts and one link of 100 Mbit/s",
        parameter: None,
        build: pair,
    },
    Preset {
        name: "line",
        about: "two hosts with N routers between them, links of 100 Mbit/s and 1 ms",
        parameter: Some(PresetParameter {
            counts: "routers",
            default: 2,
        }),
        build: line,
    },
    Preset {
        name: "dumbbell",
        about: "N hosts on either side of one bottleneck of 10 Mbit/s and 10 ms",
        parameter: Some(PresetParameter {
            counts: "hosts a side",
            default: 2,
        }),
        build: dumbbell,
    },
    Preset {
        name: "star",
        about: "N hosts on a switch, links of 10 Mbit/s",
        parameter: Some(PresetParameter {
            counts: "hosts",
            default: 3,
        }),
        build: star,
    },
    Preset {
        name: "policed",
        about: "two hosts and a router that polices 100 Mbit/s to 15",
        parameter: None,
        build: policed,
    },
    Preset {
        name: "two-paths",
        about: "two hosts, and two links of 50 Mbit/s side by side between two routers, balanced per flow",
        parameter: None,
        build: two_paths,
    },
    Preset {
        name: "wan",
        about: "two sites 40 ms apart: 50 Mbit/s with a little jitter and loss",
        parameter: None,
        build: wan,
    },
];

impl Preset {
    /// The preset called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        PRESETS.into_iter().find(|preset| preset.name == name)
    }

    /// Its topology, with `number` in place of the default of its parameter.
    ///
    /// # Errors
    /// When it takes no number, or not this one.
    pub fn file(self, number: Option<usize>) -> Result<TopologyFile, PresetError> {
        match (self.parameter, number) {
            (None, Some(_)) => Err(PresetError::NoNumber(self.name)),
            (None, None) => Ok((self.build)(0)),
            (Some(parameter), number) => {
                let number = number.unwrap_or(parameter.default);
                if !(1..=MAX_NUMBER).contains(&number) {
                    return Err(PresetError::OutOfRange {
                        preset: self.name,
                        counts: parameter.counts,
                        number,
                    });
                }
                Ok((self.build)(number))
            }
        }
    }
}

fn node(name: impl Into<String>) -> HostFile {
    HostFile {
        name: name.into(),
        ..HostFile::default()
    }
}

fn between(one: impl Into<String>, other: impl Into<String>) -> LinkFile {
    LinkFile {
        between: [one.into(), other.into()],
        ..LinkFile::default()
    }
}

fn mbit(rate: u64) -> Option<RateValue> {
    Some(RateValue(BitRate::from_bps(rate * 1_000_000)))
}

fn ms(time: u64) -> Option<TimeValue> {
    Some(TimeValue(Duration::from_millis(time)))
}

fn titled(name: &str) -> TopologyFile {
    TopologyFile {
        title: Preset::by_name(name).map(|preset| preset.about.to_owned()),
        congestion: Some("cubic".to_owned()),
        ..TopologyFile::default()
    }
}

fn pair(_: usize) -> TopologyFile {
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        link: vec![LinkFile {
            rate: mbit(100),
            ..between("h1", "h2")
        }],
        ..titled("pair")
    }
}

fn line(routers: usize) -> TopologyFile {
    let mut names = vec!["h1".to_owned()];
    names.extend((1..=routers).map(|number| format!("r{number}")));
    names.push("h2".to_owned());
    let link = |pair: &[String]| LinkFile {
        rate: mbit(100),
        delay: ms(1),
        ..between(&pair[0], &pair[1])
    };
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        router: names[1..=routers].iter().map(node).collect(),
        link: names.windows(2).map(link).collect(),
        title: Some(format!(
            "two hosts with {routers} routers between them, links of 100 Mbit/s and 1 ms"
        )),
        ..titled("line")
    }
}

fn dumbbell(hosts: usize) -> TopologyFile {
    let number = |side: usize, host: usize| format!("h{}", side * hosts + host);
    let mut link = vec![LinkFile {
        name: Some("bottleneck".to_owned()),
        rate: mbit(10),
        delay: ms(10),
        ..between("r1", "r2")
    }];
    for side in 0..2 {
        for host in 1..=hosts {
            link.push(between(number(side, host), format!("r{}", side + 1)));
        }
    }
    TopologyFile {
        host: (1..=2 * hosts)
            .map(|host| node(format!("h{host}")))
            .collect(),
        router: vec![node("r1"), node("r2")],
        link,
        title: Some(format!(
            "{hosts} hosts on either side of one bottleneck of 10 Mbit/s and 10 ms"
        )),
        ..titled("dumbbell")
    }
}

fn star(hosts: usize) -> TopologyFile {
    let names = || (1..=hosts).map(|host| format!("h{host}"));
    let link = |name| LinkFile {
        rate: mbit(10),
        ..between(name, "s1")
    };
    TopologyFile {
        host: names().map(node).collect(),
        switch: vec![SwitchFile {
            name: "s1".to_owned(),
            ..SwitchFile::default()
        }],
        link: names().map(link).collect(),
        title: Some(format!("{hosts} hosts on a switch, links of 10 Mbit/s")),
        ..titled("star")
    }
}

fn policed(_: usize) -> TopologyFile {
    let policer = BucketFile {
        rate: RateValue(BitRate::from_bps(15_000_000)),
        burst: Some(ByteValue(ByteCount::new(30_000))),
        measure: None,
    };
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        router: vec![node("r1")],
        link: vec![
            LinkFile {
                rate: mbit(100),
                forward: Some(ImpairmentsFile {
                    policer: Some(policer),
                    ..ImpairmentsFile::default()
                }),
                ..between("h1", "r1")
            },
            LinkFile {
                rate: mbit(100),
                ..between("r1", "h2")
            },
        ],
        ..titled("policed")
    }
}

fn two_paths(_: usize) -> TopologyFile {
    let path = |name: &str| LinkFile {
        name: Some(name.to_owned()),
        rate: mbit(50),
        delay: ms(5),
        ..between("r1", "r2")
    };
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        router: vec![node("r1"), node("r2")],
        link: vec![
            between("h1", "r1"),
            path("upper"),
            path("lower"),
            between("r2", "h2"),
        ],
        ..titled("two-paths")
    }
}

fn wan(_: usize) -> TopologyFile {
    let jitter = JitterFile {
        distribution: DistributionFile::Normal,
        mean: Some(TimeValue(Duration::from_micros(500))),
        deviation: Some(TimeValue(Duration::from_micros(200))),
        delay: None,
        low: None,
        high: None,
        least: None,
        exponent: None,
        keep_order: None,
    };
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        router: vec![node("r1"), node("r2")],
        link: vec![
            LinkFile {
                rate: mbit(1000),
                ..between("h1", "r1")
            },
            LinkFile {
                name: Some("wan".to_owned()),
                rate: mbit(50),
                delay: ms(20),
                jitter: Some(jitter),
                loss: Some(FractionValue(0.0001)),
                queue: Some(QueueFile {
                    bytes: Some(ByteValue(ByteCount::new(250_000))),
                    ..QueueFile::default()
                }),
                ..between("r1", "r2")
            },
            LinkFile {
                rate: mbit(1000),
                ..between("r2", "h2")
            },
        ],
        ..titled("wan")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    #[test]
    fn every_preset_can_be_built_with_its_smallest_and_largest_number() {
        for preset in PRESETS {
            let numbers: &[Option<usize>] = match preset.parameter {
                Some(_) => &[None, Some(1), Some(MAX_NUMBER)],
                None => &[None],
            };
            for number in numbers {
                let file = preset.file(*number).unwrap();
                let topology = Topology::resolve(&file);
                assert!(topology.is_ok(), "{} {number:?}: {topology:?}", preset.name);
            }
            assert!(preset.file(Some(0)).is_err());
            assert!(preset.file(Some(MAX_NUMBER + 1)).is_err());
        }
        assert!(Preset::by_name("ring").is_none());
    }
}
