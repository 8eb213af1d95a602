//! A `mod.rs` says what a folder has: it declares modules and re-exports, and holds no code of its own.

use super::crate_sources::{CrateSources, SourceFile, workspace, xtask};
use syn::Item;

/// The files called `mod.rs` that hold more than declarations and imports; those of folders of tests may.
fn with_code(sources: &CrateSources) -> Vec<String> {
    let holds_code = |file: &&SourceFile| {
        let is_folder = file.path.ends_with("/mod.rs") && !file.path.ends_with("tests/mod.rs");
        is_folder && !file.items.iter().all(is_declaration)
    };
    let files = sources.files.iter().filter(holds_code);
    files
        .map(|file| format!("{}/{}", sources.name, file.path))
        .collect()
}

fn is_declaration(item: &Item) -> bool {
    match item {
        Item::Mod(module) => module.content.is_none(),
        Item::Use(_) => true,
        _ => false,
    }
}

#[test]
fn a_mod_rs_declares_and_reexports_only() {
    let mut crates = workspace();
    crates.push(xtask());
    let found: Vec<String> = crates.iter().flat_map(with_code).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn code_in_a_mod_rs_is_found() {
    let sources = CrateSources::from_texts(
        "sample",
        &[
            ("lib.rs", "mod a; mod b; mod c; pub fn f() {}"),
            (
                "a/mod.rs",
                "mod d; pub use d::D; #[cfg(test)] mod tests { fn g() {} }",
            ),
            ("a/d.rs", "pub struct D;"),
            ("b/mod.rs", "mod inner { pub fn f() {} }"),
            ("c/mod.rs", "pub const LIMIT: u8 = 1;"),
        ],
    );
    assert_eq!(with_code(&sources), ["sample/b/mod.rs", "sample/c/mod.rs"]);
}
