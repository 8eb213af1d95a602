//! The processor time of threads and of the process.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

use crate::raw::number;

/// The CPU-time clock of one thread, readable from any thread of the same process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuClock {
    thread: libc::pid_t,
}

impl CpuClock {
    /// The clock of the calling thread.
    ///
    /// It names the thread by its kernel id, not by its memory, and may therefore outlive it.
    pub fn of_this_thread() -> Self {
        Self {
            thread: gettid().as_raw_nonzero().get(),
        }
    }

    /// The time the thread was runnable and waited for a processor.
    ///
    /// `None` once the thread has ended, or where the kernel does not keep this account (`CONFIG_SCHED_INFO`).
    /// Source: Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`, second field, ns.
    pub fn waited(self) -> Option<Duration> {
        let path = format!("/proc/self/task/{}/schedstat", self.thread);
        let text = fs::read_to_string(path).ok()?;
        text.split_whitespace()
            .nth(1)?
            .parse()
            .ok()
            .map(Duration::from_nanos)
    }

    /// `true` when the thread runs or waits for a processor now; a wait that lasts is not in [`Self::waited`] yet.
    ///
    /// `None` once the thread has ended. Source: proc(5), `/proc/<pid>/stat`, third field.
    pub fn is_runnable(self) -> Option<bool> {
        let path = format!("/proc/self/task/{}/stat", self.thread);
        let text = fs::read_to_string(path).ok()?;
        // The name of the thread before it may contain anything.
        let (_, rest) = text.rsplit_once(") ")?;
        Some(rest.starts_with('R'))
    }

    /// The processor time the thread has used, in user space and in the kernel together.
    ///
    /// `None` once the thread has ended. Should its id have been given to a later thread of this
    /// process, the time is that thread's.
    pub fn read(self) -> Option<Duration> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: `time` has room for what the call fills.
        number(unsafe { libc::clock_gettime(self.clock_id(), time.as_mut_ptr()) }).ok()?;
        // SAFETY: the call has succeeded, so it has filled it.
        let time = unsafe { time.assume_init() };
        Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    /// Source: `make_thread_cpuclock`, include/linux/posix-timers.h; the 6 is `CPUCLOCK_PERTHREAD_MASK` with
    /// `CPUCLOCK_SCHED`.
    const fn clock_id(self) -> libc::clockid_t {
        (!self.thread << 3) | 6
    }
}

/// The processor time all threads of this process have used, ended ones included.
pub fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The resource usage that the kernel accounts to a process or a thread. Source: getrusage(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rusage {
    /// Time spent in user space.
    pub user: Duration,
    /// Time spent in the kernel on its behalf.
    pub system: Duration,
    /// Context switches because the processor was given up to wait for something.
    pub voluntary_switches: u64,
    /// Context switches because the processor was taken away.
    pub involuntary_switches: u64,
}

impl Rusage {
    /// The usage of all threads of this process, ended ones included.
    pub fn of_process() -> Option<Self> {
        Self::read(libc::RUSAGE_SELF).ok()
    }

    /// The usage of the calling thread.
    pub fn of_this_thread() -> Option<Self> {
        Self::read(libc::RUSAGE_THREAD).ok()
    }

    fn read(who: libc::c_int) -> io::Result<Self> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` has room for what the call fills.
        number(unsafe { libc::getrusage(who, usage.as_mut_ptr()) })?;
        // SAFETY: the call has succeeded, so it has filled it.
        let usage = unsafe { usage.assume_init() };
        Ok(Self {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        })
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::path::Path;
    use std::sync::mpsc;
    use std::thread;

    /// Beyond `PID_MAX_LIMIT`, include/linux/threads.h.
    const NO_THREAD: libc::pid_t = 4_194_305;

    fn work() {
        for number in 0..2_000_000_u64 {
            black_box(number);
        }
    }

    #[test]
    fn a_thread_that_reads_its_own_state_is_runnable() {
        assert_eq!(CpuClock::of_this_thread().is_runnable(), Some(true));
        let waiting = std::thread::spawn(CpuClock::of_this_thread);
        let ended = waiting.join().unwrap();
        assert_ne!(ended.is_runnable(), Some(true));
    }

    #[test]
    fn the_time_a_thread_waited_for_a_processor_is_known_until_it_ends() {
        let (send, received) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            send.send(CpuClock::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let clock = received.recv().unwrap();
        if Path::new("/proc/self/schedstat").exists() {
            assert!(clock.waited().is_some());
        }
        drop(end);
        thread.join().unwrap();
        // A thread that was joined leaves /proc a little later.
        while clock.waited().is_some() {
            thread::yield_now();
        }
    }

    #[test]
    fn another_thread_can_read_how_busy_a_thread_is() {
        let (send, received) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let busy = thread::spawn(move || {
            work();
            send.send(CpuClock::of_this_thread()).unwrap();
            released.recv().unwrap_err();
        });
        let clock = received.recv().unwrap();
        assert!(clock.read().unwrap() > Duration::ZERO);
        drop(release);
        busy.join().unwrap();
        assert_eq!(CpuClock { thread: NO_THREAD }.read(), None);
    }

    #[test]
    fn work_shows_in_every_account() {
        let (thread, process) = (CpuClock::of_this_thread(), process_cpu());
        let before = thread.read().unwrap();
        work();
        assert!(thread.read().unwrap() > before);
        assert!(process_cpu() > process);
        let usage = Rusage::of_process().unwrap();
        assert!(usage.user + usage.system > Duration::ZERO);
        assert!(Rusage::of_this_thread().is_some());
    }
}
