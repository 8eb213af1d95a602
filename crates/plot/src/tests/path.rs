//! Properties of figures of paths.

use super::svg_check::svg_error;
use crate::{PathFigure, PathFigureHop, PathFigureLink, PathFigureMark};
use proptest::prelude::*;

fn hop(number: usize) -> PathFigureHop {
    PathFigureHop {
        link: PathFigureLink {
            label: "9.94 Mbit/s (9.70 to 10.20 Mbit/s), serialising".to_owned(),
            rate_bps: Some(9.94e6),
            is_narrow: false,
        },
        number: number.to_string(),
        name: "2001:db8:1111:2222:3333:4444:5555:6666".to_owned(),
        detail: "RTT 1.02 / 1.10 / 1.40 ms, loss 0 %".to_owned(),
        mark: PathFigureMark::Router,
    }
}

fn figure(width: u32, hops: Vec<PathFigureHop>) -> PathFigure {
    PathFigure {
        title: "Path to 192.0.2.1".to_owned(),
        description: "hops and links".to_owned(),
        width,
        source: "this machine".to_owned(),
        hops,
        note: None,
    }
}

fn any_hop() -> impl Strategy<Value = PathFigureHop> {
    let words = || prop_oneof![Just(String::new()), ".{0,120}", "[A-Z ]{0,40}"];
    let mark = prop_oneof![
        Just(PathFigureMark::Router),
        Just(PathFigureMark::Host),
        Just(PathFigureMark::Silent)
    ];
    let link = (words(), any::<Option<f64>>(), any::<bool>());
    (link, "[0-9]{1,12}", words(), words(), mark).prop_map(|(link, number, name, detail, mark)| {
        let (label, rate_bps, is_narrow) = link;
        PathFigureHop {
            link: PathFigureLink {
                label,
                rate_bps,
                is_narrow,
            },
            number,
            name,
            detail,
            mark,
        }
    })
}

proptest! {
    #[test]
    fn a_path_is_valid_svg_whose_texts_do_not_overlap(
        title in ".{0,200}",
        source in ".{0,80}",
        width in 0_u32..1200,
        note in prop::option::of(".{0,200}"),
        hops in prop::collection::vec(any_hop(), 0..31),
    ) {
        let figure = PathFigure { title, source, note, ..figure(width, hops) };
        prop_assert_eq!(svg_error(&figure.svg()), None);
        prop_assert_eq!(svg_error(&figure.inline_svg()), None);
    }
}

#[test]
fn an_ipv6_address_is_whole_on_a_narrow_screen() {
    let svg = figure(400, vec![hop(1)]).inline_svg();
    assert!(svg.contains(">2001:db8:1111:2222:3333:4444:5555:6666</text>"));
    assert!(svg.contains("viewBox=\"0 0 400 "));
}

#[test]
fn a_faster_link_is_a_wider_line_and_an_unknown_one_is_dashed() {
    let mut hops: Vec<PathFigureHop> = (1..=3).map(hop).collect();
    hops[1].link.rate_bps = Some(1e9);
    hops[2].link.rate_bps = None;
    let svg = figure(800, hops).inline_svg();
    let lines: Vec<&str> = svg
        .lines()
        .filter(|line| {
            line.starts_with("<path class=\"w")
                || line.contains("V") && line.starts_with("<path class=\"v\" d=\"M62 ")
        })
        .collect();
    let left = |line: &str| -> f64 {
        let rest = line.split("d=\"M").nth(1).unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(left(lines[1]) < left(lines[0]), "{lines:?}");
    assert!(lines[2].starts_with("<path class=\"v\""), "{lines:?}");
}

#[test]
fn the_narrow_link_and_the_silent_hop_are_drawn_differently() {
    let mut hops: Vec<PathFigureHop> = (1..=3).map(hop).collect();
    hops[1].link.is_narrow = true;
    hops[1].mark = PathFigureMark::Silent;
    let svg = figure(800, hops).inline_svg();
    assert_eq!(svg.matches("class=\"w s1\"").count(), 1);
    assert_eq!(svg.matches("<path class=\"v\"").count(), 1);
}
