//! A terminal with its text, as SVG.

use crate::svg::escaped;
use std::fmt::Write as _;

/// The width of a column, px: that of the fonts named in [`STYLE`], to which text is fitted.
const COLUMN: f64 = 7.8;
/// The height of a line, px.
const LINE: f64 = 17.0;
/// The size of the text, px.
const FONT: f64 = 13.0;
/// The space around the text, px.
const MARGIN: f64 = 14.0;
/// The style sheet: light, and dark where the reader prefers that.
const STYLE: &str = ".t{fill:#f6f8fa;stroke:#d0d7de}.l{fill:#1f2328;white-space:pre;\
    font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}.b{font-weight:700}.c{fill:#57606a}\
    @media screen and (prefers-color-scheme:dark){.t{fill:#0d1117;stroke:#30363d}.l{fill:#e6edf3}.c{fill:#8b949e}}";

/// A line in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalLine {
    /// A command that was typed.
    Command(String),
    /// Output.
    Output(String),
    /// Output of which the first occurrence of the second text is bold.
    Emphasised(String, String),
}

/// A terminal of so many columns with its text, as an SVG document; `title` describes it to those who do not see it.
#[must_use]
pub fn terminal_svg(title: &str, columns: usize, lines: &[TerminalLine]) -> String {
    let width = columns as f64 * COLUMN + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"img\"><title>{}</title><style>{STYLE}</style>\
         <rect class=\"t\" x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>\n",
        escaped(title),
        width - 1.0,
        height - 1.0
    );
    for (nth, line) in lines.iter().enumerate() {
        let y = MARGIN + nth as f64 * LINE + FONT;
        let (class, text) = match line {
            TerminalLine::Command(text) => ("l c", escaped(text)),
            TerminalLine::Output(text) => ("l", escaped(text)),
            TerminalLine::Emphasised(text, bold) => {
                let bold = escaped(bold);
                let tagged = format!("<tspan class=\"b\">{bold}</tspan>");
                ("l", escaped(text).replacen(&bold, &tagged, 1))
            }
        };
        if !text.is_empty() {
            let _ = writeln!(
                svg,
                "<text class=\"{class}\" xml:space=\"preserve\" x=\"{MARGIN}\" y=\"{y:.0}\" font-size=\"{FONT}\">{text}</text>"
            );
        }
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_the_number_is_bold() {
        let svg = terminal_svg(
            "a & b",
            20,
            &[
                TerminalLine::Command("$ caudal tcp <host>".into()),
                TerminalLine::Emphasised("upload: 9 Mbit/s".into(), "9 Mbit/s".into()),
                TerminalLine::Output(String::new()),
            ],
        );
        assert!(svg.contains("<title>a &amp; b</title>"), "{svg}");
        assert!(svg.contains("$ caudal tcp &lt;host&gt;</text>"), "{svg}");
        let bold = "upload: <tspan class=\"b\">9 Mbit/s</tspan></text>";
        assert!(svg.contains(bold), "{svg}");
        assert_eq!(svg.matches("<text").count(), 2, "{svg}");
        assert!(svg.contains("height=\"79\""), "{svg}");
    }
}
