#!/usr/bin/env python3
"""How evenly UDP leaves at a rate, and what that costs: iperf3, caudal precise and caudal balanced in turn.

    bench/pacing.py [--rounds 3] [--seconds 5] [--awake] [RATE …]     by default 10M 100M 1G

Spacing is that of the datagrams as the kernel stamps them on loopback: |gap − scheduled gap| of every two that follow one
another, where the datagrams of one segmented send have the same time. Processor time is that of client and server together
(getrusage of each), in runs without a capture; the client's own stands beside it. Medians over the rounds.

An idle processor of a virtual machine may take a millisecond to run a thread that has slept, whoever sends: --awake keeps them
from going idle, with a thread of SCHED_IDLE each, which every other thread displaces.

Needs iperf3 and, as root, tcpdump. CAUDAL names the binary.
"""

import argparse
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from compare import CAUDAL, free_port

LENGTH = 1448
UDP_HEADERS = 14 + 20 + 8
UNITS = {"K": 1e3, "M": 1e6, "G": 1e9}
GOALS = {"spacing": 0.5, "cpu": 1.0}


def iperf3(port, rate, seconds):
    return (["iperf3", "-s", "-p", port, "-1"],
            ["iperf3", "-c", "127.0.0.1", "-p", port, "-u", "-b", rate, "-l", str(LENGTH), "-t", str(seconds)])


def caudal(pacing):
    def commands(port, rate, seconds):
        return ([CAUDAL, "serve", "-p", port, "-B", "127.0.0.1", "-q", "-1"],
                [CAUDAL, "udp", "127.0.0.1", "-p", port, "-b", rate, "-l", str(LENGTH), "-t", f"{seconds}s",
                 "--pacing", pacing])
    return commands


SENDERS = {"iperf3": iperf3, "precise": caudal("precise"), "balanced": caudal("balanced")}


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ended(process, patience=30):
    """The processor time of a process that ends by itself, s."""
    until = time.monotonic() + patience
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > until:
            process.kill()
        time.sleep(0.02)


def measure(commands):
    """Processor time of both ends and of the client, s."""
    serving, asking = commands
    server = start(serving)
    time.sleep(0.4)
    client = start(asking)
    own = ended(client)
    both = own + ended(server)
    if client.returncode != 0:
        raise RuntimeError(f"{' '.join(asking)}: exit {client.returncode}")
    return both, own


def errors(path, expected_us):
    """|gap − expected|, µs, sorted, of all datagrams of a capture; a segmented send is as many as it carries."""
    with open(path, "rb") as file:
        data = file.read()
    nano = struct.unpack("<I", data[:4])[0] == 0xA1B23C4D
    at, last, found = 24, None, []
    while at + 16 <= len(data):
        seconds, part, kept, size = struct.unpack_from("<IIII", data, at)
        at += 16 + kept
        stamp = seconds * 1e6 + part / (1e3 if nano else 1)
        count = (size - UDP_HEADERS) // LENGTH
        if count < 1:
            continue
        if last is not None:
            found.append(abs(stamp - last - expected_us))
        found.extend([expected_us] * (count - 1))
        last = stamp
    found.sort()
    return found


def captured(commands, port, expected_us):
    """Median and 99th percentile of the spacing error, µs."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "capture.pcap")
        capture = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-n", "-s", "64", "-B", "65536", "--time-stamp-precision=nano", "-w", path,
             f"udp and dst port {port} and greater {LENGTH}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.7)
            measure(commands)
            time.sleep(0.5)
        finally:
            capture.terminate()
            capture.wait()
        found = errors(path, expected_us)
    if len(found) < 1000:
        raise RuntimeError(f"only {len(found)} datagrams were captured")
    return found[len(found) // 2], found[int(len(found) * 0.99)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rates", nargs="*", default=["10M", "100M", "1G"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--awake", action="store_true", help="keep the processors from going idle")
    options = parser.parse_args()
    keepers = [keep_awake() for _ in range(os.cpu_count() or 1)] if options.awake else []
    try:
        return compare(options)
    finally:
        for keeper in keepers:
            keeper.kill()
            keeper.wait()


def keep_awake():
    """A process that runs whenever no other does."""
    return subprocess.Popen(["chrt", "-i", "0", sys.executable, "-c", "while True: pass"])


def compare(options):
    """Measures every sender at every rate: 1 when a goal is missed."""
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}; {options.rounds} rounds of {options.seconds} s")
    print(f"{'rate':<6} {'sender':<9} {'p50 µs':>8} {'p99 µs':>8} {'both s':>7} {'client s':>8}   ratios to iperf3")
    missed = 0
    for rate in options.rates or ["10M", "100M", "1G"]:
        number, unit = re.fullmatch(r"([\d.]+)([KMG]?)", rate).groups()
        expected_us = LENGTH * 8 / (float(number) * UNITS.get(unit, 1)) * 1e6
        rows = {name: [] for name in SENDERS}
        for _ in range(options.rounds):
            for name, commands in SENDERS.items():
                port = str(free_port())
                cost = measure(commands(port, rate, options.seconds))
                port = str(free_port())
                rows[name].append((*captured(commands(port, rate, options.seconds), port, expected_us), *cost))
        base = [statistics.median(column) for column in zip(*rows["iperf3"])]
        for name, measured in rows.items():
            p50, p99, both, own = (statistics.median(column) for column in zip(*measured))
            spacing, cpu = p99 / base[1], both / base[2]
            verdict = ""
            if name == "balanced":
                met = spacing <= GOALS["spacing"] and cpu <= GOALS["cpu"]
                missed += not met
                verdict = f"  goal ≤ {GOALS['spacing']} and ≤ {GOALS['cpu']}: {'met' if met else 'MISSED'}"
            print(f"{rate:<6} {name:<9} {p50:>8.1f} {p99:>8.1f} {both:>7.2f} {own:>8.2f}   "
                  f"p99 {spacing:.2f}, processor {cpu:.2f}{verdict}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
