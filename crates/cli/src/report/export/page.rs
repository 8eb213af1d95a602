//! A report as a document: headings, sentences, tables and figures, before it becomes HTML or Markdown.
//!
//! Everything in it is plain text; what writes it out escapes it.

use caudal_plot::Figure;

/// A whole report.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What it is about, in a line.
    pub title: String,
    /// What was asked, or what was measured.
    pub lead: Option<String>,
    /// A line of particulars: when, with what.
    pub byline: Vec<String>,
    /// Its parts.
    pub sections: Vec<Section>,
}

/// A part under a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// One thing after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Sentences.
    Text(String),
    /// Sentences that carry the report.
    Lead(String),
    /// Sentences with a mark each.
    List(Vec<Item>),
    /// A table.
    Table(Table),
    /// Figures that belong together.
    Plate(Plate),
    /// Names and what they stand for.
    Facts(Vec<(String, String)>),
    /// Something for a shell.
    Command(String),
    /// A file beside this one: the text, and where it is.
    Link(String, String),
    /// What is of interest to some.
    Details(String, Vec<Block>),
    /// A smaller heading.
    Heading(String),
}

/// How a statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// It cannot be told.
    Open,
    /// A statement like others.
    None,
}

impl Mark {
    /// Of an answer that may be missing.
    #[must_use]
    pub const fn of(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Holds,
            Some(false) => Self::Fails,
            None => Self::Open,
        }
    }

    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Open => "cannot tell",
            Self::None => "",
        }
    }
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// How it stands.
    pub mark: Mark,
    /// What it says.
    pub text: String,
    /// More about it, in smaller letters.
    pub more: Vec<String>,
}

impl Item {
    /// A sentence without more.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            mark: Mark::None,
            text: text.into(),
            more: Vec::new(),
        }
    }
}

/// A table. The first column heads its rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// What it is about.
    pub caption: String,
    /// The head of the first column.
    pub corner: String,
    /// The heads of the others in two levels; the first is empty where there is one level only.
    pub columns: Vec<Column>,
    /// The rows: head and cells.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// What stands under it.
    pub note: Option<String>,
}

/// The head of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// What several columns have in common.
    pub group: String,
    /// Its own.
    pub name: String,
    /// Whether it holds words instead of numbers.
    pub words: bool,
}

impl Column {
    /// A column of numbers without a group.
    #[must_use]
    pub fn number(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// A column of words without a group.
    #[must_use]
    pub fn words(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            words: true,
            ..Self::default()
        }
    }
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// What it says; empty where there is nothing.
    pub text: String,
    /// Beside it, in smaller letters: an interval.
    pub beside: Option<String>,
    /// Whether it is good or bad news.
    pub mark: Option<Mark>,
}

impl Cell {
    /// A text.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Figures that belong together, as the cases of one kind of picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Plate {
    /// What they show.
    pub title: String,
    /// The figures.
    pub figures: Vec<Drawn>,
    /// What is not shown, and other remarks.
    pub notes: Vec<String>,
}

/// A figure with the sentence that says what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Names its file, without ending.
    pub name: String,
    /// The picture.
    pub figure: Figure,
    /// What it shows, from its data.
    pub says: String,
    /// Where its data comes from.
    pub from: Option<String>,
}

impl Page {
    /// Every figure in its order.
    pub fn figures(&self) -> impl Iterator<Item = &Drawn> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks
            .filter_map(|block| match block {
                Block::Plate(plate) => Some(&plate.figures),
                _ => None,
            })
            .flatten()
    }
}

impl Table {
    /// The groups of the columns with how many each spans; `None` with one level of heads.
    #[must_use]
    pub fn groups(&self) -> Option<Vec<(&str, usize)>> {
        if self.columns.iter().all(|column| column.group.is_empty()) {
            return None;
        }
        let mut groups: Vec<(&str, usize)> = Vec::new();
        for column in &self.columns {
            match groups.last_mut() {
                Some((name, span)) if *name == column.group && !name.is_empty() => *span += 1,
                _ => groups.push((&column.group, 1)),
            }
        }
        Some(groups)
    }
}
