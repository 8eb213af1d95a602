//! All figures of a report on one sheet.

use caudal_plot::{STYLE_SHEET, escaped};
use std::fmt::Write as _;

use super::page::{Page, PageFigure};

/// All figures of a page one below the other in one SVG; a single figure as it is.
#[must_use]
pub fn sheet(page: &Page) -> String {
    let figures: Vec<PageFigure<'_>> = page.figures().collect();
    if let [only] = figures.as_slice() {
        return only.svg();
    }
    let (mut inner, mut width, mut height) = (String::new(), 0.0_f64, 0.0);
    for drawn in &figures {
        let svg = drawn.inline_svg();
        let (w, h) = view_box(&svg).unwrap_or((800.0, 450.0));
        let _ = write!(
            inner,
            "<g transform=\"translate(0 {height})\">\n{svg}</g>\n"
        );
        width = width.max(w);
        height += h;
    }
    let (width, height) = (width.max(1.0), height.max(1.0));
    let title = escaped(&page.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\"><title>{title}</title><style>{STYLE_SHEET}</style>\n{inner}</svg>\n"
    )
}

/// The width and height of a drawn figure, which may be higher than its nominal size.
fn view_box(svg: &str) -> Option<(f64, f64)> {
    let inside = svg.split("viewBox=\"").nth(1)?.split('"').next()?;
    let mut numbers = inside.split(' ').skip(2);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
