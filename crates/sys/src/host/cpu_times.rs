//! The times of the processors: proc_stat(5).

use std::fs;
use std::time::Duration;

/// The time all processors together have spent in each state since the boot.
///
/// Resolution: 10 ms. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// Processes of ordinary priority.
    pub user: Duration,
    /// Processes of low priority.
    pub nice: Duration,
    /// The kernel on behalf of processes.
    pub system: Duration,
    /// Idle.
    pub idle: Duration,
    /// Idle while waiting for a disk.
    pub io_wait: Duration,
    /// Interrupts.
    pub irq: Duration,
    /// Soft interrupts, among them the receiving side of the network.
    pub soft_irq: Duration,
    /// Other guests of the hypervisor, while this one was runnable.
    pub steal: Duration,
}

/// The time all processors together have spent in each state since the boot.
pub fn cpu_times() -> Option<CpuTimes> {
    parse_cpu_times(&fs::read_to_string("/proc/stat").ok()?)
}

/// The processor time the hypervisor gave to others while this machine was runnable, in nanoseconds.
pub fn steal_ns() -> Option<u64> {
    u64::try_from(cpu_times()?.steal.as_nanos()).ok()
}

fn parse_cpu_times(stat: &str) -> Option<CpuTimes> {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let mut ticks = all
        .split_whitespace()
        .map_while(|ticks| ticks.parse::<u64>().ok());
    // `USER_HZ` is 100 towards user space on every architecture Linux still runs on.
    let mut next = || {
        ticks
            .next()
            .map(|ticks| Duration::from_millis(ticks.saturating_mul(10)))
    };
    Some(CpuTimes {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        io_wait: next()?,
        irq: next()?,
        soft_irq: next()?,
        steal: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_are_in_hundredths_of_a_second() {
        let stat = "cpu  1 2 3 4 5 6 7 800 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let times = parse_cpu_times(stat).unwrap();
        assert_eq!(
            (times.user.as_millis(), times.soft_irq.as_millis()),
            (10, 70)
        );
        assert_eq!(times.steal, Duration::from_secs(8));
        assert_eq!(parse_cpu_times("cpu  1 2 3\n"), None);
        assert!(cpu_times().unwrap().user > Duration::ZERO);
        assert!(steal_ns().is_some());
    }
}
