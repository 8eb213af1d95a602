#!/usr/bin/env python3
"""Records the captures beside this script in network namespaces of its own.

Takes root, ip, tcpdump and, for quic.pcap, openssl and the package aioquic. Two namespaces are joined by a relay between TAP devices (TUN for raw IP); for VLANs the
relay sends what it carries with tags to a third device, as the mirror port of a switch does.
"""

import asyncio
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

LEFT, RIGHT = (f"caudal-{end}-{os.getpid()}" for end in ("left", "right"))
LIBC = ctypes.CDLL(None, use_errno=True)
TUN, TAP, NO_INFORMATION = 1, 2, 0x1000
ECHO_BYTES = (100, 1000)


def run(*command):
    subprocess.run(command, check=True)


def enter(namespace):
    """Moves this thread into a namespace."""
    with open(f"/run/netns/{namespace}") as space:
        if LIBC.setns(space.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def device(namespace, name, kind):
    enter(namespace)
    descriptor = os.open("/dev/net/tun", os.O_RDWR)
    request = struct.pack("16sH22x", name.encode(), kind | NO_INFORMATION)
    fcntl.ioctl(descriptor, 0x400454CA, request)
    return descriptor


def configure(namespace, name, last, mtu):
    for arguments in (
        f"addr add 10.9.0.{last}/24 dev {name}",
        f"addr add fd00:9::{last}/64 dev {name} nodad",
        f"link set {name} mtu {mtu} up",
        "link set lo up",
    ):
        run("ip", "-n", namespace, *arguments.split())


def relay(left, right, stop, mirror):
    while not stop.is_set():
        for descriptor in select.select([left, right], [], [], 0.1)[0]:
            frame = os.read(descriptor, 65536)
            os.write(right if descriptor == left else left, frame)
            mirror(frame)


def tagged(tags):
    """Sends frames with tags out of the device `trunk0` of the left namespace."""
    run("ip", "-n", LEFT, "link", "add", "trunk0", "type", "veth", "peer", "name", "trunk1")
    run("ip", "-n", LEFT, "link", "set", "trunk1", "up")
    run("ip", "-n", LEFT, "link", "set", "trunk0", "mtu", "1600", "up")
    enter(LEFT)
    trunk = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    trunk.bind(("trunk0", 0))
    inside = b"".join(struct.pack("!HH", kind, number) for kind, number in tags)
    return lambda frame: trunk.send(frame[:12] + inside + frame[12:])


def echo_server(listener):
    peer, _ = listener.accept()
    while data := peer.recv(4096):
        peer.sendall(data)
    peer.close()


def tcp(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    enter(RIGHT)
    listener = socket.create_server((address, 7000), family=family)
    server = threading.Thread(target=echo_server, args=(listener,))
    server.start()
    enter(LEFT)
    with socket.create_connection((address, 7000), timeout=10) as client:
        for size in ECHO_BYTES:
            client.sendall(b"x" * size)
            left = size
            while left:
                left -= len(client.recv(4096))
    server.join(10)
    listener.close()


def udp(address):
    enter(RIGHT)
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.bind((address, 7000))
    enter(LEFT)
    client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    # IPV6_DSTOPTS: a header of 8 bytes, PadN.
    client.setsockopt(socket.IPPROTO_IPV6, 59, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
    for end in (server, client):
        end.settimeout(10)
    for size in (200, 4000):
        client.sendto(b"x" * size, (address, 7000))
        data, peer = server.recvfrom(65535)
        server.sendto(data[:10], peer)
        client.recv(4096)
    client.close()
    server.close()


def quic(address):
    from aioquic.asyncio import connect, serve
    from aioquic.quic.configuration import QuicConfiguration

    def echo(reader, writer):
        async def answer():
            writer.write(await reader.read())
            writer.write_eof()

        asyncio.ensure_future(answer())

    async def exchange(folder):
        ours = QuicConfiguration(is_client=False, alpn_protocols=["echo"])
        ours.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        enter(RIGHT)
        server = await serve(address, 7000, configuration=ours, stream_handler=echo)
        enter(LEFT)
        theirs = QuicConfiguration(alpn_protocols=["echo"], verify_mode=0)
        async with connect(address, 7000, configuration=theirs, local_port=40000) as client:
            reader, writer = await client.create_stream()
            writer.write(b"x" * 3000)
            writer.write_eof()
            assert len(await asyncio.wait_for(reader.read(), 10)) == 3000
        server.close()

    with tempfile.TemporaryDirectory() as folder:
        new = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test".split()
        files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
        subprocess.run(new + files, check=True, stderr=subprocess.DEVNULL)
        asyncio.run(exchange(folder))


def record(file, traffic, address, interface, condition, options=(), kind=TAP, tags=(), mtu=1500):
    print(file)
    run("ip", "netns", "add", LEFT)
    run("ip", "netns", "add", RIGHT)
    stop, dump, carrier = threading.Event(), None, None
    try:
        left, right = device(LEFT, "test0", kind), device(RIGHT, "test0", kind)
        configure(LEFT, "test0", 1, mtu)
        configure(RIGHT, "test0", 2, mtu)
        mirror = tagged(tags) if tags else lambda frame: None
        carrier = threading.Thread(target=relay, args=(left, right, stop, mirror))
        carrier.start()
        time.sleep(1)
        capture = ["ip", "netns", "exec", LEFT, "tcpdump", "-U", "-i", interface, "-w", file]
        dump = subprocess.Popen([*capture, *options, condition], stderr=subprocess.DEVNULL)
        time.sleep(1.5)
        traffic(address)
        time.sleep(0.7)
    finally:
        stop.set()
        if dump:
            dump.terminate()
            dump.wait()
        if carrier:
            carrier.join()
            os.close(left)
            os.close(right)
        run("ip", "netns", "del", LEFT)
        run("ip", "netns", "del", RIGHT)


def loopback(source, target):
    """A capture of raw IP as macOS writes one of lo0: the address family in the host's byte order in front of each packet."""
    data = open(source, "rb").read()
    out, at = bytearray(data[:20] + struct.pack("<I", 0)), 24
    while at < len(data):
        seconds, part, captured, original = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + captured]
        family = 2 if packet[0] >> 4 == 4 else 30
        out += struct.pack("<IIIII", seconds, part, captured + 4, original + 4, family) + packet
        at += 16 + captured
    open(target, "wb").write(out)


def main():
    os.chdir(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
    record("vlan.pcap", tcp, "10.9.0.2", "trunk0", "vlan 5 and tcp", tags=[(0x8100, 5)])
    qinq = [(0x88A8, 7), (0x8100, 8)]
    record("qinq.pcap", tcp, "10.9.0.2", "trunk0", "vlan 7 and vlan 8 and tcp", tags=qinq)
    record("cooked-v2.pcap", tcp, "10.9.0.2", "any", "tcp")
    record("cooked-v1.pcap", tcp, "10.9.0.2", "any", "tcp", ["-y", "LINUX_SLL"])
    record("raw-ip.pcap", tcp, "10.9.0.2", "test0", "tcp", kind=TUN)
    record("raw-ipv6.pcap", tcp, "fd00:9::2", "test0", "tcp", kind=TUN)
    loopback("raw-ipv6.pcap", "loopback.pcap")
    os.remove("raw-ipv6.pcap")
    record("ipv6-fragments.pcap", udp, "fd00:9::2", "test0", "ip6 and not icmp6")
    record("quic.pcap", quic, "10.9.0.2", "test0", "udp", ["-s", "100"])


main()
