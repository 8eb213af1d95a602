//! Clocks, waiting, and the processor time a thread or the process has used.

use std::io;
use std::mem;
use std::time::Duration;

use crate::raw::number;

/// Nanoseconds on the clock that never steps, counted from some time at or before the boot.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).map_or(0, nanoseconds)
}

/// Nanoseconds of the wall clock since 1970-01-01 UTC. The administrator may step this clock.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME).map_or(0, nanoseconds)
}

/// A moment of the wall clock as this machine's calendar says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTime {
    /// The year.
    pub year: i32,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
    /// The hour.
    pub hour: u8,
    /// The minute.
    pub minute: u8,
    /// The second, 60 in a leap second.
    pub second: u8,
    /// The time zone's short name, as `CET`.
    pub zone: String,
}

impl LocalTime {
    /// The calendar's reading so many seconds after the epoch; in UTC where `utc` says so.
    ///
    /// `None` for a time no calendar reaches.
    pub fn at(seconds: u64, utc: bool) -> Option<Self> {
        let seconds = libc::time_t::try_from(seconds).ok()?;
        let mut parts = std::mem::MaybeUninit::<libc::tm>::uninit();
        // SAFETY: `seconds` is readable and `parts` writable; both calls fill all of it or answer null.
        let filled = unsafe {
            if utc {
                libc::gmtime_r(&raw const seconds, parts.as_mut_ptr())
            } else {
                libc::localtime_r(&raw const seconds, parts.as_mut_ptr())
            }
        };
        if filled.is_null() {
            return None;
        }
        // SAFETY: the call has filled it.
        let parts = unsafe { parts.assume_init() };
        let zone = if utc || parts.tm_zone.is_null() {
            "UTC".to_owned()
        } else {
            // SAFETY: a name the C library gives is a string that ends, and lives as long as the program.
            unsafe { std::ffi::CStr::from_ptr(parts.tm_zone) }
                .to_string_lossy()
                .into_owned()
        };
        Some(Self {
            year: parts.tm_year + 1900,
            month: parts.tm_mon as u8 + 1,
            day: parts.tm_mday as u8,
            hour: parts.tm_hour as u8,
            minute: parts.tm_min as u8,
            second: parts.tm_sec as u8,
            zone,
        })
    }
}

/// Waits until [`monotonic_ns`] has reached the deadline; at once when it has already.
///
/// Signals do not shorten the wait.
pub fn sleep_until(deadline_monotonic_ns: u64) {
    // SAFETY: the structure is made of integers, for which all zero bits are a value.
    let mut deadline: libc::timespec = unsafe { mem::zeroed() };
    deadline.tv_sec = (deadline_monotonic_ns / 1_000_000_000) as libc::time_t;
    deadline.tv_nsec = (deadline_monotonic_ns % 1_000_000_000) as libc::c_long;
    let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    loop {
        // SAFETY: `deadline` is a live local; no remainder is written for an absolute deadline.
        let answer =
            unsafe { libc::clock_nanosleep(clock, absolute, &deadline, std::ptr::null_mut()) };
        if answer != libc::EINTR {
            return;
        }
    }
}

/// Lets the kernel wake the calling thread up to `slack` nanoseconds late, to save wake-ups.
///
/// The default is 50 µs; 1 is the least, as 0 means the default. Source: prctl(2), `PR_SET_TIMERSLACK`.
///
/// # Errors
/// Whatever the kernel has against it.
pub fn set_timer_slack_ns(slack: u64) -> io::Result<()> {
    let slack = libc::c_ulong::try_from(slack).unwrap_or(libc::c_ulong::MAX);
    // SAFETY: the call takes a number and changes nothing but the calling thread's timers.
    number(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }).map(drop)
}

/// The processor time of one thread, readable from any thread of the same process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuClock {
    id: libc::clockid_t,
}

impl CpuClock {
    /// The clock of the calling thread.
    ///
    /// It names the thread by its kernel id, not by its memory, and may therefore outlive it.
    /// Source: `make_thread_cpuclock`, include/linux/posix-timers.h; the 6 is "one thread, its time
    /// scheduled".
    pub fn of_this_thread() -> Self {
        // SAFETY: the call takes nothing and cannot fail.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t;
        Self::of_thread(thread)
    }

    fn of_thread(thread: libc::pid_t) -> Self {
        Self {
            id: (!thread << 3) | 6,
        }
    }

    /// How long the thread has been ready to run without a processor to run on.
    ///
    /// `None` once the thread has ended, or where the kernel does not keep this account (CONFIG_SCHED_INFO).
    /// Source: Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`, second field, ns.
    pub fn waited(self) -> Option<Duration> {
        let thread = !(self.id >> 3);
        let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        text.split_whitespace()
            .nth(1)?
            .parse()
            .ok()
            .map(Duration::from_nanos)
    }

    /// The processor time the thread has used, in user space and in the kernel together.
    ///
    /// `None` once the thread has ended. Should its id have been given to a later thread of this
    /// process, the answer is that thread's.
    pub fn read(self) -> Option<Duration> {
        read(self.id)
    }
}

/// The processor time all threads of this process have used, ended ones included.
pub fn process_cpu() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

/// A moment, s since 1970, in the words of a format of strftime(3): in universal time, or where this
/// machine is. `None` for a format that makes more than 1000 bytes, or nothing.
pub fn format_time(seconds: u64, format: &str, universal: bool) -> Option<String> {
    let format = std::ffi::CString::new(format).ok()?;
    let seconds = libc::time_t::try_from(seconds).ok()?;
    // SAFETY: the structure is made of integers and a pointer, for which all zero bits are a value.
    let mut broken: libc::tm = unsafe { mem::zeroed() };
    let filled = if universal {
        // SAFETY: both point at live locals of the types the call takes.
        unsafe { libc::gmtime_r(&seconds, &mut broken) }
    } else {
        // SAFETY: both point at live locals of the types the call takes.
        unsafe { libc::localtime_r(&seconds, &mut broken) }
    };
    if filled.is_null() {
        return None;
    }
    let mut text = [0_u8; 1000];
    // SAFETY: `text` is writable for its length, the format ends with a NUL, `broken` was filled above.
    let length = unsafe {
        libc::strftime(
            text.as_mut_ptr().cast(),
            text.len(),
            format.as_ptr(),
            &broken,
        )
    };
    let text = text.get(..length).filter(|text| !text.is_empty())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// What the kernel has charged for running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rusage {
    /// Time spent in user space.
    pub user: Duration,
    /// Time spent in the kernel on its behalf.
    pub system: Duration,
    /// Times the processor was given up to wait for something.
    pub voluntary_switches: u64,
    /// Times the processor was taken away.
    pub involuntary_switches: u64,
}

impl Rusage {
    /// What all threads of this process were charged, ended ones included.
    pub fn of_process() -> Option<Self> {
        Self::of(libc::RUSAGE_SELF)
    }

    /// What the calling thread was charged.
    pub fn of_this_thread() -> Option<Self> {
        Self::of(libc::RUSAGE_THREAD)
    }

    fn of(who: libc::c_int) -> Option<Self> {
        // SAFETY: the structure is made of integers, for which all zero bits are a value.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is a live local of the type the call fills.
        number(unsafe { libc::getrusage(who, &mut usage) }).ok()?;
        Some(Self {
            user: time_of_day(usage.ru_utime),
            system: time_of_day(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
        })
    }
}

fn time_of_day(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn read(clock: libc::clockid_t) -> Option<Duration> {
    // SAFETY: the structure is made of integers, for which all zero bits are a value.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: `time` is a live local of the type the call fills.
    number(unsafe { libc::clock_gettime(clock, &mut time) }).ok()?;
    Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_is_told_how_long_it_waited_for_a_processor_until_it_ends() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(super::CpuClock::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let clock = told.recv().unwrap();
        if std::path::Path::new("/proc/self/schedstat").exists() {
            assert!(clock.waited().is_some());
        }
        drop(end);
        thread.join().unwrap();
        assert_eq!(clock.waited(), None);
    }

    use super::*;
    use std::hint::black_box;
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
    fn a_deadline_is_never_left_early() {
        for wait in [0, 50_000, 1_000_000] {
            let deadline = monotonic_ns() + wait;
            sleep_until(deadline);
            assert!(monotonic_ns() >= deadline);
        }
        sleep_until(0);
    }

    #[test]
    fn the_wall_clock_is_past_the_year_2020() {
        assert!(realtime_ns() > 1_577_836_800_000_000_000);
    }

    #[test]
    fn the_timer_slack_can_be_lowered() {
        set_timer_slack_ns(1).unwrap();
    }

    #[test]
    fn another_thread_can_read_how_busy_a_thread_is() {
        let (tell, told) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let busy = thread::spawn(move || {
            work();
            tell.send(CpuClock::of_this_thread()).unwrap();
            released.recv().unwrap_err();
        });
        let clock = told.recv().unwrap();
        assert!(clock.read().unwrap() > Duration::ZERO);
        drop(release);
        busy.join().unwrap();
        assert_eq!(CpuClock::of_thread(NO_THREAD).read(), None);
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
