//! The kernel's own record of the packets that it drops (`skb:kfree_skb`), where this program may read it: with tracefs mounted, as root.

use caudal_core::drop_reasons::DropReasons;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where tracefs is mounted, by distributions and by itself.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The event.
const EVENT: &str = "events/skb/kfree_skb";
/// The buffers of all processors together, and the smallest of one, KiB.
const BUFFER_KIB: usize = 4096;
const MIN_BUFFER_KIB: usize = 64;
/// The IP packets that are not dropped for a socket that was closed, or that the kernel had already.
const PROTOCOLS: &str = "(protocol == 0x0800 || protocol == 0x86dd)";
/// The name of an instance of this program, before its process's number.
const INSTANCE: &str = "caudal-";

/// Minimum age of an instance that is taken for one that was left behind.
const MIN_AGE: Duration = Duration::from_secs(24 * 3600);

/// A recording of the drops on this machine; at most one of a process. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct DropRecorder {
    instance: PathBuf,
}

impl DropRecorder {
    /// Begins to record; `None` where this program may not, the kernel gives no reasons, or it records already.
    pub(crate) fn start() -> Option<Self> {
        let mount = MOUNTS.iter().map(Path::new);
        let mut mounts = mount.filter(|mount| mount.join(EVENT).join("format").exists());
        Self::start_in(mounts.next()?)
    }

    fn start_in(mount: &Path) -> Option<Self> {
        let format = fs::read_to_string(mount.join(EVENT).join("format")).ok()?;
        let numbers = numbers(&format);
        if numbers.is_empty() {
            return None;
        }
        let instances = mount.join("instances");
        remove_left_behind(&instances);
        let instance = instances.join(format!("{INSTANCE}{}", std::process::id()));
        fs::create_dir(&instance).ok()?;
        let recorder = Self { instance };
        recorder.enable(&numbers).ok()?;
        Some(recorder)
    }

    fn enable(&self, numbers: &BTreeMap<&str, u32>) -> io::Result<()> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let each = (BUFFER_KIB / processors).max(MIN_BUFFER_KIB);
        self.write("buffer_size_kb", &each.to_string())?;
        let no_loss = DropReasons::NO_LOSS.iter();
        let no_loss = no_loss.filter_map(|name| numbers.get(name));
        let filter = no_loss.fold(PROTOCOLS.to_owned(), |all, number| {
            format!("{all} && reason != {number}")
        });
        self.write(&format!("{EVENT}/filter"), &filter)?;
        self.write(&format!("{EVENT}/enable"), "1")
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.instance.join(name), text)
    }

    /// The drops so far.
    pub(crate) fn read(&self) -> Option<DropReasons> {
        let trace = fs::File::open(self.instance.join("trace")).ok()?;
        let mut reasons = DropReasons::default();
        for line in BufReader::new(trace).lines() {
            if let Some(reason) = reason_of(&line.ok()?) {
                reasons.count(reason);
            }
        }
        reasons.missed = self.missed();
        Some(reasons)
    }

    /// The events that found no room.
    fn missed(&self) -> u64 {
        let processors = fs::read_dir(self.instance.join("per_cpu"));
        let processors = processors.into_iter().flatten().flatten();
        let of_processor = |entry: fs::DirEntry| {
            let stats = fs::read_to_string(entry.path().join("stats")).ok()?;
            Some(missed_in(&stats))
        };
        processors.filter_map(of_processor).sum()
    }
}

impl Drop for DropRecorder {
    fn drop(&mut self) {
        let _ = self.write(&format!("{EVENT}/enable"), "0");
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes the instances of processes of this program that were killed: those that are a day old, as other PID namespaces have processes that
/// do not show here.
fn remove_left_behind(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(INSTANCE));
        let process = process.and_then(|process| process.parse::<u32>().ok());
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        let is_old = age.is_some_and(|age| age >= MIN_AGE);
        if is_old && process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
        {
            let _ = fs::write(entry.path().join(EVENT).join("enable"), "0");
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The numbers of the reasons by their names, from the event's format: `{ 12, "NETFILTER_DROP" }`. They differ between versions of the kernel.
fn numbers(format: &str) -> BTreeMap<&str, u32> {
    let Some((_, symbols)) = format.split_once("__print_symbolic(REC->reason") else {
        return BTreeMap::new();
    };
    let pairs = symbols.split('{').skip(1);
    let pairs = pairs.filter_map(|pair| pair.split_once(','));
    pairs
        .filter_map(|(number, name)| {
            let number = number.trim().parse().ok()?;
            Some((name.split('"').nth(1)?, number))
        })
        .collect()
}

/// The reason in a line of the trace; `None` in a comment.
fn reason_of(line: &str) -> Option<&str> {
    let (_, reason) = line.rsplit_once(" reason: ")?;
    (!line.starts_with('#')).then(|| reason.trim())
}

/// The events of a processor that were overwritten or dropped, from its statistics.
fn missed_in(stats: &str) -> u64 {
    let of = |name: &str| {
        let mut lines = stats.lines().filter_map(|line| line.strip_prefix(name));
        lines.find_map(|rest| rest.trim().parse::<u64>().ok())
    };
    of("overrun:").unwrap_or(0) + of("dropped events:").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_numbers_of_this_kernel() {
        let format = "name: kfree_skb\nprint fmt: \"reason: %s\", __print_symbolic(REC->reason, { 2, \"NOT_SPECIFIED\" }, { 12, \"NETFILTER_DROP\" })";
        let numbers = numbers(format);
        assert_eq!(numbers["NETFILTER_DROP"], 12);
        assert_eq!(numbers.len(), 2);
        // Before Linux 5.17 there are no reasons.
        assert!(super::numbers("print fmt: \"protocol=%u\", REC->protocol").is_empty());
    }

    #[test]
    fn lines_and_statistics_are_read() {
        let line = "   <idle>-0       [001] ..s2.  310.1: kfree_skb: skbaddr=0000 rx_sk=0000 protocol=2048 location=nf_hook_slow+0x9d/0xb0 reason: NETFILTER_DROP";
        assert_eq!(reason_of(line), Some("NETFILTER_DROP"));
        assert_eq!(reason_of("# reason: NOTHING"), None);
        assert_eq!(reason_of("CPU:0 [LOST 12 EVENTS]"), None);
        assert_eq!(missed_in("entries: 9\noverrun: 5\ndropped events: 2\n"), 7);
        assert_eq!(missed_in(""), 0);
    }
}
