//! Whether an interface is wireless: generic netlink, family `nl80211`.

use std::io;

use crate::netlink::{GenericNetlink, push_attribute};

/// `true` when interface `index` is wireless, IEEE 802.11; `None` when the kernel does not say.
///
/// The wireless extensions (`SIOCGIWNAME`) do not suffice: kernels may lack them, and Wi-Fi 7 devices have none.
pub(super) fn is_wireless(index: u32) -> Option<bool> {
    // Source: include/uapi/linux/nl80211.h.
    const GET_INTERFACE: u8 = 5;
    const INTERFACE_INDEX: u16 = 3;
    let Some(nl80211) = GenericNetlink::open("nl80211").ok()? else {
        // Without the family there is no wireless interface in this kernel.
        return Some(false);
    };
    let mut attributes = Vec::new();
    push_attribute(&mut attributes, INTERFACE_INDEX, &index.to_ne_bytes());
    answer(&nl80211.request(GET_INTERFACE, &attributes))
}

/// What the answer to a request about an interface says; an interface that is not wireless is no device to the family.
fn answer(reply: &io::Result<Vec<u8>>) -> Option<bool> {
    match reply {
        Ok(_) => Some(true),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Some(false),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_such_device_is_an_answer_and_other_errors_are_none() {
        let error = |number| Err(io::Error::from_raw_os_error(number));
        assert_eq!(answer(&Ok(Vec::new())), Some(true));
        assert_eq!(answer(&error(libc::ENODEV)), Some(false));
        assert_eq!(answer(&error(libc::EPERM)), None);
    }
}
