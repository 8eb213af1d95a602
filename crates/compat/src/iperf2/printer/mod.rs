//! The output of iperf 2.1, line for line: settings, connections, intervals, sums, reports of a server, and CSV.

mod address;
mod banner;
mod connection_line;
mod counts;
mod csv;
mod flow;
mod group_sums;
mod header;
mod histogram;
mod line;
mod mtu;
mod printer;
mod sum;
#[cfg(test)]
mod tests;

pub use printer::{Iperf2Printer, SessionPrinter};
