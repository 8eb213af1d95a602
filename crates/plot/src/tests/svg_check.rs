//! A strict check of SVG: valid XML, text inside the figure that does not overlap.

use crate::layout::BOLD_WIDTH;
use crate::text::width;

/// An element of an SVG: its name, its attributes, and the text in it up to the next tag.
pub(super) struct Element<'a> {
    pub name: &'a str,
    pub attributes: Vec<(&'a str, &'a str)>,
    pub text: &'a str,
}

impl Element<'_> {
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }
}

/// Parses XML strictly: the elements in their order, or an error.
pub(super) fn elements(xml: &str) -> Result<Vec<Element<'_>>, String> {
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

/// The corners of the bounding box of a text, by the width table.
pub(super) fn corners(element: &Element) -> [(f64, f64); 4] {
    let words = element
        .text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    let size: f64 = element.get("font-size").unwrap().parse().unwrap();
    let bold = if element.get("class") == Some("t") {
        BOLD_WIDTH
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

/// `true` when a line separates two boxes, with half a pixel of tolerance.
pub(super) fn are_apart(a: &[(f64, f64); 4], b: &[(f64, f64); 4]) -> bool {
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

/// The first error of an SVG, if any: invalid XML, text outside or overlapping text.
pub(super) fn svg_error(svg: &str) -> Option<String> {
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
            return Some(format!("{words:?} is outside the figure: {a:?}"));
        }
        if let Some((other, _)) = texts[nth + 1..].iter().find(|(_, b)| !are_apart(a, b)) {
            return Some(format!("{words:?} overlaps {other:?}"));
        }
    }
    None
}
