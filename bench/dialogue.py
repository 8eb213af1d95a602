#!/usr/bin/env python3
"""Records the dialogue of a client and a server of iperf3 or iperf 2 as the text that the tests replay.

    bench/dialogue.py iperf3 PATH 3.21 [WORDS …] >> crates/cli/tests/transcripts/iperf3-3.21.txt

Client and server run in a network namespace of their own (root) and what passes its loopback is captured. Written
are the states, the JSON, the first bytes of every connection and the amounts of data, in their order and without
times; crates/cli/tests/transcripts/README.md has the form. Bulk data is not kept.
"""

import ctypes
import dataclasses
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x4000_0000, 0x8913, 0x8914, 1
ETH_P_ALL, PACKET_OUTGOING, SO_RCVBUFFORCE = 3, 4, 33
PORT, BACK = 5300, 5400
# Enough of a stream for everything that is no bulk data.
KEPT = 16 << 10


def enter_namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        sys.exit("a network namespace takes root")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


@dataclasses.dataclass
class Packet:
    nth: int
    protocol: str
    source: int
    target: int
    seq: int
    is_syn: bool
    length: int
    data: bytes


class Capture(threading.Thread):
    """Every packet of the loopback, once, without most of its payload."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.2)
        self.packets, self.over = [], False

    def run(self):
        while True:
            try:
                frame, address = self.socket.recvfrom(KEPT)
            except TimeoutError:
                if self.over:
                    return
                continue
            if address[2] != PACKET_OUTGOING or address[1] != 0x0800:
                continue
            head = (frame[14] & 15) * 4
            total = struct.unpack("!H", frame[16:18])[0] or 65536
            rest = frame[14 + head:]
            source, target = struct.unpack("!HH", rest[:4])
            if frame[23] == 6:
                seq, size = struct.unpack("!I", rest[4:8])[0], (rest[12] >> 4) * 4
                self.packets.append(Packet(len(self.packets), "tcp", source, target, seq, bool(rest[13] & 2),
                                           total - head - size, rest[size:]))
            elif frame[23] == 17:
                self.packets.append(Packet(len(self.packets), "udp", source, target, 0, False, total - head - 8, rest[8:]))


def run(tool, path, words):
    """What passed between a client and a server."""
    enter_namespace()
    capture = Capture()
    capture.start()
    udp = ["-u"] if tool == "iperf2" and "-u" in words else []
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([path, "-s", "-p", str(PORT), *udp], **quiet)
    time.sleep(0.5)
    back = ["-L", str(BACK)] if tool == "iperf2" and {"-d", "-r"} & set(words) else []
    client = subprocess.Popen([path, "-c", "127.0.0.1", "-p", str(PORT), *words, *back], **quiet)
    try:
        if client.wait(20) != 0:
            sys.exit(f"{path} {' '.join(words)}: exit code {client.returncode}")
        time.sleep(0.7)
    finally:
        for process in (client, server):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
    capture.over = True
    capture.join()
    return capture.packets


class Stream:
    """One direction of a connection: its beginning, and how many bytes it had in all."""

    def __init__(self):
        self.start, self.bytes, self.data, self.first = None, 0, bytearray(), []

    def add(self, packet):
        if packet.is_syn:
            self.start = (packet.seq + 1) % 2**32
            return
        offset = (packet.seq - self.start) % 2**32
        if packet.length <= 0 or offset >= 2**31:
            return
        self.bytes = max(self.bytes, offset + packet.length)
        if offset == len(self.data) and offset < KEPT:
            self.first.append((offset, packet.nth))
            self.data += packet.data[:packet.length]

    def nth(self, offset):
        """When the byte at an offset was sent."""
        return [nth for begin, nth in self.first if begin <= offset][-1]


def connections(packets):
    """The TCP connections in their order, as (opener's port, target port, to, from, when)."""
    found = {}
    for packet in packets:
        if packet.protocol != "tcp":
            continue
        key, other = (packet.source, packet.target), (packet.target, packet.source)
        if key not in found and other not in found:
            found[key] = (Stream(), Stream(), packet.nth)
        if key in found:
            found[key][0].add(packet)
        else:
            found[other][1].add(packet)
    return [(*key, *value) for key, value in found.items()]


# iperf3.


def iperf3_control(to, back):
    """The messages of a control connection with the time of each."""
    data, at = bytes(to.data), 37
    yield to.nth(0), f"c cookie {data[:36].decode()}"
    names = iter(("parameters", "results"))
    while at < len(data):
        begin = at
        # Parameters come first and results after the end of the test; the rest are states.
        if begin == 37 or data[begin - 1] == 4:
            size = struct.unpack("!I", data[at:at + 4])[0]
            at += 4 + size
            yield to.nth(begin), f"c {next(names)} {json.dumps(json.loads(data[begin + 4:at]), separators=(',', ':'))}"
        else:
            at += 1
            yield to.nth(begin), f"c state {data[begin]}"
    data, at, seen = bytes(back.data), 0, None
    while at < len(data):
        begin = at
        if seen == 13:
            size = struct.unpack("!I", data[at:at + 4])[0]
            at += 4 + size
            yield back.nth(begin), f"s results {json.dumps(json.loads(data[begin + 4:at]), separators=(',', ':'))}"
            seen = None
        else:
            seen = data[begin]
            at += 1
            yield back.nth(begin), f"s state {seen}"


def iperf3_dialogue(packets, words):
    all_of = connections(packets)
    lines = list(iperf3_control(all_of[0][2], all_of[0][3]))
    running = next(nth for nth, line in lines if line == "s state 2") + 0.5
    for number, (_, _, to, back, when) in enumerate(all_of[1:], 1):
        lines.append((when, f"c open {number}"))
        # The first half of the flows of a test in both directions sends to the server.
        is_down = "--bidir" in words and number > (len(all_of) - 1) // 2 or "-R" in words
        lines.append((running, f"s data {number} {back.bytes}" if is_down else f"c data {number} {to.bytes - 37}"))
    flows = {}
    for packet in packets:
        if packet.protocol != "udp":
            continue
        is_up = packet.target == PORT
        flow = flows.setdefault(packet.source if is_up else packet.target, {True: [], False: []})
        flow[is_up].append(packet)
    for number, flow in enumerate(flows.values(), 1):
        for is_up, end in ((True, "c"), (False, "s")):
            hello, *data = flow[is_up]
            lines.append((hello.nth, f"{end} hello {number} {hello.data[:hello.length].hex()}"))
            if data:
                lines.append((running, f"{end} datagrams {number} {len(data)} of {data[-1].length}"))
    return [line for _, line in sorted(lines, key=lambda line: line[0])]


# iperf 2.


def header(data):
    """What comes before the payload, which is digits that count up."""
    data = bytes(data[:512])
    begin = len(data)
    while begin and 0x30 <= data[begin - 1] <= 0x39 and (begin == len(data) or (data[begin] - data[begin - 1]) % 10 == 1):
        begin -= 1
    return data[:begin].hex() or "-"


def iperf2_dialogue(packets):
    lines, numbers = [], {}
    for source, target, to, back, when in connections(packets):
        opener = "s" if target == BACK else "c"
        answerer = "c" if opener == "s" else "s"
        number = numbers.setdefault((source, target), len(numbers) + 1)
        lines.append((when, f"{opener} open {number}"))
        for end, stream in ((opener, to), (answerer, back)):
            if stream.bytes:
                begin = header(stream.data)
                lines.append((stream.nth(0), f"{end} stream {number} {stream.bytes} {begin}"))
    flows = {}
    for packet in packets:
        if packet.protocol == "udp":
            is_opened = packet.target in (PORT, BACK)
            key = (packet.source, packet.target) if is_opened else (packet.target, packet.source)
            flows.setdefault(key, {True: [], False: []})[is_opened].append(packet)
    for number, ((_, target), flow) in enumerate(flows.items(), len(numbers) + 1):
        opener = "s" if target == BACK else "c"
        for is_opened, group in flow.items():
            end = opener if is_opened else {"c": "s", "s": "c"}[opener]
            # Equal in everything but numbers and times: one line, with the first and the last of them.
            for length in dict.fromkeys(packet.length for packet in group):
                same = [packet for packet in group if packet.length == length]
                lines.append((same[0].nth, f"{end} datagrams {number} {len(same)} of {length} {header(same[0].data[:length])} "
                                           f"{header(same[-1].data[:length])}"))
    return [line for _, line in sorted(lines, key=lambda line: line[0])]


def main():
    tool, path, version, *words = sys.argv[1:]
    packets = run(tool, path, words)
    lines = iperf3_dialogue(packets, words) if tool == "iperf3" else iperf2_dialogue(packets)
    print(f"## {tool} {version}: {' '.join(words)}")
    print("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
