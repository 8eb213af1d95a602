//! The documents whose sections are generated from tables of options.

use caudal_compat::option_document::with_section;
use std::path::Path;

#[test]
fn the_document_on_iperf_2_lists_the_options_that_are_absent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/iperf2.md");
    let document = std::fs::read_to_string(path).unwrap();
    let generated = with_section(&document, &caudal_compat::iperf2::absent_options());
    assert!(
        generated.as_ref() == Some(&document),
        "docs/iperf2.md is out of date: cargo run -p xtask -- reference"
    );
}
