//! Figures are drawn as they were reviewed: `tests/figures/NAME.svg` each, without the style sheet. After an intended change,
//! `CAUDAL_DRAW=1 cargo test -p caudal-plot --test figures` writes them anew; look at them before committing.
#![allow(clippy::unwrap_used, reason = "a failing test panics at its place")]

#[path = "support/figures.rs"]
mod examples;

use caudal_plot::{Figure, STYLE_SHEET};
use std::fs;
use std::path::Path;

#[test]
fn each_figure_is_drawn_as_reviewed() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/figures");
    let mut changed = Vec::new();
    for (name, figure) in examples::all() {
        let mut sizes = vec![(name.to_owned(), Figure::SIZE)];
        // Figures whose names need room.
        if ["lines", "boxes", "bars-lying", "bars-slanted"].contains(&name) {
            sizes.push((format!("{name}-half"), Figure::HALF));
        }
        // The figure with many points is too large to keep.
        sizes.retain(|(name, _)| name != "many");
        for (name, size) in sizes {
            let figure = Figure {
                size,
                ..figure.clone()
            };
            let file = directory.join(format!("{name}.svg"));
            let svg = figure.inline_svg();
            if std::env::var_os("CAUDAL_DRAW").is_some() {
                fs::write(&file, &svg).unwrap();
            }
            if fs::read_to_string(&file).unwrap_or_default() != svg {
                changed.push(name);
            }
        }
    }
    assert!(changed.is_empty(), "drawn differently: {changed:?}");
}

#[test]
fn a_figure_for_a_page_is_the_same_without_its_style_sheet() {
    for (name, figure) in examples::all() {
        let (standalone, inline) = (figure.svg(), figure.inline_svg());
        assert!(!inline.contains("<style"), "{name}");
        assert_eq!(
            standalone,
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
fn a_dark_figure_depends_on_no_preference() {
    let (_, figure) = examples::all().remove(0);
    let dark = figure.dark_svg();
    assert!(!dark.contains("@media") && dark.contains(".b{fill:#15181c}"));
    assert!(STYLE_SHEET.contains("@media screen and (prefers-color-scheme:dark)"));
    assert!(
        STYLE_SHEET.contains("[data-theme=dark]") && STYLE_SHEET.contains("[data-theme=light]")
    );
    // No rule makes it dark outside screens, for example in print.
    assert!(
        !STYLE_SHEET
            .split("@media")
            .next()
            .unwrap()
            .contains("#15181c")
    );
}
