//! Names of code in prose: type names and words with underscores outside backticks, in comments and in the messages of the program.
//!
//! A rename of an identifier that goes through comments as well leaves such words where a plain one stood, even in the titles of
//! cited papers.

use super::crate_sources::{SourceFile, workspace};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names of algorithms that are also names of types here.
const NAMES_OF_THE_FIELD: [&str; 2] = ["HyStart", "SplitMix64"];

/// Names of the kernel and of its tools that messages give as users type them.
const NAMES_OF_THE_KERNEL: [&str; 7] = [
    "cap_net_raw",
    "fq_codel",
    "sch_tbf",
    "tcp_adv_win_scale",
    "tcp_quickack",
    "tcp_rmem",
    "wmem_max",
];

/// Beginnings of strings that are statements of SQL.
const SQL: [&str; 9] = [
    "ALTER", "CREATE", "DELETE", "DROP", "INSERT", "PRAGMA", "SELECT", "UPDATE", "WITH",
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum ProseKind {
    Comment,
    Message,
}

/// A comment or a string literal.
struct Prose {
    kind: ProseKind,
    line: usize,
    text: String,
}

/// The names of code in the comments of `source` and, if `messages`, in its strings: the line and the name.
pub fn names_in_prose(
    source: &str,
    messages: bool,
    types: &BTreeSet<String>,
) -> Vec<(usize, String)> {
    paragraphs(pieces(source))
        .iter()
        .filter(|prose| prose.kind == ProseKind::Comment || (messages && is_message(&prose.text)))
        .flat_map(|prose| {
            let names = bare_names(&prose.text, types);
            names.into_iter().map(|name| (prose.line, name))
        })
        .collect()
}

/// The Rust files below `folder` of the workspace: their paths and texts.
pub fn rust_files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    let mut pending = vec![root.join(folder)];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
                files.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// The part of a file in front of its tests.
pub fn without_tests(source: &str) -> &str {
    let end = source.find("#[cfg(test)]\nmod ");
    &source[..end.unwrap_or(source.len())]
}

/// Whether a name of at least two words is written as types are: `LossResponse`, not `Loss` or `MSS`.
pub fn is_compound(name: &str) -> bool {
    name.chars()
        .zip(name.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase())
}

fn is_message(text: &str) -> bool {
    let is_statement = SQL.iter().any(|word| text.trim_start().starts_with(word));
    let is_data = text.contains("\":") || text.contains("# HELP") || text.contains("{{");
    text.trim().contains(' ') && !is_statement && !is_data
}

/// Puts the lines of a comment together, without blocks of code.
fn paragraphs(pieces: Vec<Prose>) -> Vec<Prose> {
    let mut paragraphs: Vec<Prose> = Vec::new();
    let mut last_line = 0;
    let mut in_code = false;
    for piece in pieces {
        if piece.kind == ProseKind::Message {
            paragraphs.push(piece);
            continue;
        }
        let continues = piece.line == last_line + 1
            && paragraphs
                .last()
                .is_some_and(|last| last.kind == ProseKind::Comment);
        last_line = piece.line;
        let text = piece.text.trim_start_matches(['/', '!']).trim();
        in_code &= continues;
        if text.starts_with("```") {
            in_code = !in_code;
        }
        let text = if in_code { "" } else { text };
        match paragraphs.last_mut() {
            Some(last) if continues => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => paragraphs.push(Prose {
                text: text.to_owned(),
                ..piece
            }),
        }
    }
    paragraphs
}

fn bare_names(text: &str, types: &BTreeSet<String>) -> Vec<String> {
    let text = without_placeholders(&outside_backticks(text));
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut names = Vec::new();
    let mut start = 0;
    while let Some(at) = text[start..].find(is_word) {
        let begin = start + at;
        let rest = &text[begin..];
        let length = rest.find(|next| !is_word(next)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let is_name = is_snake_case(word) || (is_compound(word) && types.contains(word));
        let is_known = NAMES_OF_THE_FIELD.contains(&word) || NAMES_OF_THE_KERNEL.contains(&word);
        if is_name && !is_known && !is_part_of_path(&text[..begin], behind) {
            names.push(word.to_owned());
        }
        start = begin + length;
    }
    names
}

fn is_snake_case(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.trim_end_matches('_').contains('_')
        && !word.contains(char::is_uppercase)
}

/// Whether a word belongs to a file, a manual page, a kernel setting, a path of Rust, an option or an assignment.
fn is_part_of_path(before: &str, behind: &str) -> bool {
    let is_page = behind.starts_with('(')
        && behind[1..].starts_with(|first: char| first.is_ascii_digit())
        && behind[2..].starts_with(')');
    before.ends_with(['.', '/', ':', '-'])
        || [".c", ".h", ".rst", ".rs", "::", "="]
            .iter()
            .any(|end| behind.starts_with(end))
        || is_page
}

fn outside_backticks(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let outside = parts.filter(|(nth, _)| nth % 2 == 0).map(|(_, part)| part);
    outside.collect::<Vec<_>>().join("`")
}

fn without_placeholders(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

/// The comments and string literals of a source file, in its order.
fn pieces(source: &str) -> Vec<Prose> {
    let mut pieces = Vec::new();
    let (mut at, mut line, mut counted) = (0, 1, 0);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let is_inside_name = source[..at].ends_with(|last: char| last.is_alphanumeric());
        let (kind, text, length) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            (ProseKind::Comment, rest[..length].to_owned(), length)
        } else if let Some((text, length)) = (!is_inside_name).then(|| raw_string(rest)).flatten() {
            (ProseKind::Message, text, length)
        } else if first == '"' {
            let (text, length) = string(rest);
            (ProseKind::Message, text, length)
        } else {
            at += if first == '\'' {
                character(rest)
            } else {
                first.len_utf8()
            };
            continue;
        };
        line += source[counted..at].matches('\n').count();
        counted = at;
        pieces.push(Prose { kind, line, text });
        at += length;
    }
    pieces
}

/// The content of a raw string that `rest` begins with, and its length with its delimiters.
fn raw_string(rest: &str) -> Option<(String, usize)> {
    let prefix = if rest.starts_with("br") { "br" } else { "r" };
    let after = rest.strip_prefix(prefix)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let content = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = content.find(&end)?;
    let whole = prefix.len() + hashes + 1 + length + end.len();
    Some((content[..length].to_owned(), whole))
}

/// The content of a string literal that `rest` begins with, joined over line ends, and its length with its quotes.
fn string(rest: &str) -> (String, usize) {
    let mut content = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (content, at + 1),
            '\\' => match characters.next() {
                Some((_, '\n')) => content.push(' '),
                Some((_, escaped @ ('"' | '\\'))) => content.push(escaped),
                _ => content.push(' '),
            },
            other => content.push(other),
        }
    }
    (content, rest.len())
}

/// The length of a character literal that `rest` begins with, or that of the mark of a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest[1..].char_indices();
    match characters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| 3 + end + 1),
        Some((_, _)) => match characters.next() {
            Some((at, '\'')) => at + 2,
            _ => 1,
        },
        None => 1,
    }
}

#[test]
fn names_of_code_stand_in_backticks_in_comments_and_messages() {
    let crates = workspace();
    let files = crates.iter().flat_map(|sources| &sources.files);
    let types: BTreeSet<String> = files
        .flat_map(SourceFile::types)
        .filter(|name| is_compound(name))
        .collect();
    let mut bare = Vec::new();
    for (path, text) in ["crates", "xtask", "fuzz/fuzz_targets"]
        .iter()
        .flat_map(|folder| rust_files(folder))
    {
        let is_product = path.contains("/src/") && !path.contains("/tests");
        let tested = if is_product {
            without_tests(&text)
        } else {
            &text
        };
        let messages = names_in_prose(tested, is_product, &types);
        let comments = names_in_prose(&text, false, &types);
        let names: BTreeSet<(usize, String)> = messages.into_iter().chain(comments).collect();
        bare.extend(
            names
                .iter()
                .map(|(line, name)| format!("{path}:{line}: {name}")),
        );
    }
    assert!(bare.is_empty(), "\n{}", bare.join("\n"));
}

#[test]
fn a_rename_that_went_through_prose_is_found() {
    let types = BTreeSet::from(["RunOrder".to_owned(), "LossResponse".to_owned()]);
    let source = r##"
        /// Waits, is_saturated for both. Source: David and Nagaraja, "RunOrder Statistics"; see `RunOrder`,
        /// `a_name that
        /// goes on`, net/ipv4/tcp_input.c, proc_stat(5), net.ipv4.tcp_rmem and [`X`]: caudal_core::X.
        ///
        /// ```
        /// let a_name = 1;
        /// ```
        fn f<'a>(_: &'a str) {
            let quote = '"'; // a bare_word
            error(r#"the LossResponse of {some_key} is not given_so: "x""#);
            error("`loss_share` and --single_udp are names, \"a_b\" is not");
            key("another_key");
            sql("SELECT started_ns FROM entry");
        }
    "##;
    let found = |messages| {
        let names = names_in_prose(source, messages, &types);
        names.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(found(false), ["is_saturated", "RunOrder", "bare_word"]);
    assert_eq!(
        found(true),
        [
            "is_saturated",
            "RunOrder",
            "bare_word",
            "LossResponse",
            "given_so",
            "a_b"
        ]
    );
}
