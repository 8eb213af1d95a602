//! Figures over time: of one trial or one run.

mod figure_group;

pub use figure_group::{
    figure_group, lines_figure, loss_figure, rates_figure, rtt_figure, window_figure,
};
