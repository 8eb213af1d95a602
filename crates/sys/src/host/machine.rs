//! The identity and the state of the machine and of this process on it.

use std::fs;

use rustix::process::geteuid;

use super::sysctl::{kilobytes_of, line, sysctl, value_of};

/// The release of the running kernel, such as `6.18.0`.
pub fn kernel_release() -> Option<String> {
    sysctl("kernel.osrelease")
}

/// The name of this machine.
pub fn hostname() -> Option<String> {
    sysctl("kernel.hostname")
}

/// The model of the processor, as its vendor or the kernel names it.
pub fn cpu_model() -> Option<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").ok()?;
    // Other architectures have one of these for the model name of x86.
    ["model name", "Model", "Processor", "cpu model", "uarch"]
        .into_iter()
        .find_map(|key| value_of(&cpus, key))
        .map(str::to_owned)
}

/// The clock source of the kernel, such as `tsc`.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The frequency governor of the first processor, such as `performance`; absent in virtual machines.
pub fn cpu_governor() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// The memory of this machine, in bytes.
pub fn memory_bytes() -> Option<u64> {
    kilobytes_of("/proc/meminfo", "MemTotal")
}

/// The identifier of this boot of the machine, new with every start.
pub fn boot_id() -> Option<String> {
    sysctl("kernel.random.boot_id")
}

/// The time namespace of this process, such as `time:[4026531834]`; `None` before Linux 5.6.
pub fn time_namespace() -> Option<String> {
    let target = fs::read_link("/proc/self/ns/time").ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// The load average over one, five and fifteen minutes.
pub fn load_average() -> Option<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut loads = text.split_whitespace().map_while(|load| load.parse().ok());
    Some([loads.next()?, loads.next()?, loads.next()?])
}

/// `true` when this process runs as the superuser.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// The peak resident memory of this process, in bytes.
pub fn memory_peak_bytes() -> Option<u64> {
    kilobytes_of("/proc/self/status", "VmHWM")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        assert!(
            kernel_release()
                .unwrap()
                .starts_with(|first: char| first.is_ascii_digit())
        );
        assert!(!hostname().unwrap().is_empty());
        assert_eq!(boot_id().unwrap().len(), 36);
        assert!(load_average().unwrap().iter().all(|load| *load >= 0.0));
        assert!(memory_peak_bytes().unwrap() > 100_000);
        assert!(memory_bytes().unwrap() > memory_peak_bytes().unwrap());
        let _ = (is_root(), cpu_model(), clock_source(), cpu_governor());
    }
}
