//! The report of a study, a file for each section.

mod agreement;
mod environment;
mod numbers;
mod published;
mod starvation;
mod statistics;
mod study_page;
mod tables;
mod verdict;
mod warnings;

pub use environment::environment;
pub use study_page::study_page;
pub use warnings::counted_items;
