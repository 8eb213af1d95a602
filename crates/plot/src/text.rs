//! Text in figures: how wide it is without asking a font, where it wraps, and what may not stand in XML.

use std::fmt::Write as _;

/// Advances of the printable ASCII characters in DejaVu Sans, the widest of the usual faces, in 1/2048 of the size.
const ADVANCES: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048,
    1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235,
    1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799, 690, 799, 1716, 1024, 1024,
    1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298, 1253, 1300,
    1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
];

/// The advance taken for other letters of Latin alphabets.
const LATIN: u16 = 1640;

/// The advance taken for any other character: the size itself, as ideographs have it.
const OTHER: u16 = 2048;

/// The advance of a character in 1/2048 of the size.
fn advance(c: char) -> u16 {
    match c {
        ' '..='~' => ADVANCES[c as usize - 0x20],
        '\u{a0}' | '·' => 651,
        'µ' => 1303,
        '×' | '≤' | '≥' | '→' | '−' => 1716,
        '–' | '°' => 1024,
        '\u{a1}'..='\u{24f}' => LATIN,
        _ => OTHER,
    }
}

/// The width of a text in pixels at a font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let units: u64 = text.chars().map(|c| u64::from(advance(c))).sum();
    units as f64 / 2048.0 * size
}

/// The words of a text: what stands between blanks, but for the no-break space.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() && c != '\u{a0}')
        .filter(|word| !word.is_empty())
}

/// A text in lines of at most `room` pixels, broken at blanks; a word too long for a line is cut with an ellipsis.
pub(super) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let word = cut(word, size, room);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(&word, size) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// A text that fits `room` pixels, its end replaced by an ellipsis where it is too long.
pub(super) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if width(&kept, size) + width(&c.to_string(), size) + width("…", size) > room {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// A text as XML content or attribute: markup escaped, and what XML forbids replaced by U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters but tab and newline, and the two non-characters (XML 1.0 section 2.2).
            '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
    out
}

/// A coordinate to a tenth of a pixel, as short as it can be.
pub(super) fn coordinate(value: f64) -> String {
    let mut text = String::new();
    let tenths = (value * 10.0).round();
    let _ = if tenths % 10.0 == 0.0 {
        write!(text, "{:.0}", tenths / 10.0)
    } else {
        write!(text, "{:.1}", tenths / 10.0)
    };
    // Minus zero is a zero.
    if text == "-0" { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_wide_as_its_characters() {
        assert_eq!(width("", 12.0), 0.0);
        assert!((width("0", 2048.0) - 1303.0).abs() < 1e-9);
        assert!((width("~", 2048.0) - 1716.0).abs() < 1e-9);
        assert!((width("µ", 2048.0) - 1303.0).abs() < 1e-9);
        assert!((width("网", 2048.0) - 2048.0).abs() < 1e-9);
        assert!(width("WWW", 12.0) > width("iii", 12.0));
    }

    #[test]
    fn long_text_wraps_and_a_long_word_is_cut() {
        let lines = wrap("one two three four five six seven", 12.0, 80.0);
        assert!(lines.len() > 2);
        assert!(lines.iter().all(|line| width(line, 12.0) <= 80.0));
        let word = "w".repeat(100);
        let cut = wrap(&word, 12.0, 80.0);
        assert!(cut.len() == 1 && cut[0].ends_with('…') && width(&cut[0], 12.0) <= 80.0);
    }

    #[test]
    fn markup_and_control_characters_do_no_harm() {
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
