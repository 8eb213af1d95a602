//! The figures of reports, drawn from findings, trials and runs.

mod by_case;
mod figure_groups;
mod over_time;
mod round_trips;
mod selection;
mod study_material;

pub use figure_groups::{figure_groups, numbered};
pub use over_time::{
    lines_figure, loss_figure, rates_figure, rtt_figure, time_figure, window_figure, with_arrivals,
    with_episodes, with_marks, with_rules,
};
pub use round_trips::{box_figure, cdf_figure, first_figure, run_over_time_figure, sizes_figure};
pub use selection::label;
pub use study_material::StudyMaterial;
