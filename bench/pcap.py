#!/usr/bin/env python3
"""`caudal pcap` against tshark and tcptrace: the time for the flows of one large capture, in turn.

    bench/pcap.py [GIGABYTES] [ROUNDS]     1 GB and 3 rounds unless told otherwise

The capture is made here: flows of full frames of 1514 bytes with an acknowledgement for every second one, interleaved. It is
read once beforehand, so that all read it from memory, and removed afterwards. Wants a release build (`cargo build --release`) and a quiet machine. CAUDAL
names the program; programs that are not installed are left out. The ratios are those of the medians.
"""

import argparse
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
CAUDAL = os.environ.get("CAUDAL", os.path.join(TARGET, "release/caudal"))
FLOWS = 64
PAYLOAD = 1448
# How many times as long as caudal each is to take.
GOALS = {"tshark": 25, "tcptrace": 3}
SYN, PSH, ACK = 2, 8, 16


def frame(flow, up, flags, payload, options=b"\x01\x01\x08\x0a" + bytes(8)):
    """A record of the pcap file; times, numbers of the sequence and acknowledgements are filled in later."""
    hosts = bytes([10, 0, 0, 1 + flow % 200]), bytes([10, 0, 1, 1])
    ports = 20000 + flow, 5201
    if not up:
        hosts, ports = hosts[::-1], ports[::-1]
    tcp = struct.pack(">HHIIBBHHH", *ports, 0, 0, (5 + len(options) // 4) << 4, flags, 0xFFFF, 0, 0) + options
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + payload, 0, 0x4000, 64, 6, 0) + hosts[0] + hosts[1]
    packet = bytes(12) + b"\x08\x00" + ip + tcp + bytes(payload)
    return struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet


def write(path, size):
    """Writes a capture of at least `size` bytes; returns its frames."""
    handshake_options = b"\x02\x04\x05\xb4\x04\x02\x08\x0a" + bytes(8) + b"\x01\x03\x03\x07"
    # (offset of the record, flow, data before it in the block, acknowledged by it or None)
    block, parts = bytearray(), []
    for _ in range(4):
        for flow in range(FLOWS):
            for up, payload in ((True, PAYLOAD), (True, PAYLOAD), (False, 0)):
                parts.append((len(block), flow, up, payload))
                block += frame(flow, up, ACK, payload)
    sent, frames, now = [1] * FLOWS, 0, 0
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for flow in range(FLOWS):
            steps = ((True, SYN, 0, 0), (False, SYN | ACK, 0, 1), (True, ACK, 1, 1))
            for up, flags, seq, ack in steps:
                record = bytearray(frame(flow, up, flags, 0, handshake_options))
                struct.pack_into("<II", record, 0, 1_700_000_000, now)
                struct.pack_into(">II", record, 16 + 14 + 20 + 4, seq, ack)
                file.write(record)
                now, frames = now + 1, frames + 1
        while file.tell() < size:
            for offset, flow, up, payload in parts:
                struct.pack_into("<II", block, offset, 1_700_000_000 + now // 1_000_000, now % 1_000_000)
                seq, ack = (sent[flow], 1) if up else (1, sent[flow])
                struct.pack_into(">II", block, offset + 16 + 14 + 20 + 4, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF)
                sent[flow] += payload
                now += 10
            file.write(block)
            frames += len(parts)
    return frames


def seconds(command):
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()}")
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gigabytes", type=float, nargs="?", default=1.0)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    options = parser.parse_args()
    size, rounds = int(options.gigabytes * 1e9), options.rounds
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mixed.pcap")
        frames = write(path, size)
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            while file.read(1 << 24):
                pass
        commands = {
            "caudal": [CAUDAL, "pcap", path, "--quiet"],
            "caudal --json": [CAUDAL, "pcap", path, "--json"],
            "tcptrace": ["tcptrace", "-n", "-l", path],
            "tshark": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", path],
        }
        commands = {name: words for name, words in commands.items() if shutil.which(words[0])}
        times = {name: [] for name in commands}
        for _ in range(rounds):
            for name, words in commands.items():
                times[name].append(seconds(words))
    if "caudal" not in times:
        sys.exit(f"{CAUDAL} is not there: cargo build --release")
    print(f"{size / 1e9:.2f} GB, {frames} frames, {FLOWS} flows, {rounds} rounds")
    ours = statistics.median(times["caudal"])
    print(f"{'':<14} {'median':>9} {'GB/s':>7} {'frames/s':>11}  ratio to caudal")
    for name, taken in times.items():
        median = statistics.median(taken)
        goal = f", goal {GOALS[name]}" if name in GOALS else ""
        print(
            f"{name:<14} {median:>7.2f} s {size / median / 1e9:>7.2f} {frames / median:>11.0f}  {median / ours:.1f}{goal}"
        )


if __name__ == "__main__":
    main()
