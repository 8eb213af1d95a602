//! The command line of caudal.
#![forbid(unsafe_code)]
