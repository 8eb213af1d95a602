#!/usr/bin/env python3
"""How RBT shares a link with TCP: one flow of each, with CUBIC, over one bottleneck of the lab.

    bench/fairness.py [--rounds 5] [--seconds 30] [--first rbt] [--congestion cubic] [--rtt MS …] [--buffer BDP …]

Both flows leave h1 for h2 at the same time over a link of 100 Mbit/s, in turn the one and the other started first, and are stopped together.
What counts is what each moves from the fifth second until the end by its reports of progress; of a program that reports none, what has arrived
from the first second on. Prints a table (Markdown): medians of the rounds, and the first flow's goodput as a part of the half that it
may have, which is to lie between 0.67 and 1.5. `--first tcp` shows what two flows of TCP do on the same link.

Wants root, a quiet machine and a release build. CAUDAL names the program, else target/release/caudal.
"""

import argparse
import bisect
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

from compare import CAUDAL, run, server

LAB = f"fairness-{os.getpid()}"
SERVER = "10.0.0.2"
RATE = 100e6
WARM_UP = 5
LEAST, MOST = 0.67, 1.5


def lab(*words):
    return [CAUDAL, "lab", *words]


def on(host):
    return lab("exec", "--lab", LAB, host, "--")


class Flow:
    """A transfer under way, with the times at which its progress was told."""

    def __init__(self, via, congestion, bytes_):
        words = ["file", SERVER, "-4", "--via", via, "--sizes", str(bytes_), "-C", congestion, "--json-stream", "-q"]
        if via == "rbt":
            words += ["--packet", "1400"]
        self.times, self.bytes, self.whole = [], [], None
        self.process = subprocess.Popen([*on("h1"), CAUDAL, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            event = json.loads(line)
            if event.get("event") == "transfer":
                self.times.append(now)
                self.bytes.append(event["bytes"])
            elif event.get("event") == "transferred":
                self.whole = event["transfer"]

    def moved(self, at):
        """The bytes moved by a time, between the reports before and after it."""
        after = bisect.bisect_left(self.times, at)
        if not 0 < after < len(self.times):
            raise RuntimeError("a flow did not last as long as the measurement")
        (earlier, later), (few, many) = self.times[after - 1:after + 1], self.bytes[after - 1:after + 1]
        return few + (many - few) * (at - earlier) / max(later - earlier, 1e-9)

    def rate(self, start, end):
        if not self.times:
            arrived = (self.whole["server"] or self.whole["client"])["bytes"]
            return arrived * 8 / self.whole["elapsed_s"]
        return (self.moved(end) - self.moved(start)) * 8 / (end - start)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join()


def together(options, is_reversed):
    """The rates of the first flow and of TCP's, bit/s."""
    bytes_ = int(RATE / 8 * (options.seconds + WARM_UP + 10))
    order = [options.first, "tcp"][::-1 if is_reversed else 1]
    flows = []
    try:
        flows = [Flow(via, options.congestion, bytes_) for via in order]
        start = time.monotonic() + WARM_UP
        end = start + options.seconds
        # The last report comes an interval later.
        time.sleep(max(0.0, end + 2.5 - time.monotonic()))
    finally:
        for flow in flows:
            flow.stop()
    rates = [flow.rate(start, end) for flow in flows]
    return rates[::-1] if is_reversed else rates


def measure(options, rtt, buffer):
    """The rates of all rounds over a link with this round trip, ms, and this buffer, in bandwidth-delay products."""
    queue = max(int(buffer * RATE / 8 * rtt / 1e3), 3028)
    changes = ["h1-h2.rate=100M", f"h1-h2.delay={rtt / 2}ms", f"h1-h2.forward.queue={{bytes={queue}}}",
               'h1-h2.driver="emulated"']
    words = [word for change in changes for word in ("--set", change)]
    subprocess.run(lab("up", "pair", "--name", LAB, "-q", *words), check=True, stdout=subprocess.DEVNULL)
    try:
        with server([*on("h2"), CAUDAL, "serve", "-q"]):
            rounds = [together(options, number % 2 == 1) for number in range(options.rounds)]
        stats = json.loads(run(lab("stats", "--lab", LAB, "--json")))
    finally:
        subprocess.run(lab("down", LAB), check=False, stdout=subprocess.DEVNULL)
    return rounds, bool(stats["emulator"]["whole"].get("must_repeat"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--first", choices=["rbt", "quic", "tcp"], default="rbt")
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--rtt", type=float, nargs="+", default=[10, 50])
    parser.add_argument("--buffer", type=float, nargs="+", default=[0.5, 1, 4])
    options = parser.parse_args()
    if not os.path.exists(CAUDAL):
        sys.exit(f"{CAUDAL} is not there; build it with `cargo build --release`, or name it in CAUDAL")
    first, missed = options.first, 0
    print(f"| RTT | buffer | {first} Mbit/s | tcp Mbit/s | {first} by its half | least–most | between {LEAST} and {MOST} |")
    print("|---|---|---|---|---|---|---|")
    for rtt in options.rtt:
        for buffer in options.buffer:
            where = f"| {rtt:g} ms | {buffer:g} BDP |"
            try:
                rounds, is_late = measure(options, rtt, buffer)
            except (RuntimeError, OSError, ValueError, KeyError, TypeError, subprocess.SubprocessError) as error:
                missed += 1
                print(f"{where} could not be measured: {error} | | | | |", flush=True)
                continue
            ratios = [2 * ours / max(ours + theirs, 1) for ours, theirs in rounds]
            ours, theirs = (statistics.median(column) / 1e6 for column in zip(*rounds))
            ratio = statistics.median(ratios)
            is_met = LEAST <= ratio <= MOST
            missed += not is_met
            late = " (the emulator stalled)" if is_late else ""
            print(f"{where} {ours:.1f} | {theirs:.1f} | {ratio:.2f} | {min(ratios):.2f}–{max(ratios):.2f} "
                  f"| {'yes' if is_met else 'NO'}{late} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
