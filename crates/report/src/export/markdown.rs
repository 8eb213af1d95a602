//! A report as Markdown, for a wiki or a ticket: tables in the dialect that most read (pipes).

use super::page::{Block, Item, Mark, Page, Table};
use std::fmt::Write as _;

/// The page. With `figures`, its pictures are files of their names and `.svg` in that directory beside it; without,
/// only their sentences.
#[must_use]
pub fn markdown(page: &Page, figures: Option<&str>) -> String {
    let mut out = format!("# {}\n", safe(&page.title));
    if let Some(lead) = &page.lead {
        let _ = write!(out, "\n{}\n", safe(lead));
    }
    if !page.byline.is_empty() {
        let parts: Vec<String> = page.byline.iter().map(|part| safe(part)).collect();
        let _ = write!(out, "\n{}\n", parts.join(" · "));
    }
    for section in &page.sections {
        let _ = write!(out, "\n## {}\n", safe(&section.heading));
        for one in &section.blocks {
            block(&mut out, one, figures);
        }
    }
    out
}

fn block(out: &mut String, one: &Block, figures: Option<&str>) {
    let _ = match one {
        Block::Text(text) | Block::Lead(text) => write!(out, "\n{}\n", safe(text)),
        Block::Command(text) => {
            let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let text: String = text.chars().map(|c| printable(c).unwrap_or(c)).collect();
            write!(out, "\n{fence}\n{text}\n{fence}\n")
        }
        Block::Headline(numbers) => {
            out.push('\n');
            for number in numbers {
                let beside = number.beside.as_ref();
                let beside = beside.map_or_else(String::new, |text| format!(" ({})", safe(text)));
                let _ = writeln!(
                    out,
                    "- {}: **{}**{beside}",
                    safe(&number.label),
                    safe(&number.value)
                );
            }
            Ok(())
        }
        Block::Link(text, to) => write!(out, "\n[{}](<{}>)\n", safe(text), address(to)),
        Block::List(items) => {
            out.push('\n');
            for one in items {
                item(out, one);
            }
            Ok(())
        }
        Block::Facts(facts) => {
            out.push('\n');
            for (name, what) in facts {
                let _ = writeln!(out, "- {}: {}", safe(name), safe(what));
            }
            Ok(())
        }
        Block::Table(one) => {
            table(out, one);
            Ok(())
        }
        Block::Figures(plate) => {
            if !plate.title.is_empty() {
                let _ = write!(out, "\n### {}\n", safe(&plate.title));
            }
            for drawn in &plate.figures {
                if let Some(directory) = figures {
                    let (title, name) = (safe(&drawn.figure.title), address(&drawn.name));
                    let _ = write!(out, "\n![{title}](<{directory}/{name}.svg>)\n");
                }
                let _ = write!(out, "\n{}\n", safe(&drawn.caption));
                if let Some(from) = &drawn.source {
                    let _ = writeln!(out, "{}", safe(from));
                }
            }
            for note in &plate.notes {
                let _ = write!(out, "\n{}\n", safe(note));
            }
            Ok(())
        }
        Block::Path(drawn) => {
            if let Some(directory) = figures {
                let (title, name) = (safe(&drawn.figure.title), address(&drawn.name));
                let _ = write!(out, "\n![{title}](<{directory}/{name}.svg>)\n");
            }
            write!(out, "\n{}\n", safe(&drawn.caption))
        }
        Block::Details(summary, blocks) => {
            let _ = write!(out, "\n### {}\n", safe(summary));
            for one in blocks {
                block(out, one, figures);
            }
            Ok(())
        }
    };
}

fn item(out: &mut String, item: &Item) {
    let mark = if item.mark == Mark::None {
        String::new()
    } else {
        format!("**{}:** ", item.mark.word())
    };
    let _ = writeln!(out, "- {mark}{}", safe(&item.text));
    for more in &item.more {
        let _ = writeln!(out, "  - {}", safe(more));
    }
}

fn table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        let _ = write!(out, "\n**{}**\n", safe(&table.caption));
    }
    // One level of heads is all there is.
    let head = |group: &str, name: &str| match (group, name) {
        ("", name) => safe(name),
        (group, "") => safe(group),
        (group, name) => format!("{} {}", safe(group), safe(name)),
    };
    let columns = &table.columns;
    let heads: Vec<String> = columns
        .iter()
        .map(|column| head(&column.group, &column.name))
        .collect();
    let rules: Vec<&str> = columns
        .iter()
        .map(|column| if column.words { ":--" } else { "--:" })
        .collect();
    let corner = if table.corner.is_empty() {
        " ".to_owned()
    } else {
        safe(&table.corner)
    };
    let _ = write!(
        out,
        "\n| {corner} | {} |\n|:--|{}|\n",
        heads.join(" | "),
        rules.join("|")
    );
    for (name, cells) in &table.rows {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| match (&cell.beside, cell.text.as_str()) {
                (_, "") => "–".to_owned(),
                (Some(beside), text) if beside.starts_with('±') => {
                    format!("{} {}", safe(text), safe(beside))
                }
                (Some(beside), text) => format!("{} ({})", safe(text), safe(beside)),
                (None, text) => safe(text),
            })
            .collect();
        let _ = writeln!(out, "| {} | {} |", safe(name), cells.join(" | "));
    }
    if let Some(note) = &table.note {
        let _ = write!(out, "\n{}\n", safe(note));
    }
}

/// The replacement of a character that cannot be printed; `None` for one that can. Line ends are kept.
fn printable(c: char) -> Option<char> {
    (c.is_control() && c != '\n').then_some('\u{fffd}')
}

/// A text in one line that no reader of Markdown takes for markup.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            // Within a word an underscore means nothing, but not every reader agrees.
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' => out.extend(['\\', c]),
            // What makes a heading, a quotation or a list at the beginning of a line.
            '#' | '>' if at == 0 => out.extend(['\\', c]),
            '-' | '+' if at == 0 && text[1..].starts_with(' ') => out.extend(['\\', c]),
            _ => out.push(printable(c).unwrap_or(c)),
        }
    }
    out
}

/// A path that stands between angle brackets.
fn address(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() && !['<', '>', '\\'].contains(c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_text_stays_text() {
        assert_eq!(
            safe("#a|b <i> *c* `d`\n[e](f)\u{1b}"),
            "\\#a\\|b &lt;i> \\*c\\* \\`d\\` \\[e\\](f)\u{fffd}"
        );
    }
}
