//! Figures over time: of one trial or one run.

mod figure_group;
mod interfaces;
mod lines;
mod loss;
mod rates;
mod share;
mod time_figure;
mod window;

pub use figure_group::figure_group;
pub use lines::{lines_figure, rtt_figure};
pub use loss::loss_figure;
pub use rates::rates_figure;
pub use time_figure::{time_figure, with_arrivals, with_episodes, with_marks, with_rules};
pub use window::window_figure;
