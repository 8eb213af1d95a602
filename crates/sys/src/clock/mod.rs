//! Clocks, waiting, and the processor time a thread or the process has used.

mod calendar;
mod cpu;
mod discipline;
mod time;

pub use calendar::{LocalTime, format_time};
pub use cpu::{CpuClock, Rusage, process_cpu};
pub use discipline::{ClockDiscipline, clock_discipline};
pub use time::{
    monotonic_ns, realtime_ns, set_timer_slack_ns, sleep_until, suspended_ns, tick_ns,
    wall_offset_ns,
};
