//! Labs of real namespaces.

fn main() {}
