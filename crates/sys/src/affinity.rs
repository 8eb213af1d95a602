//! The processors on which a thread may run.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Restricts the calling thread to processor `cpu`.
///
/// # Errors
/// `InvalidInput` for a processor that does not exist or is not available to this process.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}

/// The processors on which the calling thread may run, in ascending order.
///
/// Empty when the kernel does not report them, as on a machine of more than 1024 processors.
pub fn available_cpus() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return Vec::new();
    };
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_pinned_thread_has_one_processor_left() {
        let pinned = thread::spawn(|| {
            let last = *available_cpus().last().expect("this thread runs somewhere");
            pin_this_thread(last).map(|()| (last, available_cpus()))
        });
        let (cpu, left) = pinned.join().unwrap().unwrap();
        assert_eq!(left, [cpu]);
    }

    #[test]
    fn a_processor_that_does_not_exist_is_refused() {
        for cpu in [1023, 1024, usize::MAX] {
            let refusal = pin_this_thread(cpu).unwrap_err();
            assert_eq!(
                refusal.kind(),
                io::ErrorKind::InvalidInput,
                "processor {cpu}"
            );
        }
    }
}
