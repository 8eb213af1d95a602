//! Which processors a thread may run on.

use std::io;
use std::mem;

use crate::raw::number;

/// Lets the calling thread run on processor `cpu` alone.
///
/// # Errors
/// `InvalidInput` for a processor that does not exist or that this process is kept from.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut wanted = no_cpus();
    // SAFETY: `cpu` is below the number of bits in the set, checked above.
    unsafe { libc::CPU_SET(cpu, &mut wanted) };
    // SAFETY: the set is a live local of the size given; 0 is the calling thread.
    number(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &wanted) }).map(drop)
}

/// The processors the calling thread may run on, in ascending order.
///
/// Empty when the kernel does not say, as it would on a machine of more than 1024 processors.
pub fn available_cpus() -> Vec<usize> {
    let mut allowed = no_cpus();
    // SAFETY: the set is a live local of the size given; 0 is the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed) };
    if answer < 0 {
        return Vec::new();
    }
    let is_allowed = |cpu: &usize| {
        // SAFETY: `cpu` is below the number of bits in the set, as the range below says.
        unsafe { libc::CPU_ISSET(*cpu, &allowed) }
    };
    (0..libc::CPU_SETSIZE as usize).filter(is_allowed).collect()
}

fn no_cpus() -> libc::cpu_set_t {
    // SAFETY: the set is an array of integers, for which all zero bits are a value: the empty set.
    unsafe { mem::zeroed() }
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
