//! One figure of each kind, with data like that of measurements, missing values included.

use caudal_plot::{Axis, AxisQuantity, Bar, Figure, FiveNumbers, Layer};

/// Pseudorandom numbers between 0 and 1 from a fixed seed.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        // Source: Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An approximately normal number of mean 0 and standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }

    /// Round-trip times around a median, with a long tail.
    fn delays(&mut self, middle: f64, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| {
                middle * (0.15 * self.normal()).exp() * if self.next() > 0.97 { 3.0 } else { 1.0 }
            })
            .collect()
    }
}

fn figure(title: &str, x: Axis, y: Axis, layers: Vec<Layer>) -> Figure {
    Figure {
        title: title.to_owned(),
        description: format!("{title}. Made-up data of the shape that measurements have."),
        x,
        y,
        layers,
        size: Figure::SIZE,
        note: None,
    }
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Layer {
    Layer::Line {
        name: name.to_owned(),
        points,
    }
}

fn seconds(label: &str) -> Axis {
    Axis::linear(label, AxisQuantity::Seconds)
}

fn rate(label: &str) -> Axis {
    Axis::linear(label, AxisQuantity::Rate).from_zero()
}

/// All figures, with the names of their files.
pub fn all() -> Vec<(&'static str, Figure)> {
    vec![
        ("lines", lines()),
        ("eight", eight()),
        ("steps", steps()),
        ("band", band()),
        ("stack", stack()),
        ("points", points()),
        ("points-eight", points_eight()),
        ("boxes", boxes()),
        ("boxes-log", boxes_log()),
        ("bars", bars()),
        ("bars-eight", bars_eight()),
        ("bars-lying", bars_lying()),
        ("bars-slanted", bars_slanted()),
        ("intervals", intervals()),
        ("forest", forest()),
        ("cdf", cdf()),
        ("many", many()),
        ("empty", empty()),
    ]
}

/// One second of a flow.
fn goodput(noise: &mut Noise, second: usize, udp: bool) -> f64 {
    let busy = (8..16).contains(&second);
    let level = match (udp, busy) {
        (true, true) => 119e6,
        (true, false) => f64::NAN,
        (false, true) => 0.6e6,
        (false, false) => 241e6,
    };
    let value = level + noise.normal() * if busy && !udp { 0.3e6 } else { 3e6 };
    if value < 0.0 { 0.0 } else { value }
}

fn lines() -> Figure {
    let mut noise = Noise(7);
    let mut flow = |udp: bool, hole: usize| -> Vec<(f64, f64)> {
        (0..24)
            .map(|second| {
                let value = goodput(&mut noise, second, udp);
                let value = if second == hole { f64::NAN } else { value };
                (second as f64 + 0.5, value)
            })
            .collect()
    };
    figure(
        "Goodput of one TCP and two UDP flows through 250 Mbit/s",
        seconds("time").including(&[0.0, 24.0]),
        rate("goodput").including(&[250e6]),
        vec![
            line("TCP 1 (cubic)", flow(false, 4)),
            line("UDP 1 at 125 Mbit/s", flow(true, 99)),
            line("UDP 2 at 125 Mbit/s", flow(true, 12)),
            Layer::Rule {
                at: 250e6,
                label: "the link's rate".to_owned(),
            },
            Layer::Event {
                at: 8.0,
                label: "UDP begins".to_owned(),
            },
            Layer::Event {
                at: 16.0,
                label: "UDP ends".to_owned(),
            },
        ],
    )
}

fn eight() -> Figure {
    let mut noise = Noise(3);
    let layers = (0..8)
        .map(|nth| {
            let points = (0..=60)
                .map(|second| {
                    let level = 8e6 + f64::from(nth) * 5.5e6 + noise.normal() * 0.8e6;
                    (f64::from(second), level)
                })
                .collect();
            line(&format!("flow {} from 10.0.{nth}.2", nth + 1), points)
        })
        .collect();
    figure(
        "Eight TCP flows that do not share evenly",
        seconds("time"),
        rate("goodput"),
        layers,
    )
}

fn steps() -> Figure {
    let mut noise = Noise(5);
    let mut window = 14_480.0;
    let mut points = Vec::new();
    for round in 0..240 {
        let time = f64::from(round) * 0.05;
        let here = if (120..128).contains(&round) {
            f64::NAN
        } else {
            window
        };
        points.push((time, here));
        window = if window > 600e3 + noise.normal() * 40e3 {
            window * 0.7
        } else if window < 200e3 {
            window * 1.9
        } else {
            window + 14_480.0
        };
    }
    points.push((12.0, f64::NAN));
    figure(
        "Congestion window of a cubic flow on 100 Mbit/s and 40 ms",
        seconds("time"),
        Axis::linear("congestion window", AxisQuantity::Bytes).from_zero(),
        vec![
            Layer::Step {
                name: "congestion window".to_owned(),
                points,
            },
            Layer::Rule {
                at: 500e3,
                label: "bandwidth × delay".to_owned(),
            },
            Layer::Mark {
                at: (0.3, 600e3),
                label: "slow start ends".to_owned(),
            },
        ],
    )
}

fn band() -> Figure {
    let mut noise = Noise(11);
    let (mut middle, mut spread) = (Vec::new(), Vec::new());
    for second in 0..60 {
        let time = f64::from(second) + 0.5;
        let level = 0.020 + 0.015 * (f64::from(second) / 9.0).sin().max(0.0);
        let least = level * (0.9 + 0.02 * noise.normal());
        let most = level * (1.3 + 0.1 * noise.normal().abs());
        let hole = (41..45).contains(&second) || second == 50 || second == 52;
        let seen = |value: f64| if hole { f64::NAN } else { value };
        middle.push((time, seen(level)));
        spread.push((time, seen(least), seen(most)));
    }
    let name = "round-trip time: median, least to greatest".to_owned();
    figure(
        "Round-trip time while the queue fills",
        seconds("time").including(&[0.0, 60.0]),
        Axis::linear("round-trip time", AxisQuantity::Seconds).from_zero(),
        vec![
            Layer::Band {
                name: name.clone(),
                points: spread,
            },
            Layer::Line {
                name,
                points: middle,
            },
            Layer::Event {
                at: 41.0,
                label: "the path changes".to_owned(),
            },
        ],
    )
}

fn stack() -> Figure {
    let mut noise = Noise(13);
    let mut part = |level: [f64; 3]| -> Vec<f64> {
        (0..30)
            .map(|second| {
                let level = level[second / 10] * (1.0 + 0.03 * noise.normal());
                if second == 17 { f64::NAN } else { level }
            })
            .collect()
    };
    let parts = vec![
        ("TCP".to_owned(), part([0.93, 0.28, 0.004])),
        ("UDP 1".to_owned(), part([0.0, 0.65, 0.48])),
        ("UDP 2".to_owned(), part([0.0, 0.0, 0.47])),
    ];
    figure(
        "Share of the link, flow by flow",
        seconds("time"),
        Axis::linear("share of 250 Mbit/s", AxisQuantity::Percent).including(&[1.0]),
        vec![Layer::Stack {
            edges: (0..=30).map(f64::from).collect(),
            parts,
        }],
    )
}

fn points() -> Figure {
    let mut noise = Noise(17);
    let mut cloud = |name: &str, gap: f64, count: usize| Layer::Points {
        name: name.to_owned(),
        points: (0..count)
            .map(|_| {
                let sent = noise.next() * 10.0;
                (sent, gap * (0.2 * noise.normal()).exp())
            })
            .collect(),
    };
    figure(
        "Delay variation of datagrams on two paths",
        seconds("time"),
        Axis::log("delay above the least", AxisQuantity::Seconds),
        vec![cloud("path A", 80e-6, 120), cloud("path B", 900e-6, 120)],
    )
}

const SIZES: std::ops::RangeInclusive<u32> = 0..=16;

fn echo(noise: &mut Noise, clients: f64) -> Vec<FiveNumbers> {
    SIZES
        .filter(|power| *power != 9)
        .filter_map(|power| {
            let size = f64::from(1_u32 << power);
            let middle = clients * (110e-6 + size * 8.0 / 100e6 * 2.0);
            FiveNumbers::from_samples(f64::from(power), &noise.delays(middle, 60))
        })
        .collect()
}

fn boxes() -> Figure {
    let mut noise = Noise(19);
    let mut boxes = echo(&mut noise, 1.0);
    boxes.push(FiveNumbers::missing(9.0));
    Figure {
        note: Some(
            "Whiskers end at the last sample within 1.5 box heights; 60 messages for each size; the connection \
             of 512 B broke."
                .to_owned(),
        ),
        ..figure(
            "Round-trip time by message size, two clients on 100 Mbit/s",
            Axis::categories("message size", SIZES.map(size_name).collect()),
            Axis::log("round-trip time", AxisQuantity::Seconds),
            vec![Layer::Boxes {
                name: "round-trip time".to_owned(),
                boxes,
            }],
        )
    }
}

fn size_name(power: u32) -> String {
    if power < 10 {
        format!("{}\u{a0}B", 1 << power)
    } else {
        format!("{}\u{a0}K", 1 << (power - 10))
    }
}

fn boxes_log() -> Figure {
    let mut noise = Noise(23);
    let mut of = |name: &str, clients: f64| Layer::Boxes {
        name: name.to_owned(),
        boxes: [64.0, 512.0, 1448.0, 4096.0, 16_384.0, 65_536.0]
            .iter()
            .filter_map(|size| {
                let middle = clients * (110e-6 + size * 8.0 / 100e6 * 2.0);
                FiveNumbers::from_samples(*size, &noise.delays(middle, 200))
            })
            .collect(),
    };
    figure(
        "Round-trip time by message size and number of clients",
        Axis::log("message size", AxisQuantity::Bytes),
        Axis::log("round-trip time", AxisQuantity::Seconds),
        vec![of("2 clients", 1.0), of("8 clients", 3.4)],
    )
}

const CASES: [&str; 8] = ["A", "A2", "B1", "B2", "B3", "E", "G", "H1"];

fn three() -> Vec<Layer> {
    let mut noise = Noise(29);
    let predicted = [9.41, 6.24, 4.71, 9.41, 4.71, 3.12, 4.9, 2.35];
    let of = |name: &str, bars: Vec<Option<Bar>>| Layer::Bars {
        name: name.to_owned(),
        bars,
    };
    vec![
        of(
            "predicted",
            predicted
                .iter()
                .map(|rate| Some(Bar::new(rate * 1e6)))
                .collect(),
        ),
        of(
            "published",
            predicted
                .iter()
                .enumerate()
                .map(|(nth, rate)| (nth != 1 && nth != 6).then(|| Bar::new(rate * 0.94e6)))
                .collect(),
        ),
        of(
            "observed",
            predicted
                .iter()
                .enumerate()
                .map(|(nth, rate)| {
                    let samples: Vec<f64> = (0..6)
                        .map(|_| rate * 1e6 * (0.95 + 0.03 * noise.normal()))
                        .collect();
                    let mean = samples.iter().sum::<f64>() / 6.0;
                    (nth != 7).then_some(Bar {
                        value: mean,
                        interval: Some((mean * 0.96, mean * 1.04)),
                        samples,
                    })
                })
                .collect(),
        ),
    ]
}

fn bars() -> Figure {
    figure(
        "Goodput on 10 Mbit/s half duplex: predicted, published, observed",
        Axis::categories("case", CASES.iter().map(ToString::to_string).collect()),
        rate("goodput"),
        three(),
    )
}

fn bars_eight() -> Figure {
    let layers = (0..8_u32)
        .map(|nth| Layer::Bars {
            name: format!("{} clients", 1 << nth),
            bars: (0..3_u32)
                .map(|size| {
                    let value = 1e-3 * f64::from(1 + nth) * f64::from(1 + size * size);
                    Some(Bar {
                        interval: Some((value * 0.93, value * 1.1)),
                        ..Bar::new(value)
                    })
                })
                .collect(),
        })
        .collect();
    figure(
        "Mean round-trip time by message size and number of clients",
        Axis::categories(
            "message size",
            ["1 KiB", "16 KiB", "64 KiB"]
                .map(ToOwned::to_owned)
                .to_vec(),
        ),
        seconds("round-trip time"),
        layers,
    )
}

fn points_eight() -> Figure {
    let layers = (0..8_u32)
        .map(|nth| Layer::Points {
            name: format!("path {nth}"),
            points: (0..12_u32)
                .map(|n| {
                    let loss = 0.001 * f64::from(n + 1);
                    (loss, 1e7 * f64::from(nth + 1) / (1.0 + loss * 80.0))
                })
                .collect(),
        })
        .collect();
    figure(
        "Goodput by loss on eight paths",
        Axis::linear("loss", AxisQuantity::Percent),
        rate("goodput"),
        layers,
    )
}

fn long_names() -> Vec<String> {
    [
        "TCP alone, full duplex",
        "TCP in blocks of 100 bytes",
        "TCP against TCP, first link half duplex",
        "TCP against TCP, second link half duplex",
        "TCP and UDP, same direction",
        "UDP alone",
        "UDP against UDP, opposite directions",
        "UDP and TCP, all links half duplex",
    ]
    .iter()
    .map(ToString::to_string)
    .collect()
}

fn bars_lying() -> Figure {
    figure(
        "Goodput by case, names in full",
        rate("goodput"),
        Axis::categories("", long_names()),
        three(),
    )
}

fn bars_slanted() -> Figure {
    figure(
        "Goodput by case, names aslant",
        Axis::categories("case", long_names()),
        rate("goodput"),
        three(),
    )
}

fn intervals() -> Figure {
    let loads = [0.0, 20.0, 40.0, 60.0, 80.0, 90.0, 100.0, 120.0];
    let of = |name: &str, hit: f64| Layer::Intervals {
        name: name.to_owned(),
        points: loads
            .iter()
            .map(|load| {
                let left = (240e6 * (1.0 - load / hit)).max(0.4e6);
                let around = (left * 0.9, left * 1.1);
                (load / 100.0, left, (*load < 120.0).then_some(around))
            })
            .collect(),
    };
    figure(
        "What UDP load leaves to TCP",
        Axis::linear("UDP load as a share of the link", AxisQuantity::Percent),
        rate("TCP goodput"),
        vec![
            of("cubic", 101.0),
            of("bbr", 118.0),
            Layer::Event {
                at: 1.0,
                label: "starvation begins (cubic)".to_owned(),
            },
            Layer::Rule {
                at: 24e6,
                label: "a tenth of the goodput alone".to_owned(),
            },
        ],
    )
}

fn forest() -> Figure {
    let rows: [(f64, Option<(f64, f64)>); 5] = [
        (0.02, Some((-0.01, 0.05))),
        (-0.08, Some((-0.12, -0.03))),
        (0.15, Some((0.04, 0.27))),
        (0.01, None),
        (f64::NAN, None),
    ];
    figure(
        "Change from run A to run B, with 95 % intervals",
        Axis::linear("change", AxisQuantity::Percent).including(&[0.0]),
        Axis::categories(
            "",
            [
                "goodput, up",
                "goodput, down",
                "round-trip time",
                "loss",
                "retransmits",
            ]
            .iter()
            .map(ToString::to_string)
            .collect(),
        ),
        vec![
            Layer::Event {
                at: 0.0,
                label: "no change".to_owned(),
            },
            Layer::Intervals {
                name: "B against A".to_owned(),
                points: rows
                    .iter()
                    .enumerate()
                    .map(|(nth, (change, interval))| (*change, nth as f64, *interval))
                    .collect(),
            },
        ],
    )
}

fn cdf() -> Figure {
    let mut noise = Noise(31);
    let idle = noise.delays(0.8e-3, 5000);
    let busy = noise.delays(14e-3, 5000);
    let quantile = |samples: &[f64], part: f64| {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[(part * (sorted.len() - 1) as f64) as usize]
    };
    let marks = [("p50", 0.5), ("p99", 0.99)].map(|(name, part)| Layer::Mark {
        at: (quantile(&busy, part), part),
        label: format!("{name} {:.1} ms", quantile(&busy, part) * 1e3),
    });
    let mut layers = vec![Layer::cdf("idle", &idle), Layer::cdf("under load", &busy)];
    layers.extend(marks);
    figure(
        "Round-trip times, idle and under load",
        Axis::log("round-trip time", AxisQuantity::Seconds),
        Axis::linear("share of the round trips", AxisQuantity::Percent),
        layers,
    )
}

fn many() -> Figure {
    let mut noise = Noise(37);
    let mut delays = noise.delays(0.5e-3, 36_000);
    delays[20_000] = 12e-3;
    delays[25_000] = 0.0;
    figure(
        "Each of 36 000 round trips",
        seconds("time"),
        Axis::log("round-trip time", AxisQuantity::Seconds),
        vec![Layer::Points {
            name: "round trip".to_owned(),
            points: delays
                .iter()
                .enumerate()
                .map(|(nth, delay)| (nth as f64 / 600.0, *delay))
                .collect(),
        }],
    )
}

fn empty() -> Figure {
    figure(
        "A run without a single report",
        seconds("time"),
        rate("goodput"),
        vec![line("TCP", vec![(0.5, f64::NAN), (1.5, f64::NAN)])],
    )
}
