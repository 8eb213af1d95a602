//! The window that a path needs and what both kernels allow, as documents carry it.

mod baseline;
mod rate;
mod remedy;
mod report;
mod setting;

pub use baseline::{BaselineRtt, BaselineSource};
pub use rate::PathRateSource;
pub use remedy::{NextStep, Remedy};
pub use report::{WindowReport, WindowSufficiency};
pub use setting::{SettingEffect, SettingJudgement};
