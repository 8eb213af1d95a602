//! The figure of a network path: hops from the top down, with the link that leads to each.

use crate::layout::{BOLD_WIDTH, LINE_HEIGHT, MARGIN, TEXT_SIZE, TITLE_SIZE};
use crate::style::STYLE_SHEET;
use crate::svg::{coordinate, escaped, rectangle, text_element};
use crate::text::{cut, wrap};
use std::f64::consts::FRAC_1_SQRT_2;
use std::fmt::Write as _;

/// Minimum width, px.
const MIN_WIDTH: f64 = 240.0;
/// The right end of the hops' numbers.
const NUMBER: f64 = 40.0;
/// The line through the hops.
const LINE: f64 = 62.0;
/// The left end of the words.
const WORDS: f64 = 82.0;
/// The radius of a hop, px.
const RADIUS: f64 = 7.0;
/// Half the height of a hop with its words, px.
const HALF_ROW: f64 = 18.0;
/// The height of a link without words, px.
const LINK: f64 = 14.0;
/// The width of the line of a link whose rate is not known, and of the slowest, px.
const MIN_LINE: f64 = 2.0;
/// Maximum width of a link's line, px.
const MAX_LINE: f64 = 12.0;
/// The rate of the thinnest line, bit/s: a link ten times as fast is two pixels wider.
const THIN_BPS: f64 = 1e5;

/// A network path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathFigure {
    /// The title.
    pub title: String,
    /// The description for screen readers.
    pub description: String,
    /// The width, px; the height follows from the hops.
    pub width: u32,
    /// The name of the machine at the beginning.
    pub source: String,
    /// The hops in their order.
    pub hops: Vec<PathFigureHop>,
    /// A note below the path.
    pub note: Option<String>,
}

/// A hop with the link that leads to it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathFigureHop {
    /// The link that leads to it.
    pub link: PathFigureLink,
    /// Its number.
    pub number: String,
    /// Its name or address.
    pub name: String,
    /// What was measured to it; may be empty.
    pub detail: String,
    /// The mark it is drawn as.
    pub mark: PathFigureMark,
}

/// The mark of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFigureMark {
    /// A router that answers: a circle.
    Router,
    /// The host at the end: a filled circle.
    Host,
    /// A hop that does not answer: a dashed circle.
    Silent,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct PathFigureLink {
    /// What is known about it; may be empty.
    pub label: String,
    /// The rate its line's width stands for, bit/s; a link without one is a dashed line.
    pub rate_bps: Option<f64>,
    /// `true` for the link of the smallest rate, which is emphasised.
    pub is_narrow: bool,
}

impl PathFigure {
    /// The figure as a self-contained SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        self.draw(&format!("<style>{STYLE_SHEET}</style>\n"))
    }

    /// The figure as SVG for a page that includes [`STYLE_SHEET`].
    #[must_use]
    pub fn inline_svg(&self) -> String {
        self.draw("")
    }

    fn draw(&self, style: &str) -> String {
        let width = f64::from(self.width).max(MIN_WIDTH);
        // Links come first, so that hops lie above their ends.
        let (mut links, mut out) = (String::new(), String::new());
        let mut y = draw_title(&mut out, &self.title, width) + HALF_ROW;
        draw_source(&mut out, &self.source, (width, y));
        for hop in &self.hops {
            y = draw_link(&mut links, &hop.link, (width, y));
            draw_hop(&mut out, hop, (width, y));
        }
        y += HALF_ROW;
        for line in self
            .note
            .iter()
            .flat_map(|note| wrap(note, TEXT_SIZE, width - 2.0 * MARGIN))
        {
            y += TEXT_SIZE * LINE_HEIGHT;
            text_element(&mut out, ("m", TEXT_SIZE, "start"), (MARGIN, y), &line);
        }
        let (width, height) = (coordinate(width), coordinate(y + MARGIN));
        let (label, about) = (escaped(&self.title), escaped(&self.description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{label}\">\n<desc>{about}</desc>\n{style}\
             <rect class=\"b\" width=\"{width}\" height=\"{height}\"/>\n{links}{out}</svg>\n"
        )
    }
}

/// Draws the title; where the path begins.
fn draw_title(out: &mut String, title: &str, width: f64) -> f64 {
    let mut y = MARGIN;
    for line in wrap(title, TITLE_SIZE * BOLD_WIDTH, width - 2.0 * MARGIN) {
        y += TITLE_SIZE;
        text_element(out, ("t", TITLE_SIZE, "start"), (MARGIN, y), &line);
        y += TITLE_SIZE * (LINE_HEIGHT - 1.0);
    }
    y
}

/// Draws the machine at the beginning, a square.
fn draw_source(out: &mut String, name: &str, (width, y): (f64, f64)) {
    let half = RADIUS * (1.0 + FRAC_1_SQRT_2) / 2.0;
    let square = rectangle((LINE - half, y - half), (LINE + half, y + half));
    let _ = writeln!(out, "<path class=\"d\" d=\"{square}\"/>");
    let name = cut(name, TEXT_SIZE, width - WORDS - MARGIN);
    text_element(out, ("", TEXT_SIZE, "start"), (WORDS, y + 4.0), &name);
}

/// Draws a hop around `y`, its number at its left and its words at its right.
fn draw_hop(out: &mut String, hop: &PathFigureHop, (width, y): (f64, f64)) {
    let (left, right) = (coordinate(LINE - RADIUS), coordinate(2.0 * RADIUS));
    let circle = format!(
        "M{left} {}a{RADIUS} {RADIUS} 0 1 0 {right} 0a{RADIUS} {RADIUS} 0 1 0 -{right} 0z",
        coordinate(y)
    );
    // The background hides the line behind the circle.
    let _ = write!(out, "<path class=\"b\" d=\"{circle}\"/>");
    let class = match hop.mark {
        PathFigureMark::Router => "c2",
        PathFigureMark::Host => "d",
        PathFigureMark::Silent => "v",
    };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{circle}\"/>");
    let number = cut(&hop.number, TEXT_SIZE, NUMBER - MARGIN / 2.0);
    text_element(out, ("m", TEXT_SIZE, "end"), (NUMBER, y + 4.0), &number);
    let room = width - WORDS - MARGIN;
    let name = cut(&hop.name, TEXT_SIZE, room);
    let class = match hop.mark {
        PathFigureMark::Silent => "m",
        PathFigureMark::Router | PathFigureMark::Host => "",
    };
    if hop.detail.is_empty() {
        text_element(out, (class, TEXT_SIZE, "start"), (WORDS, y + 4.0), &name);
        return;
    }
    text_element(out, (class, TEXT_SIZE, "start"), (WORDS, y - 3.0), &name);
    let detail = cut(&hop.detail, TEXT_SIZE, room);
    text_element(out, ("m", TEXT_SIZE, "start"), (WORDS, y + 13.0), &detail);
}

/// Draws a link from the hop around `from` downwards; where the next hop lies.
fn draw_link(out: &mut String, link: &PathFigureLink, (width, from): (f64, f64)) -> f64 {
    let (class, scale) = if link.is_narrow {
        ("t", BOLD_WIDTH)
    } else {
        ("", 1.0)
    };
    let room = width - WORDS - MARGIN;
    let lines = wrap(&link.label, TEXT_SIZE * scale, room);
    let step = TEXT_SIZE * LINE_HEIGHT;
    let height = LINK + lines.len() as f64 * step;
    let to = from + 2.0 * HALF_ROW + height;
    for (nth, line) in lines.iter().enumerate() {
        let at = from + HALF_ROW + LINK / 2.0 + nth as f64 * step + TEXT_SIZE;
        text_element(out, (class, TEXT_SIZE, "start"), (WORDS, at), line);
    }
    let series = if link.is_narrow { "s1" } else { "s0" };
    let _ = match link.rate_bps.filter(|rate| rate.is_finite()) {
        Some(rate_bps) => {
            let half = line_width(rate_bps) / 2.0;
            let bar = rectangle((LINE - half, from), (LINE + half, to));
            writeln!(out, "<path class=\"w {series}\" d=\"{bar}\"/>")
        }
        None => {
            let (x, from, to) = (coordinate(LINE), coordinate(from), coordinate(to));
            writeln!(out, "<path class=\"v\" d=\"M{x} {from}V{to}\"/>")
        }
    };
    to
}

/// The width of the line of a link, px: it grows with the logarithm of the rate.
fn line_width(rate_bps: f64) -> f64 {
    let decades = (rate_bps.max(THIN_BPS) / THIN_BPS).log10();
    (MIN_LINE + 2.0 * decades).min(MAX_LINE)
}
