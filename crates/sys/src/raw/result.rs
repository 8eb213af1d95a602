//! The results of system calls.

use std::ffi::c_int;
use std::io;

/// The result of a call that returns a count, or -1 with the reason in `errno`.
pub(crate) fn count(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

/// The result of a call that returns 0 or a small number, or -1 with the reason in `errno`.
pub(crate) fn number(returned: c_int) -> io::Result<c_int> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}
