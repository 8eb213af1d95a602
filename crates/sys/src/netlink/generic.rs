//! Generic netlink: the families that modules of the kernel register, such as `ethtool` and `nl80211`.

use std::io;

use super::attribute::{attributes, text};
use super::socket::NetlinkSocket;
use crate::raw;

/// The length of a `struct genlmsghdr`: command, version, 16 bits that stay zero. Source: include/uapi/linux/genetlink.h.
const HEADER: usize = 4;
/// The version of the commands of a family; one so far for all that are used here.
const VERSION: u8 = 1;

/// A connection to one family of generic netlink, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub(crate) struct GenericNetlink {
    socket: NetlinkSocket,
    family: u16,
}

impl GenericNetlink {
    /// A connection to the family called `name`; `None` when the kernel has none of that name.
    ///
    /// All families are listed and the name is looked for here: a request by name makes the kernel load the module that has it
    /// (`ctrl_getfamily`, net/netlink/genetlink.c), and a measurement is not to change the machine.
    ///
    /// # Errors
    /// Any error of the request.
    pub(crate) fn open(name: &str) -> io::Result<Option<Self>> {
        let socket = NetlinkSocket::open(libc::NETLINK_GENERIC)?;
        let body = header(libc::CTRL_CMD_GETFAMILY as u8);
        let kind = libc::GENL_ID_CTRL as u16;
        let replies = socket.request(kind, libc::NLM_F_DUMP, &body)?;
        let family = replies.iter().find_map(|reply| family_called(name, reply));
        Ok(family.map(|family| Self { socket, family }))
    }

    /// Sends one command with its attributes and returns the attributes of the reply.
    ///
    /// # Errors
    /// The error with which the family answers; `InvalidData` when there is no reply.
    pub(crate) fn request(&self, command: u8, attributes: &[u8]) -> io::Result<Vec<u8>> {
        let body = [&header(command), attributes].concat();
        let replies = self.socket.request(self.family, 0, &body)?;
        let attributes = replies.first().and_then(|reply| reply.get(HEADER..));
        Ok(attributes.ok_or(io::ErrorKind::InvalidData)?.to_vec())
    }
}

/// The `struct genlmsghdr` of a command.
fn header(command: u8) -> [u8; HEADER] {
    [command, VERSION, 0, 0]
}

/// The number of the family that a reply to `CTRL_CMD_GETFAMILY` describes; `None` unless it is called `name`.
fn family_called(name: &str, reply: &[u8]) -> Option<u16> {
    let attributes = attributes(reply.get(HEADER..)?);
    let found = attributes.get(&(libc::CTRL_ATTR_FAMILY_NAME as u16))?;
    let number = attributes.get(&(libc::CTRL_ATTR_FAMILY_ID as u16))?;
    (text(found) == name).then(|| raw::u16_at(number, 0))?
}

#[cfg(test)]
mod tests {
    use super::super::attribute::push_attribute;
    use super::*;

    #[test]
    fn a_family_is_found_by_its_name() {
        let mut reply = header(1).to_vec();
        push_attribute(&mut reply, 2, b"ethtool\0");
        push_attribute(&mut reply, 1, &21_u16.to_ne_bytes());
        assert_eq!(family_called("ethtool", &reply), Some(21));
        assert_eq!(family_called("ethtoo", &reply), None);
        for length in 0..reply.len() - 4 {
            assert_eq!(family_called("ethtool", &reply[..length]), None, "{length}");
        }
    }

    #[test]
    fn the_controller_is_itself_a_family_and_others_do_not_exist() {
        let controller = GenericNetlink::open("nlctrl").unwrap().unwrap();
        assert_eq!(i32::from(controller.family), libc::GENL_ID_CTRL);
        assert!(GenericNetlink::open("no-such-family").unwrap().is_none());
        let unknown = controller.request(u8::MAX, &[]).unwrap_err();
        assert_eq!(unknown.raw_os_error(), Some(libc::EOPNOTSUPP));
    }
}
