#!/usr/bin/env python3
"""Runs `caudal quality` and flent's rrul over the same link of a lab, and prints both beside the queues of the link.

The link has 20 Mbit/s down and 5 Mbit/s up over a round trip of 20 ms, with queues of 160 ms each way. flent's rrul loads both
directions with four flows each, marked with different DSCPs, and pings meanwhile: the phase to compare with is `both`.

    bench/rrul.py [--seconds 10]

Needs root, flent, and netperf with netserver, built with --enable-demo. flent's figures include 5 s without load before and after, which
its median shows most: compare the sums of the flows, and its 99th percentile with the maximum under load. CAUDAL names the program, else target/release/caudal.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAUDAL = os.environ.get("CAUDAL") or os.path.join(ROOT, "target", "release", "caudal")
LAB = f"rrul-{os.getpid()}"
LINK = ["h1-h2.delay=10ms", "h1-h2.forward.rate=5M", "h1-h2.backward.rate=20M",
        "h1-h2.forward.queue={bytes=100000}", "h1-h2.backward.queue={bytes=400000}"]
SERVER = "10.0.0.2"
os.environ["CAUDAL_STORE"] = "none"


def missing():
    """What is not installed."""
    programs = ["flent", "netperf", "netserver", "ping"]
    return [program for program in programs if shutil.which(program) is None]


def lab(*words):
    return [CAUDAL, "lab", *words]


def on(host, *command):
    return lab("exec", "--lab", LAB, host, "--", *command)


def quality(seconds):
    """The median round-trip time idle and with load both ways, ms, and the goodput down and up, Mbit/s."""
    server = subprocess.Popen(on("h2", CAUDAL, "serve"), stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        command = on("h1", CAUDAL, "quality", SERVER, "-t", f"{seconds}s", "--json")
        run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    finally:
        server.terminate()
        server.wait()
    phases = {phase["load"]: phase for phase in run["quality"]["phases"]}
    median = {load: phase["probes"][0]["p50_us"] / 1e3 for load, phase in phases.items()}
    goodput = {one["direction"]: one["goodput_bps"]["mean"] / 1e6 for one in phases["both"]["directions"]}
    return median["idle"], median["both"], goodput["down"], goodput["up"]


def rrul(seconds):
    """flent's own summary."""
    server = subprocess.Popen(on("h2", "netserver", "-D"), stdout=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as place:
            command = on("h1", "flent", "rrul", "-4", "-H", SERVER, "-l", str(seconds), "-D", place, "-f", "summary")
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        server.terminate()
        server.wait()
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    seconds = parser.parse_args().seconds
    changes = [word for change in LINK for word in ("--set", change)]
    subprocess.run(lab("up", "pair", "--name", LAB, "-q", *changes), check=True, stdout=subprocess.DEVNULL)
    try:
        idle, both, down, up = quality(seconds)
        print("queues of the link       160 ms each way, round trip 20 ms")
        print(f"caudal quality, idle     median {idle:.1f} ms")
        print(f"caudal quality, both     median {both:.1f} ms, down {down:.2f} Mbit/s, up {up:.2f} Mbit/s")
        lacking = missing()
        if lacking:
            print(f"flent rrul               not run: {', '.join(lacking)} not installed")
            return 4
        print("flent rrul, its own summary:")
        print(rrul(seconds))
    finally:
        subprocess.run(lab("down", LAB), check=False, stdout=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
