//! The window that a path needs: the bandwidth-delay product, what both kernels allow, and what to do next.
//!
//! A connection sends at most a window in each round trip, so a window smaller than the bandwidth-delay product leaves the path idle.
//! [`WindowNeed`] is the arithmetic, [`WindowSettings`] what a kernel allows, [`judge_settings`] compares the two setting by setting,
//! [`WindowPath::report`] makes what a run says of a direction, and [`next_step()`] names the remedy of what limited it.

mod judge;
mod need;
mod next_step;
mod path;
mod rate;
mod setting;
mod settings;

pub use judge::judge_settings;
pub use need::{
    MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, WindowNeed, bandwidth_delay_product, flows_needed,
    window_rate,
};
pub use next_step::{StepEvidence, next_step, next_step_of_settings};
pub use path::{WindowPath, allowed_bps, flows_that_fill};
pub use rate::PathRate;
pub use setting::set_line;
pub use settings::{BufferRange, WINDOW_SYSCTLS, WindowSettings};
