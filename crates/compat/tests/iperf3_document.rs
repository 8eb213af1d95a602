//! The document on iperf3, a section of which is generated from the table of options.

use caudal_compat::option_document::with_section;
use std::path::Path;

#[test]
fn the_document_on_iperf3_lists_the_options_that_are_absent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/iperf3.md");
    let document = std::fs::read_to_string(path).unwrap();
    let generated = with_section(&document, &caudal_compat::iperf3::absent_options());
    assert!(
        generated.as_ref() == Some(&document),
        "docs/iperf3.md is out of date: cargo run -p xtask -- reference"
    );
}
