//! Networks that need no file.

use std::time::Duration;

use super::file::{BucketFile, HostFile, LinkFile, QueueFile, SwitchFile, TopologyFile};
use super::scalar::{Bytes, Rate, Share, Time};
use caudal_core::units::{BitRate, ByteCount};

/// A network that is known by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// What its number counts, and which it is when left out; `None` when it takes none.
    pub number: Option<(&'static str, usize)>,
    make: fn(usize) -> TopologyFile,
}

/// The most a preset's number may be.
const MOST: usize = 100;

/// All presets.
pub const PRESETS: [Preset; 7] = [
    Preset {
        name: "pair",
        about: "two hosts and one link of 100 Mbit/s",
        number: None,
        make: pair,
    },
    Preset {
        name: "line",
        about: "two hosts with N routers between them, links of 100 Mbit/s and 1 ms",
        number: Some(("routers", 2)),
        make: line,
    },
    Preset {
        name: "dumbbell",
        about: "N hosts on either side of one bottleneck of 10 Mbit/s and 10 ms",
        number: Some(("hosts a side", 2)),
        make: dumbbell,
    },
    Preset {
        name: "star",
        about: "N hosts on a switch, links of 10 Mbit/s; --set '*.duplex=half' makes them half duplex",
        number: Some(("hosts", 3)),
        make: star,
    },
    Preset {
        name: "policed",
        about: "two hosts and a router that lets 15 of 100 Mbit/s in",
        number: None,
        make: policed,
    },
    Preset {
        name: "two-paths",
        about: "two hosts, and two links of 50 Mbit/s side by side between two routers, balanced per flow",
        number: None,
        make: two_paths,
    },
    Preset {
        name: "wan",
        about: "two sites 40 ms apart: 50 Mbit/s with a little jitter and loss",
        number: None,
        make: wan,
    },
];

impl Preset {
    /// The preset called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        PRESETS.into_iter().find(|preset| preset.name == name)
    }

    /// Its topology with `number` of what it counts.
    ///
    /// # Errors
    /// In words, when it takes no number or not this one.
    pub fn file(self, number: Option<usize>) -> Result<TopologyFile, String> {
        match (self.number, number) {
            (None, Some(_)) => Err(format!("preset {} takes no number", self.name)),
            (Some((what, _)), Some(number)) if !(1..=MOST).contains(&number) => Err(format!(
                "preset {} takes 1 to {MOST} {what}, not {number}",
                self.name
            )),
            (Some((_, usual)), number) => Ok((self.make)(number.unwrap_or(usual))),
            (None, None) => Ok((self.make)(0)),
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

fn mbit(rate: u64) -> Option<Rate> {
    Some(Rate(BitRate::from_bps(rate * 1_000_000)))
}

fn ms(time: u64) -> Option<Time> {
    Some(Time(Duration::from_millis(time)))
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
        rate: Rate(BitRate::from_bps(15_000_000)),
        burst: Some(Bytes(ByteCount::new(30_000))),
        measure: None,
    };
    TopologyFile {
        host: vec![node("h1"), node("h2")],
        router: vec![node("r1")],
        link: vec![
            LinkFile {
                rate: mbit(100),
                forward: Some(super::file::CourseFile {
                    policer: Some(policer),
                    ..super::file::CourseFile::default()
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
    use super::file::{DistributionFile, JitterFile};
    let jitter = JitterFile {
        distribution: DistributionFile::Normal,
        mean: Some(Time(Duration::from_micros(500))),
        deviation: Some(Time(Duration::from_micros(200))),
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
                loss: Some(Share(0.0001)),
                queue: Some(QueueFile {
                    bytes: Some(Bytes(ByteCount::new(250_000))),
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
    use super::super::Topology;
    use super::*;

    #[test]
    fn every_preset_can_be_built_at_its_least_and_most() {
        for preset in PRESETS {
            let numbers: &[Option<usize>] = match preset.number {
                Some(_) => &[None, Some(1), Some(MOST)],
                None => &[None],
            };
            for number in numbers {
                let file = preset.file(*number).unwrap();
                let topology = Topology::resolve(&file);
                assert!(topology.is_ok(), "{} {number:?}: {topology:?}", preset.name);
            }
            assert!(preset.file(Some(0)).is_err());
            assert!(preset.file(Some(MOST + 1)).is_err());
        }
        assert!(Preset::by_name("ring").is_none());
    }
}
