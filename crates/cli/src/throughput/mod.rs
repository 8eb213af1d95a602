//! `caudal tcp` and `caudal udp`: bulk transfers, once, several times, or in search of the highest rate.

mod plan;
mod run;
mod tcp;
mod udp;

pub use plan::check_link_rate;
pub use tcp::tcp;
pub use udp::udp;
