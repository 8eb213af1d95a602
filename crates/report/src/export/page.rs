//! A report as a document: headings, sentences, tables and figures, before it becomes HTML or Markdown.
//!
//! All text in it is plain; the writers escape it.

use caudal_plot::{Figure, PathFigure};

/// Maximum number of statements of one kind in a list.
pub(super) const MAX_SENTENCES: usize = 12;

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The title, one line.
    pub title: String,
    /// The question or the subject.
    pub lead: Option<String>,
    /// The particulars in a line: the time, the tool.
    pub byline: Vec<String>,
    /// The sections.
    pub sections: Vec<Section>,
}

/// A section of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// The content.
    pub blocks: Vec<Block>,
}

/// An element of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// The numbers that matter most, large.
    Headline(Vec<HeadlineNumber>),
    /// A paragraph with a main result.
    Lead(String),
    /// A list of statements.
    List(Vec<Item>),
    /// A table.
    Table(Table),
    /// Figures of one subject.
    Figures(FigureGroup),
    /// The figure of a path.
    Path(CaptionedPath),
    /// Names and their values.
    Facts(Vec<(String, String)>),
    /// A command for a shell.
    Command(String),
    /// A link to a file beside this one: its text and the path.
    Link(String, String),
    /// A summary, and blocks that are folded away where the format can.
    Details(String, Vec<Block>),
}

impl Block {
    /// Blocks that are folded away where the format can; none where there are none.
    #[must_use]
    pub fn folded(summary: &str, blocks: Vec<Self>) -> Vec<Self> {
        if blocks.is_empty() {
            return Vec::new();
        }
        vec![Self::Details(summary.to_owned(), blocks)]
    }
}

/// The outcome of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// Too little is known to decide.
    Open,
    /// The statement has no outcome.
    None,
}

impl From<Option<bool>> for Mark {
    /// The mark of a check that may be undecided.
    fn from(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Holds,
            Some(false) => Self::Fails,
            None => Self::Open,
        }
    }
}

impl Mark {
    /// The mark in words; empty for none.
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

/// A statement of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The outcome.
    pub mark: Mark,
    /// The statement.
    pub text: String,
    /// Additions in small print.
    pub more: Vec<String>,
}

impl Item {
    /// A sentence without outcome and additions.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            mark: Mark::None,
            text: text.into(),
            more: Vec::new(),
        }
    }
}

/// A number that a page begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadlineNumber {
    /// What it is of.
    pub label: String,
    /// The number with its unit, or a word.
    pub value: String,
    /// An addition in small print, as an interval.
    pub beside: Option<String>,
    /// Whether it is good.
    pub mark: Mark,
    /// `true` for a grade or a verdict, which stands in a frame.
    pub is_badge: bool,
}

impl HeadlineNumber {
    /// A number alone.
    #[must_use]
    pub fn new(label: &str, value: String) -> Self {
        Self {
            label: label.to_owned(),
            value,
            beside: None,
            mark: Mark::None,
            is_badge: false,
        }
    }
}

/// A table; its first column holds the heads of the rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The head of the first column.
    pub corner: String,
    /// The heads of the other columns.
    pub columns: Vec<TableColumn>,
    /// The rows: head and cells.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// The note below it.
    pub note: Option<String>,
}

/// The head of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableColumn {
    /// The head that it shares with its neighbours; empty in a table with one level of heads.
    pub group: String,
    /// Its own head.
    pub name: String,
    /// `true` for a column of text, `false` for one of numbers.
    pub words: bool,
}

impl TableColumn {
    /// A column of numbers without a group.
    #[must_use]
    pub fn number(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// A column of text without a group.
    #[must_use]
    pub fn words(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            words: true,
            ..Self::default()
        }
    }
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// The text; empty for no value.
    pub text: String,
    /// An addition in small print, as an interval.
    pub beside: Option<String>,
    /// The outcome.
    pub mark: Option<Mark>,
}

impl Cell {
    /// A text alone.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// Figures of one subject, as one kind of figure for each of several cases.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureGroup {
    /// The subject.
    pub title: String,
    /// The figures.
    pub figures: Vec<CaptionedFigure>,
    /// Remarks, such as the number of cases left out.
    pub notes: Vec<String>,
}

/// A figure with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptionedFigure {
    /// The name of its file, without the extension.
    pub name: String,
    /// The figure.
    pub figure: Figure,
    /// The caption: what its data show.
    pub caption: String,
    /// The origin of its data.
    pub source: Option<String>,
}

/// The figure of a path with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptionedPath {
    /// The name of its file, without the extension.
    pub name: String,
    /// The figure.
    pub figure: PathFigure,
    /// The caption: how to read it.
    pub caption: String,
}

/// A figure of a page, whatever it shows.
#[derive(Debug, Clone, Copy)]
pub enum PageFigure<'p> {
    /// One with axes.
    Chart(&'p CaptionedFigure),
    /// That of a path.
    Path(&'p CaptionedPath),
}

impl PageFigure<'_> {
    /// The name of its file, without the extension.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.name,
            Self::Path(path) => &path.name,
        }
    }

    /// The figure as a self-contained SVG file.
    #[must_use]
    pub fn svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.figure.svg(),
            Self::Path(path) => path.figure.svg(),
        }
    }

    /// The figure as SVG for a page that includes the style sheet of figures.
    #[must_use]
    pub fn inline_svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.figure.inline_svg(),
            Self::Path(path) => path.figure.inline_svg(),
        }
    }
}

impl CaptionedFigure {
    /// A figure without an origin.
    #[must_use]
    pub fn new(name: &str, figure: Figure, caption: String) -> Self {
        Self {
            name: name.to_owned(),
            figure,
            caption,
            source: None,
        }
    }
}

impl Page {
    /// All figures, in their order.
    pub fn figures(&self) -> impl Iterator<Item = PageFigure<'_>> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.flat_map(|block| -> Vec<PageFigure<'_>> {
            match block {
                Block::Figures(group) => group.figures.iter().map(PageFigure::Chart).collect(),
                Block::Path(path) => vec![PageFigure::Path(path)],
                _ => Vec::new(),
            }
        })
    }
}

impl Table {
    /// The groups of columns and the number of columns in each; `None` in a table with one level of heads.
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
