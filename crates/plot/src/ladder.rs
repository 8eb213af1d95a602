//! A sequence diagram: two ends as vertical lines, what goes between them as arrows from the top down.

use crate::layout::{BOLD_WIDTH, LINE_HEIGHT, MARGIN, TEXT_SIZE, TITLE_SIZE};
use crate::style::STYLE_SHEET;
use crate::svg::{coordinate, escaped, text_element};
use crate::text::{cut, wrap};
use std::fmt::Write as _;

/// The width, px.
const WIDTH: f64 = 800.0;
/// The height of an arrow with its words, px.
const ROW: f64 = 26.0;
/// The additional height of a remark, px.
const REMARK: f64 = 15.0;
/// The left line, right of the numbers and times.
const LEFT: f64 = 190.0;
/// The right line.
const RIGHT: f64 = WIDTH - 40.0;
/// Half the height and the length of an arrow's head, px.
const HEAD: (f64, f64) = (4.0, 9.0);

/// A sequence diagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LadderFigure {
    /// The title.
    pub title: String,
    /// The description for screen readers.
    pub description: String,
    /// The name of the left end.
    pub left: String,
    /// The name of the right end.
    pub right: String,
    /// The arrows in their order.
    pub arrows: Vec<LadderArrow>,
    /// A note below the diagram.
    pub note: Option<String>,
}

/// Something that goes from one end to the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LadderArrow {
    /// Where it goes.
    pub way: LadderWay,
    /// Its number.
    pub number: String,
    /// Its time.
    pub time: String,
    /// What it is, above the arrow.
    pub words: String,
    /// What is notable about it, below the arrow; may be empty.
    pub remark: String,
}

/// The way of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderWay {
    /// From the left end to the right one.
    Right,
    /// From the right end to the left one.
    Left,
}

impl LadderFigure {
    /// The diagram as a self-contained SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut out = String::new();
        let mut y = self.head(&mut out);
        let top = y;
        for arrow in &self.arrows {
            y = draw_arrow(&mut out, arrow, y);
        }
        y += MARGIN / 2.0;
        for x in [LEFT, RIGHT] {
            let (x, top, bottom) = (coordinate(x), coordinate(top), coordinate(y));
            let _ = writeln!(out, "<path class=\"f\" d=\"M{x} {top}V{bottom}\"/>");
        }
        for line in self
            .note
            .iter()
            .flat_map(|note| wrap(note, TEXT_SIZE, WIDTH - 2.0 * MARGIN))
        {
            y += TEXT_SIZE * LINE_HEIGHT;
            text_element(&mut out, ("m", TEXT_SIZE, "start"), (MARGIN, y), &line);
        }
        let height = coordinate(y + MARGIN);
        let (label, about) = (escaped(&self.title), escaped(&self.description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{label}\">\n<desc>{about}</desc>\n<style>{STYLE_SHEET}</style>\n\
             <rect class=\"b\" width=\"{WIDTH}\" height=\"{height}\"/>\n{out}</svg>\n"
        )
    }

    /// Title and names of the ends; where the lines begin.
    fn head(&self, out: &mut String) -> f64 {
        let mut y = MARGIN;
        let room = WIDTH - 2.0 * MARGIN;
        for line in wrap(&self.title, TITLE_SIZE * BOLD_WIDTH, room) {
            y += TITLE_SIZE;
            text_element(out, ("t", TITLE_SIZE, "start"), (MARGIN, y), &line);
            y += TITLE_SIZE * (LINE_HEIGHT - 1.0);
        }
        y += TEXT_SIZE * LINE_HEIGHT;
        // Each name has half of the space between the lines; the right one ends at the margin.
        let half = (WIDTH - MARGIN - LEFT) / 2.0 - MARGIN;
        let (left, right) = (
            cut(&self.left, TEXT_SIZE, half),
            cut(&self.right, TEXT_SIZE, half),
        );
        text_element(out, ("", TEXT_SIZE, "start"), (LEFT - 4.0, y), &left);
        let end = WIDTH - MARGIN;
        text_element(out, ("", TEXT_SIZE, "end"), (end, y), &right);
        y + 6.0
    }
}

/// Draws an arrow below `top`; where the next one begins.
fn draw_arrow(out: &mut String, arrow: &LadderArrow, top: f64) -> f64 {
    let y = top + ROW - 4.0;
    let middle = f64::midpoint(LEFT, RIGHT);
    let room = RIGHT - LEFT - 2.0 * MARGIN;
    let number = cut(&arrow.number, TEXT_SIZE, 70.0);
    text_element(out, ("m", TEXT_SIZE, "end"), (86.0, y + 4.0), &number);
    let time = cut(&arrow.time, TEXT_SIZE, 88.0);
    text_element(out, ("m", TEXT_SIZE, "end"), (LEFT - 12.0, y + 4.0), &time);
    let words = cut(&arrow.words, TEXT_SIZE, room);
    text_element(out, ("", TEXT_SIZE, "middle"), (middle, y - 5.0), &words);
    let (from, to, class, inward) = match arrow.way {
        LadderWay::Right => (LEFT, RIGHT, "s0", -HEAD.1),
        LadderWay::Left => (RIGHT, LEFT, "s1", HEAD.1),
    };
    let (from, to, back) = (coordinate(from), coordinate(to), coordinate(to + inward));
    let (line, above, below) = (
        coordinate(y),
        coordinate(y - HEAD.0),
        coordinate(y + HEAD.0),
    );
    let _ = writeln!(
        out,
        "<path class=\"c {class}\" d=\"M{from} {line}H{to}\"/><path class=\"d {class}\" d=\"M{to} {line}L{back} {above}V{below}z\"/>"
    );
    if arrow.remark.is_empty() {
        return top + ROW;
    }
    let remark = cut(&arrow.remark, TEXT_SIZE, room);
    let at = (middle, y + REMARK - 2.0);
    text_element(out, ("m", TEXT_SIZE, "middle"), at, &remark);
    top + ROW + REMARK
}
