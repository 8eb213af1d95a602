//! The names of addresses: getnameinfo(3).

use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};

use socket2::SockAddr;

/// Maximum length of a name with its terminating zero. Source: netdb.h, `NI_MAXHOST`.
const NI_MAXHOST: usize = 1025;

/// The name that the resolver has for an address; `None` where it has none. Waits for the resolver, which may take many seconds.
pub fn name_of(address: IpAddr) -> Option<String> {
    let address = SockAddr::from(SocketAddr::new(address, 0));
    let mut name = [0_u8; NI_MAXHOST];
    // SAFETY: the address is live and has the length given, and `name` is writable for its length; no service is asked for.
    let outcome = unsafe {
        libc::getnameinfo(
            address.as_ptr().cast(),
            address.len(),
            name.as_mut_ptr().cast(),
            NI_MAXHOST as libc::socklen_t,
            std::ptr::null_mut(),
            0,
            libc::NI_NAMEREQD,
        )
    };
    if outcome != 0 {
        return None;
    }
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    Some(name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_name_or_none() {
        // /etc/hosts names loopback on most machines, and on some it does not exist.
        let name = name_of(IpAddr::from([127, 0, 0, 1]));
        assert!(name.is_none_or(|name| !name.is_empty() && name != "127.0.0.1"));
    }
}
