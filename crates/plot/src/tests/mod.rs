//! Properties of all figures: valid SVG, text that does not overlap, visible gaps for missing values.

mod ladder;
mod path;
mod svg_check;

use super::*;
use proptest::prelude::*;
use svg_check::svg_error;

fn figure(layers: Vec<Layer>) -> Figure {
    Figure {
        title: "TCP goodput by loss".to_owned(),
        description: "Predictions".to_owned(),
        x: Axis::log("loss", AxisQuantity::Percent),
        y: Axis::log("goodput", AxisQuantity::Rate),
        layers,
        size: Figure::SIZE,
        note: None,
    }
}

fn series(name: &str, points: &[(f64, f64)]) -> Layer {
    Layer::Line {
        name: name.to_owned(),
        points: points.to_vec(),
    }
}

/// Labels as users and attackers write them.
fn label() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("</svg><script>&\"'\u{0}\u{1b}\u{ffff}".to_owned()),
        "[a-z]{1,9}( [a-z0-9]{1,9}){0,9}",
        ".{0,60}",
        "[A-Z]{80}",
    ]
}

/// Numbers as measurements give them, or any there are.
fn number(ordinary: bool) -> BoxedStrategy<f64> {
    let usual = prop_oneof![
        8 => 0.0..100.0,
        4 => (0_u8..40).prop_map(f64::from),
        1 => Just(f64::NAN),
    ];
    if ordinary {
        return usual.boxed();
    }
    let odd = prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1e299,
    ]);
    prop_oneof![any::<f64>(), -10.0..1000.0, usual, odd].boxed()
}

fn interval(ordinary: bool) -> impl Strategy<Value = Option<(f64, f64)>> {
    prop::option::of((number(ordinary), number(ordinary)))
}

fn layer(ordinary: bool) -> impl Strategy<Value = Layer> {
    let points = || prop::collection::vec((number(ordinary), number(ordinary)), 0..12);
    let bar = (
        number(ordinary),
        interval(ordinary),
        prop::collection::vec(number(ordinary), 0..4),
    )
        .prop_map(|(value, interval, samples)| Bar {
            value,
            interval,
            samples,
        });
    let five = (
        number(ordinary),
        [
            number(ordinary),
            number(ordinary),
            number(ordinary),
            number(ordinary),
            number(ordinary),
        ],
        prop::collection::vec(number(ordinary), 0..4),
    )
        .prop_map(|(at, [low, q1, median, q3, high], samples)| FiveNumbers {
            at,
            low,
            q1,
            median,
            q3,
            high,
            samples,
        });
    prop_oneof![
        (label(), points()).prop_map(|(name, points)| Layer::Line { name, points }),
        (label(), points()).prop_map(|(name, points)| Layer::Step { name, points }),
        (label(), points()).prop_map(|(name, points)| Layer::Points { name, points }),
        (
            label(),
            prop::collection::vec(
                (number(ordinary), number(ordinary), number(ordinary)),
                0..12
            )
        )
            .prop_map(|(name, points)| Layer::Band { name, points }),
        (
            prop::collection::vec(number(ordinary), 0..8),
            prop::collection::vec(
                (label(), prop::collection::vec(number(ordinary), 0..8)),
                0..4
            )
        )
            .prop_map(|(edges, parts)| Layer::Stack { edges, parts }),
        (label(), prop::collection::vec(five, 0..6))
            .prop_map(|(name, boxes)| Layer::Boxes { name, boxes }),
        (label(), prop::collection::vec(prop::option::of(bar), 0..6))
            .prop_map(|(name, bars)| Layer::Bars { name, bars }),
        (
            label(),
            prop::collection::vec(
                (number(ordinary), number(ordinary), interval(ordinary)),
                0..8
            )
        )
            .prop_map(|(name, points)| Layer::Intervals { name, points }),
        (number(ordinary), label()).prop_map(|(at, label)| Layer::Event { at, label }),
        (number(ordinary), number(ordinary), label()).prop_map(|(from, to, label)| Layer::Span {
            from,
            to,
            label
        }),
        (number(ordinary), label()).prop_map(|(at, label)| Layer::Rule { at, label }),
        ((number(ordinary), number(ordinary)), label())
            .prop_map(|(at, label)| Layer::Mark { at, label }),
        (label(), prop::collection::vec(number(ordinary), 0..30))
            .prop_map(|(name, samples)| Layer::cdf(&name, &samples)),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let quantity = prop::sample::select(vec![
        AxisQuantity::Rate,
        AxisQuantity::Bytes,
        AxisQuantity::Seconds,
        AxisQuantity::Percent,
        AxisQuantity::Number,
    ]);
    prop_oneof![
        3 => (label(), quantity, any::<bool>(), any::<bool>()).prop_map(|(label, quantity, log, zero)| {
            let scale = if log { Scale::Log } else { Scale::Linear };
            Axis { from_zero: zero, ..Axis::new(&label, quantity, scale) }
        }),
        1 => (label(), prop::collection::vec(label(), 0..30))
            .prop_map(|(label, names)| Axis::categories(&label, names)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_labels_and_values_give_valid_svg_without_overlapping_text(
        (title, description, note) in (label(), label(), prop::option::of(label())),
        (x, y) in (axis(), axis()),
        layers in any::<bool>().prop_flat_map(|ordinary| prop::collection::vec(layer(ordinary), 0..9)),
        size in prop::sample::select(vec![(800, 450), (400, 300), (1600, 900), (0, 0)]),
    ) {
        let figure = Figure { title, description, x, y, layers, size, note };
        let wrong = svg_error(&figure.svg().replacen(STYLE_SHEET, "", 1));
        prop_assert!(wrong.is_none(), "{wrong:?}");
    }
}

#[test]
fn the_check_of_svg_finds_errors() {
    let text = |x: f64, words: &str| {
        format!("<text font-size=\"12\" text-anchor=\"start\" x=\"{x}\" y=\"20\">{words}</text>")
    };
    let of = |inner: &str| format!("<svg viewBox=\"0 0 100 50\">{inner}</svg>\n");
    assert_eq!(
        svg_error(&of(&(text(1.0, "one") + &text(50.0, "two")))),
        None
    );
    for bad in [
        of(&(text(1.0, "one") + &text(12.0, "two"))),
        of(&text(90.0, "three")),
        of("<path d=\"M1 NaN\"/>"),
        of("<g>"),
        of("a & b"),
        of("<g a=\"1\" a=\"2\"/>"),
        of("\u{0}"),
    ] {
        assert!(svg_error(&bad).is_some(), "{bad}");
    }
}

#[test]
fn a_missing_value_interrupts_the_line_and_a_single_point_is_a_dot() {
    let nan = f64::NAN;
    let points = [
        (1.0, 1.0),
        (2.0, 2.0),
        (3.0, nan),
        (4.0, 4.0),
        (5.0, nan),
        (6.0, 6.0),
        (9.0, 9.0),
    ];
    let svg = figure(vec![series("gaps", &points)]).svg();
    let path = svg
        .lines()
        .find(|line| line.contains("<title>gaps"))
        .unwrap();
    assert_eq!(path.matches('M').count(), 2, "{path}");
    assert_eq!(svg.matches("<circle").count(), 1);
    let hidden = figure(vec![series("zero", &[(1.0, 0.0), (2.0, 2.0), (3.0, 4.0)])]).svg();
    assert!(hidden.contains("1 value not shown"), "{hidden}");
    let infinite = [(1.0, f64::INFINITY), (2.0, 2.0), (-3.0, 4.0), (4.0, nan)];
    let hidden = figure(vec![series("far", &infinite)]).svg();
    assert!(hidden.contains("2 values not shown"), "{hidden}");
}

#[test]
fn every_kind_of_layer_shows_missing_values() {
    let nan = f64::NAN;
    let linear = |layer: Layer| Figure {
        x: Axis::linear("time", AxisQuantity::Seconds),
        y: Axis::linear("rate", AxisQuantity::Rate),
        ..figure(vec![layer])
    };
    let pieces = |svg: &str, class: &str| {
        let found = svg
            .lines()
            .find(|line| line.contains(class) && line.contains("<title>"));
        found.map_or(0, |path| path.matches('M').count())
    };
    let name = "held".to_owned();
    let steps = vec![(0.0, 1.0), (1.0, nan), (2.0, 3.0), (3.0, nan)];
    let svg = linear(Layer::Step {
        name: name.clone(),
        points: steps,
    })
    .svg();
    assert_eq!(pieces(&svg, "class=\"l s0\""), 2, "{svg}");
    let spread = vec![
        (0.0, 1.0, 2.0),
        (1.0, 1.0, 3.0),
        (2.0, nan, 3.0),
        (3.0, 1.0, 2.0),
    ];
    let svg = linear(Layer::Band {
        name: name.clone(),
        points: spread,
    })
    .svg();
    assert_eq!(pieces(&svg, "class=\"a s0\""), 2, "{svg}");
    let parts = vec![
        ("a".to_owned(), vec![1.0, 1.0, 1.0]),
        ("b".to_owned(), vec![1.0, nan, 1.0]),
    ];
    let svg = linear(Layer::Stack {
        edges: vec![0.0, 1.0, 2.0, 3.0],
        parts,
    })
    .svg();
    assert_eq!(pieces(&svg, "class=\"y s0\""), 2, "{svg}");
    let places = |layer: Layer| Figure {
        x: Axis::categories("case", vec!["A".to_owned(), "B".to_owned(), "C".to_owned()]),
        y: Axis::linear("rate", AxisQuantity::Rate),
        ..figure(vec![layer])
    };
    let bars = vec![Some(Bar::new(1.0)), None];
    let boxes = FiveNumbers::from_samples(0.0, &[1.0, 2.0]).into_iter();
    let boxes = boxes.chain([FiveNumbers::missing(1.0)]).collect();
    let points = vec![(0.0, 1.0, None), (1.0, nan, None)];
    for (layer, dashes) in [
        (
            Layer::Bars {
                name: name.clone(),
                bars,
            },
            2,
        ),
        (
            Layer::Boxes {
                name: name.clone(),
                boxes,
            },
            1,
        ),
        (Layer::Intervals { name, points }, 1),
    ] {
        let svg = places(layer).svg();
        assert_eq!(
            svg.matches("<title>no data</title>").count(),
            dashes,
            "{svg}"
        );
        assert!(svg.contains(">no data</text>"));
        assert!(!svg.contains("not shown"), "a hole is no value: {svg}");
    }
}

#[test]
fn many_points_are_thinned_to_their_extremes() {
    let height = |n: u32| {
        if n == 777 {
            1e6
        } else {
            10.0 + f64::from(n % 7)
        }
    };
    let points: Vec<(f64, f64)> = (1..40_000).map(|n| (f64::from(n), height(n))).collect();
    let name = "noise".to_owned();
    for layer in [
        series("noise", &points),
        Layer::Step {
            name,
            points: points.clone(),
        },
    ] {
        let mut figure = figure(vec![layer]);
        (figure.x.scale, figure.y.scale) = (Scale::Linear, Scale::Linear);
        let svg = figure.svg();
        assert!(svg.len() < 60_000, "{}", svg.len());
        let path = svg
            .lines()
            .find(|line| line.contains("<title>noise"))
            .unwrap();
        let heights: Vec<f64> = path
            .split(['M', 'L'])
            .skip(1)
            .filter_map(|pair| pair.split([' ', '"']).nth(1)?.parse().ok())
            .collect();
        let least = heights.iter().copied().fold(f64::MAX, f64::min);
        let most = heights.iter().copied().fold(0.0, f64::max);
        assert!(
            most - least > 250.0,
            "the spike is drawn: {least} to {most}"
        );
    }
}

#[test]
fn layers_of_one_name_are_one_series() {
    let svg = figure(vec![
        Layer::Band {
            name: "TCP".to_owned(),
            points: vec![(1.0, 1.0, 3.0), (2.0, 2.0, 4.0)],
        },
        series("TCP", &[(1.0, 2.0), (2.0, 3.0)]),
        series("UDP", &[(1.0, 5.0), (2.0, 5.0)]),
    ])
    .svg();
    assert_eq!(svg.matches(">TCP</text>").count(), 1);
    assert!(svg.contains("a s0") && svg.contains("l s0") && svg.contains("l s1"));
}

#[test]
fn the_height_grows_where_names_need_room() {
    let many: Vec<Layer> = (0..40)
        .map(|n| {
            series(
                &format!("a series of some length, number {n}"),
                &[(1.0, 1.0), (2.0, 9.0)],
            )
        })
        .collect();
    for size in [(800, 450), (1600, 900), (400, 300)] {
        let svg = Figure {
            size,
            ..figure(many.clone())
        }
        .inline_svg();
        assert_eq!(svg_error(&svg), None);
    }
    let small = figure(many[..2].to_vec()).inline_svg();
    assert!(small.contains("viewBox=\"0 0 800 450\""));
}

#[test]
fn the_same_figure_gives_the_same_file() {
    let of = || figure(vec![series("a", &[(1e-4, 1e6), (1e-2, 1e5)])]).svg();
    assert_eq!(of(), of());
}
