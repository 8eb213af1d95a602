//! The selection of the traffic of a test, in the kernel.

use std::io;
use std::net::IpAddr;

use socket2::Socket;

use super::bpf::{
    AND, IF_ANY_BIT, IF_EQUAL, Instruction, LOAD_BYTE, LOAD_HALF, LOAD_HALF_INDEXED, LOAD_WORD,
    NETWORK, OUTGOING, PACKET_TYPE, PROTOCOL, Program, SHIFT_LEFT, TO_INDEX,
};
use crate::raw;

/// The traffic between this machine and one address, as far as it has one port there.
///
/// Datagrams of other protocols than TCP and UDP between both, later fragments and ICMP messages from anywhere are selected as well: these are part
/// of what happens to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficFilter {
    /// The other machine.
    pub peer: IpAddr,
    /// The port of TCP and UDP, at either end.
    pub port: u16,
}

/// The program that selects traffic, all of it without a filter, and what it keeps of a frame. Loopback shows each frame twice, and
/// `is_loopback` leaves one out.
fn program(filter: Option<&TrafficFilter>, is_loopback: bool, snap_bytes: u32) -> Vec<Instruction> {
    let mut program = Program::default();
    if is_loopback {
        program.push(LOAD_WORD, PACKET_TYPE);
        program.reject_unless(IF_EQUAL, OUTGOING, false);
    }
    match filter {
        Some(filter) => filter.select(&mut program),
        None => program.accept(),
    }
    program.end(snap_bytes)
}

impl TrafficFilter {
    /// The instructions that select it.
    fn select(&self, program: &mut Program) {
        program.push(LOAD_HALF, PROTOCOL);
        match self.peer.to_canonical() {
            IpAddr::V4(peer) => {
                program.reject_unless(IF_EQUAL, libc::ETH_P_IP as u32, true);
                program.push(LOAD_BYTE, NETWORK + 9);
                program.accept_if(IF_EQUAL, libc::IPPROTO_ICMP as u32);
                program.address([12, 16], &peer.octets());
                program.push(LOAD_BYTE, NETWORK + 9);
                program.ports_or_accept();
                // A later fragment has no ports.
                program.push(LOAD_HALF, NETWORK + 6);
                program.accept_if(IF_ANY_BIT, 0x1fff);
                program.push(LOAD_BYTE, NETWORK);
                program.push(AND, 0xf);
                program.push(SHIFT_LEFT, 2);
                program.push(TO_INDEX, 0);
                program.push(LOAD_HALF_INDEXED, NETWORK);
                program.accept_if(IF_EQUAL, self.port.into());
                program.push(LOAD_HALF_INDEXED, NETWORK + 2);
            }
            IpAddr::V6(peer) => {
                program.reject_unless(IF_EQUAL, libc::ETH_P_IPV6 as u32, true);
                program.push(LOAD_BYTE, NETWORK + 6);
                program.accept_if(IF_EQUAL, libc::IPPROTO_ICMPV6 as u32);
                program.address([8, 24], &peer.octets());
                program.push(LOAD_BYTE, NETWORK + 6);
                program.ports_or_accept();
                program.push(LOAD_HALF, NETWORK + 40);
                program.accept_if(IF_EQUAL, self.port.into());
                program.push(LOAD_HALF, NETWORK + 42);
            }
        }
        program.accept_if(IF_EQUAL, self.port.into());
    }
}

/// Lets a packet socket receive this traffic, all of it without a filter, and this much of each frame.
pub(super) fn attach(
    socket: &Socket,
    filter: Option<&TrafficFilter>,
    is_loopback: bool,
    snap_bytes: u32,
) -> io::Result<()> {
    let instructions: Vec<libc::sock_filter> = program(filter, is_loopback, snap_bytes)
        .iter()
        .map(|instruction| libc::sock_filter {
            code: instruction.code,
            jt: instruction.if_true,
            jf: instruction.if_false,
            k: instruction.value,
        })
        .collect();
    let attached = libc::sock_fprog {
        len: instructions.len() as u16,
        filter: instructions.as_ptr().cast_mut(),
    };
    // SAFETY: the structure is plain memory, read as the bytes the kernel expects while the program is live.
    let bytes = unsafe {
        std::slice::from_raw_parts(
            (&raw const attached).cast::<u8>(),
            size_of::<libc::sock_fprog>(),
        )
    };
    raw::set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, bytes)
}
