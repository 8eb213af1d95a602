//! What holds for all figures: whole files, texts apart, holes seen.

use super::draw::BOLD;
use super::text::width;
use super::*;
use proptest::prelude::*;

fn figure(layers: Vec<Layer>) -> Figure {
    Figure {
        title: "TCP goodput by loss".to_owned(),
        description: "Predictions".to_owned(),
        x: Axis::log("loss", Quantity::Percent),
        y: Axis::log("goodput", Quantity::Rate),
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

/// An element of a picture: its name, its attributes, and the text in it up to the next tag.
struct Element<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    text: &'a str,
}

impl Element<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }
}

/// Reads XML as strictly as a program would: the elements in their order, or what is wrong.
fn elements(xml: &str) -> Result<Vec<Element<'_>>, String> {
    let allowed = |c: char| c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}' || "\t\n\r".contains(c);
    if let Some(c) = xml.chars().find(|c| !allowed(*c)) {
        return Err(format!("{c:?} is not allowed"));
    }
    let escaped = |text: &str| {
        text.split('&').skip(1).all(|rest| {
            ["amp;", "lt;", "gt;", "quot;"]
                .iter()
                .any(|entity| rest.starts_with(entity))
        })
    };
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let mut rest = xml
        .strip_prefix('<')
        .ok_or("text before the first element")?;
    loop {
        let (tag, text) = rest.split_once('>').ok_or("a tag without end")?;
        let (text, next) = text
            .split_once('<')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        if !escaped(text) || tag.contains('<') {
            return Err(format!("markup in {text:?} or {tag:?}"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing"));
            }
        } else {
            let (body, alone) = tag
                .strip_suffix('/')
                .map_or((tag, false), |body| (body, true));
            let (name, mut list) = body.split_once(' ').unwrap_or((body, ""));
            let mut attributes = Vec::new();
            while !list.trim().is_empty() {
                let (key, value) = list.split_once("=\"").ok_or(format!("{list:?} in a tag"))?;
                let (value, after) = value.split_once('"').ok_or("a quote is open")?;
                if !escaped(value) || attributes.iter().any(|(known, _)| *known == key.trim()) {
                    return Err(format!("attribute {key} in {tag:?}"));
                }
                attributes.push((key.trim(), value));
                list = after;
            }
            found.push(Element {
                name,
                attributes,
                text,
            });
            if !alone {
                open.push(name);
            }
        }
        match next {
            Some(next) => rest = next,
            None if open.is_empty() && text.trim().is_empty() => return Ok(found),
            None => {
                return Err(format!(
                    "left open: {open:?}, or text after the end: {text:?}"
                ));
            }
        }
    }
}

/// The corners of a text's box, by the width table.
fn corners(element: &Element) -> [(f64, f64); 4] {
    let words = element
        .text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    let size: f64 = element.get("font-size").unwrap().parse().unwrap();
    let bold = if element.get("class") == Some("t") {
        BOLD
    } else {
        1.0
    };
    let wide = width(&words, size) * bold;
    let left = match element.get("text-anchor").unwrap() {
        "start" => 0.0,
        "middle" => -wide / 2.0,
        _ => -wide,
    };
    let (at, angle) = if let Some(transform) = element.get("transform") {
        let numbers: Vec<f64> = transform
            .split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().unwrap())
            .collect();
        ((numbers[0], numbers[1]), numbers[2].to_radians())
    } else {
        let number = |name: &str| element.get(name).unwrap().parse::<f64>().unwrap();
        ((number("x"), number("y")), 0.0)
    };
    let (top, bottom) = (-0.8 * size, 0.2 * size);
    [
        (left, top),
        (left + wide, top),
        (left + wide, bottom),
        (left, bottom),
    ]
    .map(|(x, y)| {
        (
            at.0 + x * angle.cos() - y * angle.sin(),
            at.1 + x * angle.sin() + y * angle.cos(),
        )
    })
}

/// Whether a line between two boxes exists, with half a pixel for rounding.
fn apart(a: &[(f64, f64); 4], b: &[(f64, f64); 4]) -> bool {
    [a, b].iter().any(|of| {
        [(0, 1), (1, 2)].iter().any(|(from, to)| {
            let (x, y) = (of[*to].0 - of[*from].0, of[*to].1 - of[*from].1);
            let length = x.hypot(y).max(1e-9);
            let along = |corners: &[(f64, f64); 4]| {
                let places = corners.map(|corner| (corner.0 * x + corner.1 * y) / length);
                (
                    places.into_iter().fold(f64::INFINITY, f64::min),
                    places.into_iter().fold(f64::NEG_INFINITY, f64::max),
                )
            };
            let (a, b) = (along(a), along(b));
            a.1 <= b.0 + 0.5 || b.1 <= a.0 + 0.5
        })
    })
}

/// What is wrong with a picture, if anything.
fn complaint(svg: &str) -> Option<String> {
    let elements = match elements(svg) {
        Ok(elements) => elements,
        Err(wrong) => return Some(wrong),
    };
    for element in &elements {
        for (key, value) in &element.attributes {
            let number = *key != "aria-label" && (value.contains("NaN") || value.contains("inf"));
            if number {
                return Some(format!("{key}=\"{value}\""));
            }
        }
    }
    let size: Vec<f64> = elements[0]
        .get("viewBox")?
        .split(' ')
        .map(|part| part.parse().unwrap())
        .collect();
    let texts: Vec<_> = elements
        .iter()
        .filter(|element| element.name == "text" && !element.text.is_empty())
        .map(|element| (element.text, corners(element)))
        .collect();
    for (nth, (words, a)) in texts.iter().enumerate() {
        let inside = a
            .iter()
            .all(|(x, y)| (-0.5..=size[2] + 0.5).contains(x) && (-0.5..=size[3] + 0.5).contains(y));
        if !inside {
            return Some(format!("{words:?} leaves the picture: {a:?}"));
        }
        if let Some((other, _)) = texts[nth + 1..].iter().find(|(_, b)| !apart(a, b)) {
            return Some(format!("{words:?} is upon {other:?}"));
        }
    }
    None
}

/// Labels as people and enemies write them.
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
        .prop_map(|(value, interval, singles)| Bar {
            value,
            interval,
            singles,
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
        .prop_map(|(at, [low, q1, median, q3, high], singles)| FiveNumbers {
            at,
            low,
            q1,
            median,
            q3,
            high,
            singles,
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
        (number(ordinary), label()).prop_map(|(at, label)| Layer::Rule { at, label }),
        ((number(ordinary), number(ordinary)), label())
            .prop_map(|(at, label)| Layer::Mark { at, label }),
        (label(), prop::collection::vec(number(ordinary), 0..30))
            .prop_map(|(name, samples)| Layer::cdf(&name, &samples)),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let quantity = prop::sample::select(vec![
        Quantity::Rate,
        Quantity::Bytes,
        Quantity::Seconds,
        Quantity::Percent,
        Quantity::Number,
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
    fn any_labels_and_values_give_a_whole_file_with_texts_apart(
        (title, description, note) in (label(), label(), prop::option::of(label())),
        (x, y) in (axis(), axis()),
        layers in any::<bool>().prop_flat_map(|ordinary| prop::collection::vec(layer(ordinary), 0..9)),
        size in prop::sample::select(vec![(800, 450), (400, 300), (1600, 900), (0, 0)]),
    ) {
        let figure = Figure { title, description, x, y, layers, size, note };
        let wrong = complaint(&figure.svg().replacen(STYLE_SHEET, "", 1));
        prop_assert!(wrong.is_none(), "{wrong:?}");
    }
}

#[test]
fn the_check_of_pictures_finds_what_is_wrong() {
    let text = |x: f64, words: &str| {
        format!("<text font-size=\"12\" text-anchor=\"start\" x=\"{x}\" y=\"20\">{words}</text>")
    };
    let of = |inner: &str| format!("<svg viewBox=\"0 0 100 50\">{inner}</svg>\n");
    assert_eq!(
        complaint(&of(&(text(1.0, "one") + &text(50.0, "two")))),
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
        assert!(complaint(&bad).is_some(), "{bad}");
    }
}

#[test]
fn a_hole_breaks_the_line_and_a_lone_point_is_a_dot() {
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
fn every_kind_of_layer_shows_its_holes() {
    let nan = f64::NAN;
    let linear = |layer: Layer| Figure {
        x: Axis::linear("time", Quantity::Seconds),
        y: Axis::linear("rate", Quantity::Rate),
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
        y: Axis::linear("rate", Quantity::Rate),
        ..figure(vec![layer])
    };
    let bars = vec![Some(Bar::of(1.0)), None];
    let boxes = FiveNumbers::of(0.0, &[1.0, 2.0]).into_iter();
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
fn many_points_are_thinned_and_keep_their_extremes() {
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
fn the_height_grows_where_names_would_leave_no_room() {
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
        assert_eq!(complaint(&svg), None);
    }
    let small = figure(many[..2].to_vec()).inline_svg();
    assert!(small.contains("viewBox=\"0 0 800 450\""));
}

#[test]
fn the_same_figure_is_the_same_file() {
    let of = || figure(vec![series("a", &[(1e-4, 1e6), (1e-2, 1e5)])]).svg();
    assert_eq!(of(), of());
}
