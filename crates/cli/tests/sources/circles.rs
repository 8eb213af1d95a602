//! The sources of the workspace: no circle of files, and a name for each type.

use super::crate_sources::{CrateSources, workspace};
use super::imports::Imports;
use std::collections::BTreeMap;

#[test]
fn no_files_of_a_crate_import_one_another_in_a_circle() {
    let circles: Vec<String> = workspace()
        .iter()
        .flat_map(|sources| {
            let circles = Imports::new(sources).circles();
            circles
                .into_iter()
                .map(|circle| format!("{}: {}", sources.name, circle.join(" -> ")))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn a_circle_is_found_through_parents_and_what_they_reexport() {
    let sources = CrateSources::from_texts(
        "sample",
        &[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A(B); pub fn g() {}"),
            ("b.rs", "pub struct B; fn f() { crate::a::g() }"),
        ],
    );
    let circles = Imports::new(&sources).circles();
    assert_eq!(circles, [["a.rs", "b.rs", "a.rs"]]);
}

#[test]
fn a_parent_that_only_reexports_is_part_of_no_circle() {
    let sources = CrateSources::from_texts(
        "sample",
        &[
            ("lib.rs", "pub mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use b::B; pub use c::C;"),
            ("a/b.rs", "pub struct B;"),
            ("a/c.rs", "use super::B; pub struct C(B);"),
        ],
    );
    assert_eq!(Imports::new(&sources).circles(), [[""; 0]; 0]);
}

#[test]
fn a_parent_that_reexports_and_holds_code_is_part_of_a_circle() {
    let sources = CrateSources::from_texts(
        "sample",
        &[
            ("lib.rs", "mod kind; mod list;"),
            (
                "kind/mod.rs",
                "mod result; pub use result::Found; use crate::list::Kind; pub struct One(Kind);",
            ),
            ("kind/result.rs", "pub struct Found;"),
            ("list.rs", "use crate::kind::Found; pub struct Kind(Found);"),
        ],
    );
    let circles = Imports::new(&sources).circles();
    assert_eq!(circles, [["kind/mod.rs", "list.rs", "kind/mod.rs"]]);
}

#[test]
fn a_type_that_a_parent_defines_and_its_child_imports_makes_a_circle() {
    let sources = CrateSources::from_texts(
        "sample",
        &[
            ("lib.rs", "mod a; use a::f; pub struct Top; fn g() { f() }"),
            ("a.rs", "use crate::Top; pub fn f() -> Top { Top }"),
        ],
    );
    assert_eq!(Imports::new(&sources).circles().len(), 1);
}

#[test]
fn a_type_has_a_name_of_its_own_in_the_workspace() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for sources in workspace() {
        for file in &sources.files {
            for name in file.types() {
                let place = format!("{}/{}", sources.name, file.path);
                places.entry(name).or_default().push(place);
            }
        }
    }
    let repeated: Vec<String> = places
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(repeated.is_empty(), "\n{}", repeated.join("\n"));
}
