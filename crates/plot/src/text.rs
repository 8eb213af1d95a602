//! The width of text without a font, and text wrapped or cut to a width.

/// The advance widths of the printable ASCII characters in DejaVu Sans, the widest of the common faces, in 1/2048 of the font size.
const ADVANCES: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048,
    1401, 1405, 1430, 1577, 1294, 1178, 1587, 1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235,
    1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799, 690, 799, 1716, 1024, 1024,
    1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298, 1253, 1300,
    1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
];

/// The advance width assumed for other Latin letters.
const LATIN: u16 = 1640;

/// The advance width assumed for any other character: the font size, as ideographs have it.
const OTHER: u16 = 2048;

/// The advance width of a character in 1/2048 of the font size.
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
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: u64 = text.chars().map(|c| u64::from(advance(c))).sum();
    units as f64 / 2048.0 * size
}

/// The words of a text, separated by whitespace except the no-break space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() && c != '\u{a0}')
        .filter(|word| !word.is_empty())
}

/// Wraps a text into lines of at most `room` pixels; a word too long for a line is cut with an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
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

/// Cuts a text to `room` pixels, with an ellipsis at the end where it is too long.
pub(crate) fn cut(text: &str, size: f64, room: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_text_is_the_sum_of_its_characters() {
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
}
