//! SVG output: escaped text, coordinates, paths and text elements.

use std::fmt::Write as _;

/// Escapes a text for XML content or attributes, replacing characters that XML forbids by U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters except tab, newline and carriage return, and the two non-characters (XML 1.0 section 2.2).
            '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
    out
}

/// The text of a coordinate, to a tenth of a pixel.
pub(crate) fn coordinate(value: f64) -> String {
    let mut text = String::new();
    let tenths = (value * 10.0).round();
    let _ = if tenths % 10.0 == 0.0 {
        write!(text, "{:.0}", tenths / 10.0)
    } else {
        write!(text, "{:.1}", tenths / 10.0)
    };
    // Negative zero is written as zero.
    if text == "-0" { "0".to_owned() } else { text }
}

/// The text of a point in a path.
pub(crate) fn pair((x, y): (f64, f64)) -> String {
    format!("{} {}", coordinate(x), coordinate(y))
}

/// The path of a rectangle between two corners.
pub(crate) fn rectangle(a: (f64, f64), b: (f64, f64)) -> String {
    format!(
        "M{}H{}V{}H{}z",
        pair(a),
        coordinate(b.0),
        coordinate(b.1),
        coordinate(a.0)
    )
}

/// Writes a text element of a class and font size, anchored.
pub(crate) fn text_element(
    out: &mut String,
    (class, size, anchor): (&str, f64, &str),
    (x, y): (f64, f64),
    words: &str,
) {
    // Words without a class have the colour of the figure.
    let class = match class {
        "" => String::new(),
        class => format!("class=\"{class}\" "),
    };
    let _ = writeln!(
        out,
        "<text {class}font-size=\"{size}\" text-anchor=\"{anchor}\" x=\"{}\" y=\"{}\">{}</text>",
        coordinate(x),
        coordinate(y),
        escaped(words)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(
            escaped("a<b>&\"c\"\u{0}\u{1b}\u{ffff}\n"),
            "a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\u{fffd}\u{fffd}\n"
        );
    }

    #[test]
    fn coordinates_are_short() {
        for (value, text) in [
            (1.0, "1"),
            (1.25, "1.3"),
            (-0.01, "0"),
            (61.300000000000004, "61.3"),
        ] {
            assert_eq!(coordinate(value), text);
        }
    }
}
