#!/usr/bin/env python3
"""Captures beside a test: the frames dropped, and what the capture costs the test.

    bench/capture.py [SECONDS] [ROUNDS]     5 s and 3 rounds unless told otherwise

TCP over a lab link of 1 Gbit/s, on which every frame has at most the MTU, and over loopback, in turn with and without `--capture`. Wants root
or user namespaces, a release build (`cargo build --release`) and a quiet machine. CAUDAL names the program.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
CAUDAL = os.environ.get("CAUDAL", os.path.join(TARGET, "release/caudal"))
LAB = f"bench-capture-{os.getpid()}"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def lab():
    """Two hosts with a link of 1 Gbit/s, and a server on the second."""
    subprocess.run([CAUDAL, "lab", "up", "pair", "--set", "*.rate=1G", "--name", LAB, "--quiet"], check=True)
    words = [CAUDAL, "lab", "exec", "--lab", LAB, "h2", "--", CAUDAL, "serve"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        yield
    finally:
        server.terminate()
        server.wait()
        subprocess.run([CAUDAL, "lab", "down", LAB], check=True, stdout=subprocess.DEVNULL)


def measure(place, where, seconds, capture):
    words = [CAUDAL, "tcp"]
    if where == "lab":
        words.append("h2")
    words += ["-t", str(seconds), "-C", "cubic", "--json", "--no-store"]
    if capture:
        words += ["--capture", os.path.join(place, "test.pcapng")]
    if where == "lab":
        words = [CAUDAL, "lab", "exec", "--lab", LAB, "h1", "--"] + words
    document = run(words)
    direction = document["summary"]["directions"][0]
    return direction["goodput_bps"]["mean"], document.get("capture")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("seconds", nargs="?", type=int, default=5)
    arguments.add_argument("rounds", nargs="?", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place, lab():
        for where in ("lab", "loopback"):
            rates = {True: [], False: []}
            for _ in range(given.rounds):
                for capture in (False, True):
                    rate, told = measure(place, where, given.seconds, capture)
                    rates[capture].append(rate)
                    if told:
                        seen = told["frames"] + told["dropped_frames"]
                        print(f"{where}: {told['frames']} frames, {told['frames'] / given.seconds:.0f} a second, "
                              f"{told['dropped_frames']} of {seen} dropped; {rate / 1e6:.1f} Mbit/s")
            without, beside = statistics.median(rates[False]), statistics.median(rates[True])
            print(f"{where}: {without / 1e6:.1f} Mbit/s without, {beside / 1e6:.1f} with a capture: ratio {beside / without:.3f}")


main()
