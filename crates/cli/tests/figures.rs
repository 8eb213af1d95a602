//! Figures are drawn as they were drawn and looked at: `tests/figures/NAME.svg` each, without the style sheet. After a change that is meant,
//! `CAUDAL_DRAW=1 cargo test -p caudal --test figures` draws them anew; look at them before they go in.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "support/figures.rs"]
mod examples;

use caudal_plot::{Figure, STYLE_SHEET};
use std::fs;
use std::path::Path;

#[test]
fn each_figure_is_drawn_as_it_was() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures");
    let mut changed = Vec::new();
    for (name, figure) in examples::all() {
        let mut sizes = vec![(name.to_owned(), Figure::SIZE)];
        // Where names have to find room.
        if ["lines", "boxes", "bars-lying", "bars-slanted"].contains(&name) {
            sizes.push((format!("{name}-half"), Figure::HALF));
        }
        // The many points of one are looked at, not kept.
        sizes.retain(|(name, _)| name != "many");
        for (name, size) in sizes {
            let figure = Figure {
                size,
                ..figure.clone()
            };
            let file = place.join(format!("{name}.svg"));
            let svg = figure.inline_svg();
            if std::env::var_os("CAUDAL_DRAW").is_some() {
                fs::write(&file, &svg).unwrap();
            }
            if fs::read_to_string(&file).unwrap_or_default() != svg {
                changed.push(name);
            }
        }
    }
    assert!(changed.is_empty(), "drawn otherwise: {changed:?}");
}

#[test]
fn a_figure_for_a_page_is_the_same_without_its_style() {
    for (name, figure) in examples::all() {
        let (lone, inline) = (figure.svg(), figure.inline_svg());
        assert!(!inline.contains("<style"), "{name}");
        assert_eq!(
            lone,
            inline.replacen(
                "</desc>",
                &format!("</desc><style>{STYLE_SHEET}</style>"),
                1
            )
        );
        assert!(
            !inline.contains(" id=") && inline.contains("role=\"img\""),
            "{name}"
        );
    }
}

#[test]
fn a_lone_dark_figure_asks_nobody() {
    let (_, figure) = examples::all().remove(0);
    let dark = figure.dark_svg();
    assert!(!dark.contains("@media") && dark.contains(".b{fill:#15181c}"));
    assert!(STYLE_SHEET.contains("@media screen and (prefers-color-scheme:dark)"));
    assert!(
        STYLE_SHEET.contains("[data-theme=dark]") && STYLE_SHEET.contains("[data-theme=light]")
    );
    // Outside screens, as on paper, no rule makes it dark.
    assert!(
        !STYLE_SHEET
            .split("@media")
            .next()
            .unwrap()
            .contains("#15181c")
    );
}
