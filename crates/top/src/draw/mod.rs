//! A test, a server or a lab on a screen of any size.

mod area;
mod chart;
mod help;
mod layout;
mod plain;
mod rows;
mod server;
mod summary;
mod test;
mod theme;

#[cfg(test)]
mod tests;

pub(crate) use plain::make_plain;
pub(crate) use server::{draw_server, draw_text};
pub(crate) use test::{draw_test, shown_range};
pub(crate) use theme::Theme;
