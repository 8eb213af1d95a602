//! The source files of a crate, parsed, without their tests.

use std::fs;
use std::path::Path;
use syn::{Attribute, Item};

/// One source file.
pub struct SourceFile {
    /// Its path below `src`.
    pub path: String,
    /// Its items without those that are compiled for tests only.
    pub items: Vec<Item>,
}

impl SourceFile {
    fn parse(path: &str, text: &str) -> Self {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self {
            path: path.to_owned(),
            items: without_tests(file.items),
        }
    }

    /// The module it holds, as a path from the root of the crate: `a/b.rs` and `a/b/mod.rs` hold `a::b`.
    pub fn module(&self) -> Vec<String> {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let mut names: Vec<String> = stem.split('/').map(str::to_owned).collect();
        let is_root = names.len() == 1 && matches!(names[0].as_str(), "lib" | "main");
        if is_root || names.last().is_some_and(|last| last == "mod") {
            names.pop();
        }
        names
    }

    /// The names of the structs, enums, unions and traits it defines.
    pub fn types(&self) -> Vec<String> {
        types_of(&self.items)
    }
}

fn types_of(items: &[Item]) -> Vec<String> {
    items
        .iter()
        .flat_map(|item| match item {
            Item::Struct(item) => vec![item.ident.to_string()],
            Item::Enum(item) => vec![item.ident.to_string()],
            Item::Union(item) => vec![item.ident.to_string()],
            Item::Trait(item) => vec![item.ident.to_string()],
            Item::Mod(item) => {
                let inner = item.content.as_ref().map(|(_, items)| types_of(items));
                inner.unwrap_or_default()
            }
            _ => Vec::new(),
        })
        .collect()
}

/// The source files of one crate.
pub struct CrateSources {
    /// The folder of the crate.
    pub name: String,
    /// Its files, by path.
    pub files: Vec<SourceFile>,
}

impl CrateSources {
    /// A crate whose files, by path below `src`, have these texts.
    pub fn from_texts(name: &str, texts: &[(&str, &str)]) -> Self {
        let files = texts.iter();
        Self {
            name: name.to_owned(),
            files: files
                .map(|(path, text)| SourceFile::parse(path, text))
                .collect(),
        }
    }

    fn read(folder: &Path) -> Self {
        let source = folder.join("src");
        let mut files = Vec::new();
        let mut pending = vec![source.clone()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let below = path.strip_prefix(&source).unwrap().to_str().unwrap();
                    files.push(SourceFile::parse(below, &text));
                }
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        Self { name, files }
    }
}

/// The crates below `crates`, by name.
pub fn workspace() -> Vec<CrateSources> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("Cargo.toml").exists())
        .collect();
    folders.sort();
    assert!(folders.len() > 10, "{folders:?}");
    folders
        .iter()
        .map(|folder| CrateSources::read(folder))
        .collect()
}

/// The crate of the workspace's tasks.
pub fn xtask() -> CrateSources {
    CrateSources::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask"))
}

fn without_tests(items: Vec<Item>) -> Vec<Item> {
    items
        .into_iter()
        .filter(|item| !attributes(item).iter().any(is_for_tests))
        .map(|item| match item {
            Item::Mod(mut module) => {
                module.content = module
                    .content
                    .map(|(brace, items)| (brace, without_tests(items)));
                Item::Mod(module)
            }
            other => other,
        })
        .collect()
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute
            .parse_args::<syn::Ident>()
            .is_ok_and(|condition| condition == "test")
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
