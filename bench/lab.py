#!/usr/bin/env python3
"""What the lab's emulator carries, and what it costs: frames per second, CPU per frame, goodput of TCP.

usage: bench/lab.py [--seconds 5] [--rounds 3] [target/release/caudal]

Builds pairs of hosts and sends through them with iperf3 (TCP) and caudal (UDP). Prints the median of the rounds. Client, server
and emulator share the processors of this machine.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

# What is measured here is not kept among the user's own runs.
os.environ["CAUDAL_STORE"] = "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("caudal", nargs="?", default="target/release/caudal")
    arguments = parser.parse_args()
    bench = Bench(os.path.abspath(arguments.caudal), arguments.seconds)
    try:
        table = [
            ("unlimited, emulated: TCP", 'driver = "emulated"', bench.tcp),
            ("unlimited, in the kernel: TCP", 'driver = "kernel"', bench.tcp),
            ("10 Gbit/s, emulated: TCP", 'driver = "emulated", rate = "10G"', bench.tcp),
            ("1 Gbit/s, emulated: TCP", 'driver = "emulated", rate = "1G"', bench.tcp),
            ("1 Gbit/s, in the kernel: TCP", 'driver = "kernel", rate = "1G"', bench.tcp),
            ("1 Gbit/s, emulated, single frames: TCP", 'driver = "emulated", rate = "1G", segmentation = "off"', bench.tcp),
            ("100 Mbit/s, emulated: TCP", 'rate = "100M"', bench.tcp),
            ("10 Mbit/s, emulated: TCP", 'rate = "10M"', bench.tcp),
            ("unlimited, emulated: UDP, 64-byte frames", 'driver = "emulated"', lambda: bench.udp(18)),
            ("unlimited, emulated: UDP, 1518-byte frames", 'driver = "emulated"', lambda: bench.udp(1472)),
        ]
        print(f"{'':44}{'goodput':>14}{'frames/s':>12}{'CPU/frame':>12}{'of a core':>11}")
        for name, keys, measure in table:
            rounds = []
            for _ in range(arguments.rounds):
                bench.up(keys)
                try:
                    rounds.append(measure())
                finally:
                    bench.down()
            median = [statistics.median(column) for column in zip(*rounds)]
            goodput, frames, per_frame, share = median
            cost = f"{per_frame:9.2f} us{share:10.0%}" if frames else f"{'-':>12}{'-':>11}"
            print(f"{name:44}{goodput / 1e6:9.1f} Mb/s{frames:12.0f}{cost}")
    finally:
        bench.close()


class Bench:
    def __init__(self, caudal, seconds):
        self.caudal = caudal
        self.seconds = seconds
        self.place = tempfile.mkdtemp(prefix="caudal-bench-")
        self.environment = dict(os.environ, CAUDAL_LAB_DIR=os.path.join(self.place, "labs"))

    def lab(self, *words):
        command = [self.caudal, "lab", *words]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def up(self, keys):
        path = os.path.join(self.place, "pair.toml")
        with open(path, "w") as file:
            file.write('congestion = "cubic"\nhost = [{ name = "h1" }, { name = "h2" }]\n')
            file.write(f'link = [{{ between = ["h1", "h2"], {keys} }}]\n')
        self.lab("up", "-q", path)

    def down(self):
        self.lab("down", "--all")

    def close(self):
        subprocess.run([self.caudal, "lab", "down", "--all"], env=self.environment, capture_output=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def counted(self):
        emulator = json.loads(self.lab("stats", "--json"))["emulator"]
        return (emulator["frames_read"], emulator["cpu_s"] or 0.0) if emulator else (0, 0.0)

    def cost(self, before, after, elapsed):
        frames, cpu = after[0] - before[0], after[1] - before[1]
        return frames / elapsed, cpu / frames * 1e6 if frames else 0.0, cpu / elapsed

    def tcp(self):
        self.lab("exec", "h2", "--", "iperf3", "-s", "-D")
        time.sleep(0.3)
        before, start = self.counted(), time.monotonic()
        words = ["iperf3", "-4", "-c", "h2", "-t", str(self.seconds), "-O", "1", "-J"]
        run = json.loads(self.lab("exec", "h1", "--", *words))
        after, elapsed = self.counted(), time.monotonic() - start
        return run["end"]["sum_received"]["bits_per_second"], *self.cost(before, after, elapsed)

    def udp(self, payload):
        self.lab("exec", "h2", "--", "iperf3", "-s", "-D")
        time.sleep(0.3)
        before, start = self.counted(), time.monotonic()
        words = ["iperf3", "-4", "-u", "-b", "0", "-l", str(payload), "-c", "h2", "-t", str(self.seconds), "-J"]
        run = json.loads(self.lab("exec", "h1", "--", *words))
        after, elapsed = self.counted(), time.monotonic() - start
        return run["end"]["sum_received"]["bits_per_second"], *self.cost(before, after, elapsed)


if __name__ == "__main__":
    main()
