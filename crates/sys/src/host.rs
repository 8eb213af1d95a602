//! What machine this is and what it is doing.

use std::fs;
use std::time::Duration;

/// The release of the running kernel, such as `6.18.0`.
pub fn kernel_release() -> Option<String> {
    sysctl("kernel.osrelease")
}

/// The name of this machine.
pub fn hostname() -> Option<String> {
    sysctl("kernel.hostname")
}

/// The name of the processor, as its maker or the kernel gives it.
pub fn cpu_model() -> Option<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").ok()?;
    // What x86 calls a model name other architectures call one of these.
    ["model name", "Model", "Processor", "cpu model", "uarch"]
        .into_iter()
        .find_map(|key| value_of(&cpus, key))
        .map(str::to_owned)
}

/// What the kernel reads the time from, such as `tsc`.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// How the first processor's frequency is chosen, such as `performance`; virtual machines do not say.
pub fn cpu_governor() -> Option<String> {
    line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
}

/// The memory of this machine, in bytes.
pub fn memory_bytes() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = value_of(&memory, "MemTotal")?.strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The only line of a file of the kernel's.
fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// A name for the time since this machine was started, new with every start.
pub fn boot_id() -> Option<String> {
    sysctl("kernel.random.boot_id")
}

/// A kernel setting by its dotted name, such as `net.core.rmem_max`, without the line's end.
///
/// `None` for one that does not exist or may not be read, and for names with anything in them but
/// letters, digits, `_`, `-` and single dots. A dot inside an interface's name is written `/`.
pub fn sysctl(name: &str) -> Option<String> {
    let path = sysctl_path(name)?;
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn sysctl_path(name: &str) -> Option<String> {
    let is_plain = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte);
        !part.is_empty()
            && part.bytes().all(allowed)
            && !part.starts_with('/')
            && !part.ends_with('/')
            && !part.contains("//")
    };
    let parts: Vec<_> = name.split('.').map(|part| part.replace('/', ".")).collect();
    name.split('.')
        .all(is_plain)
        .then(|| format!("/proc/sys/{}", parts.join("/")))
}

/// The load average over one, five and fifteen minutes.
pub fn load_average() -> Option<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let mut loads = text.split_whitespace().map_while(|load| load.parse().ok());
    Some([loads.next()?, loads.next()?, loads.next()?])
}

/// What all processors together have done since the start, each in time of one processor.
///
/// Resolution: 10 ms. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// Programs of ordinary priority.
    pub user: Duration,
    /// Programs of low priority.
    pub nice: Duration,
    /// The kernel on behalf of programs.
    pub system: Duration,
    /// Nothing.
    pub idle: Duration,
    /// Nothing, with a disk awaited.
    pub io_wait: Duration,
    /// Interrupts.
    pub irq: Duration,
    /// What interrupts left to do, the network's receiving side among it.
    pub soft_irq: Duration,
    /// Other guests of the same hypervisor, while this one wanted to run.
    pub steal: Duration,
}

/// What all processors together have done since the start.
pub fn cpu_times() -> Option<CpuTimes> {
    parse_cpu_times(&fs::read_to_string("/proc/stat").ok()?)
}

/// Processor time the hypervisor gave to others while this machine wanted it, in nanoseconds.
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

/// The kernel's UDP counters for this network namespace, IPv4 and IPv6 together.
///
/// Source: RFC 4113, and `snmp4_udp_list` in net/ipv4/proc.c for the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdpMib {
    /// Datagrams handed to a program.
    pub in_datagrams: u64,
    /// Datagrams sent.
    pub out_datagrams: u64,
    /// Datagrams that arrived and were dropped, those of `rcvbuf_errors` among them.
    pub in_errors: u64,
    /// Datagrams dropped because the receive buffer was full.
    pub rcvbuf_errors: u64,
    /// Datagrams dropped because the send buffer was full.
    pub sndbuf_errors: u64,
    /// Datagrams to a port nobody listened on.
    pub no_ports: u64,
}

/// The kernel's UDP counters, in the network namespace of the calling thread.
pub fn udp_counters() -> Option<UdpMib> {
    let v4 = fs::read_to_string("/proc/thread-self/net/snmp").ok()?;
    // Without IPv6 there is nothing to add.
    let v6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    parse_udp_counters(&v4, &v6)
}

fn parse_udp_counters(v4: &str, v6: &str) -> Option<UdpMib> {
    let mut lines = v4.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let v6: Vec<_> = v6
        .lines()
        .filter_map(|line| line.strip_prefix("Udp6")?.split_once(' '))
        .collect();
    let sum = |name: &str| -> u64 {
        let v4 = names.split_whitespace().zip(values.split_whitespace());
        let both = v4.chain(v6.iter().copied());
        both.filter(|(found, _)| *found == name)
            .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
            .sum()
    };
    Some(UdpMib {
        in_datagrams: sum("InDatagrams"),
        out_datagrams: sum("OutDatagrams"),
        in_errors: sum("InErrors"),
        rcvbuf_errors: sum("RcvbufErrors"),
        sndbuf_errors: sum("SndbufErrors"),
        no_ports: sum("NoPorts"),
    })
}

/// Whether this process runs as the superuser.
pub fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The most memory this process ever had resident, in bytes.
pub fn memory_peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = value_of(&status, "VmHWM")?.strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The value on the first line `key: value`.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_describe_itself() {
        assert!(
            kernel_release()
                .unwrap()
                .starts_with(|first: char| first.is_ascii_digit())
        );
        assert!(!hostname().unwrap().is_empty());
        assert_eq!(boot_id().unwrap().len(), 36);
        assert!(load_average().unwrap().iter().all(|load| *load >= 0.0));
        assert!(cpu_times().unwrap().user > Duration::ZERO);
        assert!(steal_ns().is_some());
        assert!(memory_peak_bytes().unwrap() > 100_000);
        assert!(memory_bytes().unwrap() > memory_peak_bytes().unwrap());
        let _ = (is_root(), cpu_model(), clock_source(), cpu_governor());
    }

    #[test]
    fn a_setting_is_found_by_its_dotted_name_and_nothing_else_is() {
        assert!(sysctl("net.core.rmem_max").unwrap().parse::<u64>().unwrap() > 0);
        for name in [
            "",
            ".",
            "no.such.setting",
            "net..core",
            "../etc/passwd",
            "/etc/passwd",
        ] {
            assert_eq!(sysctl(name), None, "{name}");
        }
        for name in ["net.ipv4.conf.//.x", "net.ipv4./..x", "a.//", "x.\0"] {
            assert_eq!(sysctl_path(name), None, "{name}");
        }
        let path = sysctl_path("net.ipv4.conf.eth0/7.mtu").unwrap();
        assert_eq!(path, "/proc/sys/net/ipv4/conf/eth0.7/mtu");
    }

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
    }

    #[test]
    fn udp_counters_are_summed_over_both_families() {
        let v4 = "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
                  Udp: 10 20 30 40 50 60\nUdpLite: InDatagrams\nUdpLite: 1000\n";
        let v6 =
            "Udp6InDatagrams                 \t1\nUdp6RcvbufErrors   \t5\nUdpLite6InDatagrams 9\n";
        let expected = UdpMib {
            in_datagrams: 11,
            no_ports: 20,
            in_errors: 30,
            out_datagrams: 40,
            rcvbuf_errors: 55,
            sndbuf_errors: 60,
        };
        assert_eq!(parse_udp_counters(v4, v6), Some(expected));
        assert_eq!(parse_udp_counters("", v6), None);
        assert!(udp_counters().is_some());
    }
}
