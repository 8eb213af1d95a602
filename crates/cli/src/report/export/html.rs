//! A report as one HTML file: no scripts, nothing to fetch; light, dark and on paper, on a desk and on a phone.

use super::page::{Block, Cell, Drawn, Item, Mark, Page, Plate, Table};
use caudal_plot::escaped;
use caudal_plot::{Figure, STYLE_SHEET};
use std::fmt::Write as _;

/// The style of the page; figures have their own.
const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--ground:#fff;--panel:#f5f7f9;--line:#d5dae0;--good:#00694e;--bad:#b3261e;--open:#7a5b00;--accent:#0060a8}
@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){--ink:#e6e8eb;--soft:#a4abb4;--ground:#15181c;--panel:#1d2126;--line:#383f47;--good:#4fd1a5;--bad:#ff8a80;--open:#e8d34a;--accent:#6cb8f0}}
@media screen{:root[data-theme=dark]{color-scheme:dark;--ink:#e6e8eb;--soft:#a4abb4;--ground:#15181c;--panel:#1d2126;--line:#383f47;--good:#4fd1a5;--bad:#ff8a80;--open:#e8d34a;--accent:#6cb8f0}:root[data-theme=light]{color-scheme:light}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:break-word}
main,header,footer{max-width:62rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem;text-wrap:balance}
h2{font-size:1.3rem;line-height:1.3;margin:2.75rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0;max-width:46rem}
.question{font-size:1.1rem;max-width:46rem;color:var(--soft);margin:0 0 .5rem}
.byline{color:var(--soft);font-size:.875rem;margin:.25rem 0}
.byline span+span::before{content:'\\00a0\\00b7\\00a0'}
.lead{font-size:1.1rem;max-width:46rem}
ul{list-style:none;margin:.75rem 0;padding:0;max-width:50rem}
li{margin:.55rem 0;padding-left:1.1rem;border-left:3px solid var(--line)}
li.holds{border-color:var(--good)}li.fails{border-color:var(--bad)}li.open{border-color:var(--open)}
.mark{font-weight:600;margin-right:.4em}
.holds .mark,td.holds{color:var(--good)}.fails .mark,td.fails{color:var(--bad)}.open .mark,td.open{color:var(--open)}
.more{display:block;color:var(--soft);font-size:.875rem}
code,pre{font-family:ui-monospace,SFMono-Regular,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:.875em}
pre{background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.7rem .9rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:.75rem 0}
.scroll{overflow-x:auto;margin:1rem 0;max-width:100%}
table{border-collapse:collapse;font-size:.9rem;line-height:1.4}
caption{text-align:left;font-weight:600;padding:.25rem 0 .5rem}
th,td{padding:.35rem .7rem;vertical-align:baseline;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{padding-left:.2rem}
thead tr:first-child th:first-child{text-align:left}
thead th{font-weight:600;vertical-align:bottom;color:var(--soft)}
thead tr:last-child th{border-bottom:2px solid var(--soft)}
th.group{text-align:center;color:var(--ink);border-left:1px solid var(--line);border-right:1px solid var(--line)}
tbody th{text-align:left;font-weight:500;min-width:7rem}
th.words,td.words{text-align:left;min-width:9rem}
td{white-space:nowrap}td.words{white-space:normal}
td small{display:block;color:var(--soft);font-size:.8em}
.note{color:var(--soft);font-size:.875rem;margin-top:.25rem}
.plate{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem;margin:1rem 0}
.plate.many{grid-template-columns:repeat(2,minmax(0,1fr))}
figure{margin:0;break-inside:avoid}
figure svg{display:block;width:100%;height:auto;border:1px solid var(--line);border-radius:4px}
figure .narrow{display:none}
figcaption{font-size:.925rem;margin-top:.4rem;max-width:46rem}
figcaption small{color:var(--soft);display:block}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.25rem 1.25rem;font-size:.9rem;margin:.75rem 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
details{margin:.75rem 0}summary{cursor:pointer;color:var(--accent)}
a{color:var(--accent)}
footer{color:var(--soft);font-size:.8rem;padding-top:2rem;padding-bottom:2.5rem}
@media screen and (max-width:640px){body{font-size:15px}main,header,footer{padding-left:.9rem;padding-right:.9rem}header{padding-top:1.5rem}h1{font-size:1.5rem}.plate.many{grid-template-columns:minmax(0,1fr)}figure .wide{display:none}figure .narrow{display:block}dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.5rem}th,td{padding:.3rem .5rem}}
@page{size:A4;margin:16mm 14mm}
@media print{:root{color-scheme:light}body{font-size:10pt;line-height:1.4}main,header,footer{max-width:none;padding-left:0;padding-right:0}header{padding-top:0}h1{font-size:18pt}h2{font-size:13pt;margin-top:1.6rem}h2,h3,caption{break-after:avoid}tr,li,pre{break-inside:avoid}thead{display:table-header-group}.scroll{overflow:visible;break-inside:avoid}table{font-size:8pt}th,td{padding:.2rem .4rem}figure svg{max-height:110mm}a{color:inherit}details:not([open]){display:none}summary{list-style:none;color:inherit;font-weight:600}p,li{orphans:3;widows:3}}
";

/// The page as a whole file.
#[must_use]
pub fn html(page: &Page) -> String {
    let mut out = String::with_capacity(64 * 1024);
    let title = escaped(&page.title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"generator\" content=\"caudal {}\"/>\n<title>{title}</title>\n\
         <style>{STYLE}{STYLE_SHEET}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n",
        env!("CARGO_PKG_VERSION")
    );
    if let Some(lead) = &page.lead {
        let _ = writeln!(out, "<p class=\"question\">{}</p>", escaped(lead));
    }
    if !page.byline.is_empty() {
        let parts: Vec<String> = page
            .byline
            .iter()
            .map(|part| format!("<span>{}</span>", escaped(part)))
            .collect();
        let _ = writeln!(out, "<p class=\"byline\">{}</p>", parts.concat());
    }
    out.push_str("</header>\n<main>\n");
    for section in &page.sections {
        let _ = writeln!(out, "<section>\n<h2>{}</h2>", escaped(&section.heading));
        for one in &section.blocks {
            block(&mut out, one);
        }
        out.push_str("</section>\n");
    }
    let _ = write!(
        out,
        "</main>\n<footer>Made by caudal {}. This file needs no network and no scripts.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Text(text) => writeln!(out, "<p>{}</p>", escaped(text)),
        Block::Lead(text) => writeln!(out, "<p class=\"lead\">{}</p>", escaped(text)),
        Block::Heading(text) => writeln!(out, "<h3>{}</h3>", escaped(text)),
        Block::Command(text) => writeln!(out, "<pre><code>{}</code></pre>", escaped(text)),
        Block::Link(text, to) => writeln!(
            out,
            "<p><a href=\"{}\">{}</a></p>",
            escaped(to),
            escaped(text)
        ),
        Block::List(items) => {
            out.push_str("<ul>\n");
            for one in items {
                item(out, one);
            }
            writeln!(out, "</ul>")
        }
        Block::Facts(facts) => {
            out.push_str("<dl>\n");
            for (name, what) in facts {
                let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(what));
            }
            writeln!(out, "</dl>")
        }
        Block::Table(one) => {
            table(out, one);
            Ok(())
        }
        Block::Plate(one) => {
            plate(out, one);
            Ok(())
        }
        Block::Details(summary, blocks) => {
            let _ = writeln!(out, "<details>\n<summary>{}</summary>", escaped(summary));
            for one in blocks {
                self::block(out, one);
            }
            writeln!(out, "</details>")
        }
    };
}

const fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Holds => "holds",
        Mark::Fails => "fails",
        Mark::Open => "open",
        Mark::None => "",
    }
}

/// A sign beside the word, for who does not see colours.
const fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Holds => "✓",
        Mark::Fails => "✗",
        Mark::Open => "?",
        Mark::None => "",
    }
}

fn item(out: &mut String, item: &Item) {
    if item.mark == Mark::None {
        let _ = write!(out, "<li>{}", escaped(&item.text));
    } else {
        let _ = write!(
            out,
            "<li class=\"{}\"><span class=\"mark\">{} {}</span>{}",
            class(item.mark),
            sign(item.mark),
            item.mark.word(),
            escaped(&item.text)
        );
    }
    for more in &item.more {
        let _ = write!(out, "<span class=\"more\">{}</span>", escaped(more));
    }
    out.push_str("</li>\n");
}

fn table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"scroll\">\n<table>\n");
    if !table.caption.is_empty() {
        let _ = writeln!(out, "<caption>{}</caption>", escaped(&table.caption));
    }
    out.push_str("<thead>\n");
    let corner = escaped(&table.corner);
    let groups = table.groups();
    if let Some(groups) = &groups {
        let _ = write!(out, "<tr><th scope=\"col\" rowspan=\"2\">{corner}</th>");
        for (name, span) in groups {
            if name.is_empty() {
                let _ = write!(out, "<td colspan=\"{span}\"></td>");
            } else {
                let _ = write!(
                    out,
                    "<th class=\"group\" scope=\"colgroup\" colspan=\"{span}\">{}</th>",
                    escaped(name)
                );
            }
        }
        out.push_str("</tr>\n<tr>");
    } else {
        let _ = write!(out, "<tr><th scope=\"col\">{corner}</th>");
    }
    for column in &table.columns {
        let words = if column.words { " class=\"words\"" } else { "" };
        let _ = write!(
            out,
            "<th{words} scope=\"col\">{}</th>",
            escaped(&column.name)
        );
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for (head, cells) in &table.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escaped(head));
        for (nth, one) in cells.iter().enumerate() {
            let words = table.columns.get(nth).is_some_and(|column| column.words);
            cell(out, one, words);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    if let Some(note) = &table.note {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
}

fn cell(out: &mut String, cell: &Cell, words: bool) {
    let mark = cell.mark.unwrap_or(Mark::None);
    let mut classes = Vec::new();
    if words {
        classes.push("words");
    }
    if mark != Mark::None {
        classes.push(class(mark));
    }
    let classes = if classes.is_empty() {
        String::new()
    } else {
        format!(" class=\"{}\"", classes.join(" "))
    };
    let text = if cell.text.is_empty() {
        "–"
    } else {
        &cell.text
    };
    let _ = write!(out, "<td{classes}>{}", escaped(text));
    if let Some(beside) = &cell.beside {
        let _ = write!(out, "<small>{}</small>", escaped(beside));
    }
    out.push_str("</td>");
}

fn plate(out: &mut String, plate: &Plate) {
    // A lone figure of that title says it itself.
    let said = matches!(plate.figures.as_slice(), [one] if one.figure.title == plate.title);
    if !plate.title.is_empty() && !said {
        let _ = writeln!(out, "<h3>{}</h3>", escaped(&plate.title));
    }
    let many = plate.figures.len() > 1;
    let _ = writeln!(
        out,
        "<div class=\"{}\">",
        if many { "plate many" } else { "plate" }
    );
    for one in &plate.figures {
        figure(out, one, many);
    }
    out.push_str("</div>\n");
    for note in &plate.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
}

/// A figure; one that has the page's width comes a second time for narrow screens, where its letters would be too small.
fn figure(out: &mut String, drawn: &Drawn, many: bool) {
    out.push_str("<figure>\n");
    // What has many rows needs its height on a narrow screen too.
    let (wide, high) = Figure::HALF;
    let half = Figure {
        size: if drawn.figure.size.1 > Figure::SIZE.1 {
            (wide, drawn.figure.size.1)
        } else {
            (wide, high)
        },
        ..drawn.figure.clone()
    };
    if many {
        out.push_str(&half.inline_svg());
    } else {
        let _ = write!(
            out,
            "<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n",
            drawn.figure.inline_svg(),
            half.inline_svg()
        );
    }
    let _ = write!(out, "<figcaption>{}", escaped(&drawn.says));
    if let Some(from) = &drawn.from {
        let _ = write!(out, "<small>{}</small>", escaped(from));
    }
    out.push_str("</figcaption>\n</figure>\n");
}
