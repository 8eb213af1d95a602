//! A report as one HTML file without scripts or other files, for screens of any width, light or dark, and for paper.

use caudal_plot::{Figure, PathFigure, STYLE_SHEET};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::page::{
    Block, CaptionedFigure, CaptionedPath, Cell, FigureGroup, HeadlineNumber, Item, Mark, Page,
    Section, Table,
};
use super::wording::printable;

/// The style sheet of the page; figures have their own.
const PAGE_STYLE_SHEET: &str = include_str!("report.css");

/// The report as the text of a file.
#[must_use]
pub fn to_html(page: &Page) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let title = printable(&page.title);
    let document = html! {
        (DOCTYPE) "\n"
        html lang="en" { "\n"
            head { "\n"
                meta charset="utf-8"; "\n"
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                meta name="generator" content={ "caudal " (version) }; "\n"
                title { (title) } "\n"
                style { (PreEscaped(PAGE_STYLE_SHEET)) (PreEscaped(STYLE_SHEET)) } "\n"
            } "\n"
            body { "\n"
                header { "\n"
                    h1 { (title) } "\n"
                    @if let Some(lead) = &page.lead {
                        p.question { (printable(lead)) } "\n"
                    }
                    @if !page.byline.is_empty() {
                        p.byline { @for part in &page.byline { span { (printable(part)) } } } "\n"
                    }
                } "\n"
                main { "\n"
                    @for one in &page.sections { (section(one)) }
                } "\n"
                footer { "Made by caudal " (version) ". This file needs no network and no scripts." } "\n"
            } "\n"
        } "\n"
    };
    document.into_string()
}

fn section(section: &Section) -> Markup {
    html! {
        section { "\n"
            h2 { (printable(&section.heading)) } "\n"
            @for one in &section.blocks { (block(one)) }
        } "\n"
    }
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Text(text) => p { (printable(text)) },
            Block::Headline(numbers) => (headline(numbers)),
            Block::Lead(text) => p.lead { (printable(text)) },
            Block::Command(text) => pre { code { (printable(text)) } },
            Block::Link(text, path) => p { a href=(printable(path)) { (printable(text)) } },
            Block::List(items) => ul { "\n" @for one in items { (item(one)) } },
            Block::Facts(facts) => dl { "\n"
                @for (name, value) in facts {
                    dt { (printable(name)) } dd { (printable(value)) } "\n"
                }
            },
            Block::Table(one) => (table(one)),
            Block::Figures(group) => (figure_group(group)),
            Block::Path(one) => (path(one)),
            Block::Details(summary, blocks) => details { "\n"
                summary { (printable(summary)) } "\n"
                @for one in blocks { (self::block(one)) }
            },
        }
        "\n"
    }
}

fn headline_class(number: &HeadlineNumber) -> Option<String> {
    let badge = number.is_badge.then_some("badge");
    let classes: Vec<&str> = badge.into_iter().chain(mark_class(number.mark)).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

fn headline(numbers: &[HeadlineNumber]) -> Markup {
    html! {
        dl.headline { "\n"
            @for number in numbers {
                div class=[headline_class(number)] {
                    dt { (printable(&number.label)) }
                    dd {
                        strong { (printable(&number.value)) }
                        @if let Some(beside) = &number.beside { small { (printable(beside)) } }
                    }
                } "\n"
            }
        }
    }
}

/// The class of a mark; `None` for no mark.
const fn mark_class(mark: Mark) -> Option<&'static str> {
    match mark {
        Mark::Holds => Some("holds"),
        Mark::Fails => Some("fails"),
        Mark::Open => Some("open"),
        Mark::None => None,
    }
}

/// The sign before the word of a mark, for readers who do not see colours.
const fn sign(mark: Mark) -> &'static str {
    match mark {
        Mark::Holds => "✓",
        Mark::Fails => "✗",
        Mark::Open => "?",
        Mark::None => "",
    }
}

fn item(item: &Item) -> Markup {
    html! {
        li class=[mark_class(item.mark)] {
            @if item.mark != Mark::None {
                span.mark { (sign(item.mark)) " " (item.mark.word()) }
            }
            (printable(&item.text))
            @for more in &item.more { span.more { (printable(more)) } }
        } "\n"
    }
}

fn table(table: &Table) -> Markup {
    let groups = table.groups();
    let column_heads = html! {
        @for column in &table.columns {
            th class=[column.words.then_some("words")] scope="col" { (printable(&column.name)) }
        }
    };
    html! {
        // A table wider than the screen is scrolled, with the keyboard too.
        div.scroll tabindex="0" role="group" aria-label=(table_label(table)) { "\n"
            table { "\n"
                @if !table.caption.is_empty() {
                    caption { (printable(&table.caption)) } "\n"
                }
                thead { "\n"
                    tr {
                        th scope="col" rowspan=[groups.is_some().then_some("2")] {
                            (printable(&table.corner))
                        }
                        @if let Some(groups) = &groups {
                            @for (name, span) in groups { (group_head(name, *span)) }
                        } @else {
                            (column_heads)
                        }
                    } "\n"
                    @if groups.is_some() { tr { (column_heads) } "\n" }
                } "\n"
                tbody { "\n"
                    @for (head, cells) in &table.rows {
                        tr {
                            th scope="row" { (printable(head)) }
                            @for (nth, one) in cells.iter().enumerate() {
                                (cell(one, table.columns.get(nth).is_some_and(|column| column.words)))
                            }
                        } "\n"
                    }
                } "\n"
            } "\n"
        }
        @if let Some(note) = &table.note { "\n" p.note { (printable(note)) } }
    }
}

/// The name of a table for a screen reader.
fn table_label(table: &Table) -> String {
    match table.caption.as_str() {
        "" => printable(&format!("table of {}", table.corner)),
        caption => printable(caption),
    }
}

fn group_head(name: &str, span: usize) -> Markup {
    html! {
        @if name.is_empty() {
            td colspan=(span) {}
        } @else {
            th.group scope="colgroup" colspan=(span) { (printable(name)) }
        }
    }
}

fn cell(cell: &Cell, is_text: bool) -> Markup {
    let classes = [is_text.then_some("words"), cell.mark.and_then(mark_class)];
    let classes: Vec<&str> = classes.into_iter().flatten().collect();
    let classes = (!classes.is_empty()).then(|| classes.join(" "));
    let text = if cell.text.is_empty() {
        "–"
    } else {
        &cell.text
    };
    html! {
        td class=[classes] {
            (printable(text))
            @if let Some(beside) = &cell.beside { small { (printable(beside)) } }
        }
    }
}

fn figure_group(group: &FigureGroup) -> Markup {
    // A single figure of that title shows it itself.
    let is_repeated = matches!(group.figures.as_slice(), [one] if one.figure.title == group.title);
    let several = group.figures.len() > 1;
    html! {
        @if !group.title.is_empty() && !is_repeated { h3 { (printable(&group.title)) } "\n" }
        div.figures.many[several] { "\n"
            @for one in &group.figures { (figure(one, several)) }
        }
        @for note in &group.notes { "\n" p.note { (printable(note)) } }
    }
}

/// The figure of a path, a second time for narrow screens: its words stand beside the hops and need no width.
fn path(captioned: &CaptionedPath) -> Markup {
    let half = PathFigure {
        width: Figure::HALF.0,
        ..captioned.figure.clone()
    };
    html! {
        div.figures { "\n"
            figure { "\n"
                div.wide { (PreEscaped(captioned.figure.inline_svg())) } "\n"
                div.narrow { (PreEscaped(half.inline_svg())) } "\n"
                figcaption { (printable(&captioned.caption)) } "\n"
            } "\n"
        }
    }
}

/// A figure. One as wide as the page comes a second time for narrow screens, where its letters would be too small.
fn figure(captioned: &CaptionedFigure, is_one_of_several: bool) -> Markup {
    // A figure of many rows needs its height on a narrow screen too.
    let (width, height) = Figure::HALF;
    let full_height = captioned.figure.size.1;
    let is_tall = full_height > Figure::SIZE.1;
    let half = Figure {
        size: (width, if is_tall { full_height } else { height }),
        ..captioned.figure.clone()
    };
    html! {
        figure { "\n"
            @if is_one_of_several {
                (PreEscaped(half.inline_svg()))
            } @else {
                div.wide { (PreEscaped(captioned.figure.inline_svg())) } "\n"
                div.narrow { (PreEscaped(half.inline_svg())) } "\n"
            }
            figcaption {
                (printable(&captioned.caption))
                @if let Some(source) = &captioned.source { small { (printable(source)) } }
            } "\n"
        } "\n"
    }
}
