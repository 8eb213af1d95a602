//! The machine: its identity and settings, its load, its UDP counters, and those of dropped packets.

mod cpu_times;
mod drop_counters;
mod machine;
mod names;
mod sockets;
mod sysctl;
mod throttling;
mod udp_mib;

pub use cpu_times::{CpuTimes, cpu_times, steal_ns};
pub use drop_counters::{DropCounters, drop_counters};
pub use machine::{
    boot_id, clock_source, cpu_governor, cpu_model, hostname, is_root, kernel_release,
    load_average, memory_bytes, memory_peak_bytes, time_namespace,
};
pub use names::name_of;
pub use sockets::{local_port_count, time_wait_sockets};
pub use sysctl::sysctl;
pub use throttling::throttled_ns;
pub use udp_mib::{UdpMib, tcp_checksum_errors, udp_counters};
