//! `caudal tcp` and `caudal udp`: bulk transfers, once, several times, or in search of the highest rate.

mod assemble;
mod empty_input;
mod find_rate;
mod measure;
mod plan;
mod recorder;
mod tcp;
mod udp;

pub use plan::check_link_rate;
pub use tcp::tcp;
pub use udp::udp;
