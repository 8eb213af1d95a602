#!/usr/bin/env python3
"""The simulation against the kernel's own TCP over emulated links.

    bench/simulation.py measure RESULTS.jsonl     run in the lab the cases that RESULTS.jsonl lacks
    bench/simulation.py repeat RESULTS.jsonl      run again, once, what was late or is off by more than asked
    bench/simulation.py compare RESULTS.jsonl     simulate the same cases and print a table (Markdown)

All want release builds: `cargo build --release` and `cargo build --release -p caudal-simulate --examples`. The first two want root
and a quiet machine: when it stands still the kernel sees losses that no simulation foresees. That only takes goodput away, so of
several runs of a case the one with the highest counts, of those in which the emulator was not late when there are any. CAUDAL names the program to measure with, SIMULATE the example; SEEDS how many seeds are simulated.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
CAUDAL = os.environ.get("CAUDAL", os.path.join(TARGET, "release/caudal"))
SIMULATE = os.environ.get("SIMULATE", os.path.join(TARGET, "release/examples/topology"))
SEEDS = int(os.environ.get("SEEDS", "5"))
SECONDS = 12
# What is measured here is not kept among the user's own runs.
os.environ["CAUDAL_STORE"] = "none"
# What is asked of the simulation: parts of the measured goodput and of the measured loss.
GOODPUT, LOSS = 0.05, 0.2
# What an emulator's deliveries and a host's scheduling add.
JITTER = os.environ.get("JITTER", "50us")
LAB = f"simulation-{os.getpid()}"


def pair(keys):
    return f'host = [{{ name = "a" }}, {{ name = "b" }}]\nlink = [{{ between = ["a", "b"], {keys} }}]\n'


def star(duplex):
    """Three hosts on a switch; `duplex` has f or h for each of their links."""
    word = {"f": "full", "h": "half"}
    links = ", ".join(
        f'{{ between = ["h{n + 1}", "s"], rate = "10M", duplex = "{word[it]}" }}' for n, it in enumerate(duplex)
    )
    hosts = ", ".join(f'{{ name = "h{n + 1}" }}' for n in range(3))
    return f'host = [{hosts}]\nswitch = [{{ name = "s" }}]\nlink = [{links}]\n'


def cases():
    """(name, topology, [(from, to, congestion)], the link and direction whose losses count)"""
    for rate in (10, 100):
        for rtt in (0, 20, 50):
            for part in (0.25, 1, 4):
                # Without a delay the queue is that of 20 ms.
                queue = int(part * rate * 1e6 / 8 * (rtt or 20) / 1e3)
                keys = f'rate = "{rate}M", delay = "{rtt / 2}ms", queue = {{ bytes = {queue} }}'
                for congestion in ("reno", "cubic"):
                    for flows in (1, 2):
                        name = f"{rate} Mbit/s, {rtt} ms, {part:g} BDP, {congestion}, {flows}"
                        yield name, pair(keys), [("a", "b", congestion)] * flows, ("a-b", 0)
    one = [("h1", "h2", "cubic")]
    into = one + [("h3", "h2", "cubic")]
    from_one = one + [("h1", "h3", "cubic")]
    for name, duplex, flows in (
        ("A fff", "fff", one),
        ("B1 hff", "hff", one),
        ("B2 fhf", "fhf", one),
        ("B3 hhf", "hhf", one),
        ("E fff", "fff", into),
        ("F1 hff", "hff", into),
        ("F2 fhf", "fhf", into),
        ("F3 hhh", "hhh", into),
        ("G fff", "fff", from_one),
        ("H1 ffh", "ffh", from_one),
        ("H2 fhh", "fhh", from_one),
        ("H3 hhh", "hhh", from_one),
    ):
        # Into one host the switch's port is the narrow place, from one host its own link.
        yield name, star(duplex), flows, ("h1-s", 0) if name[0] in "GH" else ("h2-s", 1)


def lab(*words, **options):
    return subprocess.run([CAUDAL, "lab", *words], check=True, **options)


def measure_once(topology, flows, link):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(topology)
        file.flush()
        lab("up", file.name, "--name", LAB, "-q")
    background = []
    try:
        on = lambda host, *words: [CAUDAL, "lab", "exec", "--lab", LAB, host, "--", *words]
        for host in sorted({to for _, to, _ in flows}):
            background.append(subprocess.Popen(on(host, CAUDAL, "serve", "-q"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(0.7)
        clients = {}
        for flow in flows:
            clients[flow] = clients.get(flow, 0) + 1
        running = [
            subprocess.Popen(
                on(sender, CAUDAL, "tcp", receiver, "-4", "-t", str(SECONDS), "-C", congestion, "-P", str(count), "--json"),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for (sender, receiver, congestion), count in clients.items()
        ]
        reports = [json.loads(client.communicate(timeout=4 * SECONDS)[0]) for client in running]
        stats = json.loads(lab("stats", "--lab", LAB, "--json", capture_output=True, text=True).stdout)
    finally:
        for it in background:
            it.terminate()
        lab("down", LAB, stdout=subprocess.DEVNULL)
        for it in background:
            it.wait()
    goodputs, retransmits = [], 0
    for report in reports:
        for flow in report["flows"]:
            done = [it for it in flow["intervals"] if it["bytes"] is not None]
            goodputs.append(sum(it["bytes"] for it in done) * 8 / done[-1]["end_s"] / 1e6)
            retransmits += sum((it.get("tcp") or {}).get("retransmits") or 0 for it in done)
    name, direction = link
    it = next(it for it in stats["links"] if it["name"] == name)
    course = it["forward"] if direction == 0 else it["backward"]
    dropped = sum(count["frames"] for count in counters["dropped"].values())
    return {
        "goodputs": goodputs,
        "offered": counters["offered"]["frames"],
        "dropped": dropped,
        "retransmits": retransmits,
        "emulator": stats["emulator"]["whole"],
    }


def measure(path, again=()):
    known = {it["name"] for it in read(path)} if os.path.exists(path) else set()
    for name, topology, flows, link in cases():
        if name in known and name not in again:
            continue
        try:
            result = measure_once(topology, flows, link)
        except (subprocess.SubprocessError, json.JSONDecodeError, StopIteration, KeyError) as error:
            print(f"{name}: {error!r}", file=sys.stderr)
            continue
        with open(path, "a") as file:
            file.write(json.dumps({"name": name, **result}) + "\n")
        print(name, [round(it, 3) for it in result["goodputs"]], result["dropped"], flush=True)


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def simulate(topology, flows, link, seed):
    words = [f"{sender}>{receiver}:{congestion}" for sender, receiver, congestion in flows]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(topology)
        file.flush()
        done = subprocess.run(
            [SIMULATE, file.name, str(SECONDS), str(seed), JITTER, *words], check=True, capture_output=True, text=True
        )
    result = json.loads(done.stdout)
    name, direction = link
    it = next(it for it in result["links"] if it["name"] == name)
    counters = it["directions"][direction]
    dropped = sum(count["frames"] for count in counters["dropped"].values())
    goodputs = [flow["goodput"] / 1e6 for flow in result["flows"]]
    return goodputs, dropped / max(1, counters["offered"]["frames"])


def percent(value):
    return "–" if value is None else f"{100 * value:+.1f} %"


def late(run):
    return run["emulator"].get("must_repeat") or run["emulator"].get("stalls", 0) > 0


class Comparison:
    """A case, measured and simulated."""

    def __init__(self, name, topology, flows, link, runs):
        self.name = name
        punctual = [run for run in runs if not late(run)]
        self.late = not punctual
        real = max(punctual or runs, key=lambda run: sum(run["goodputs"]))
        self.goodput, self.loss = sum(real["goodputs"]), real["dropped"] / max(1, real["offered"])
        simulated = [simulate(topology, flows, link, seed) for seed in range(1, SEEDS + 1)]
        self.simulated = statistics.mean(sum(goodputs) for goodputs, _ in simulated)
        self.simulated_loss = statistics.mean(loss for _, loss in simulated)
        self.off = self.simulated / self.goodput - 1
        # A handful of losses says nothing of their rate.
        self.off_loss = self.simulated_loss / self.loss - 1 if real["dropped"] >= 20 else None

    def holds(self):
        return abs(self.off) <= GOODPUT and abs(self.off_loss or 0) <= LOSS


def comparisons(path):
    measured = {}
    for run in read(path):
        measured.setdefault(run["name"], []).append(run)
    return [Comparison(*case, measured[case[0]]) for case in cases() if case[0] in measured]


def compare(path):
    print("| case | kernel Mbit/s | simulated | difference | kernel loss | simulated | difference |")
    print("|---|---|---|---|---|---|---|")
    found = comparisons(path)
    for it in found:
        print(
            f"| {it.name}{' (late)' if it.late else ''} | {it.goodput:.3f} | {it.simulated:.3f} | {percent(it.off)}"
            f" | {100 * it.loss:.3f} % | {100 * it.simulated_loss:.3f} % | {percent(it.off_loss)} |"
        )
    goodput = sum(abs(it.off) <= GOODPUT for it in found)
    told = [it for it in found if it.off_loss is not None]
    loss = sum(abs(it.off_loss) <= LOSS for it in told)
    print(f"\ngoodput within {GOODPUT:.0%}: {goodput} of {len(found)}; loss within {LOSS:.0%}: {loss} of {len(told)};")
    print(f"cases in which the emulator stalled in every run: {sum(it.late for it in found)}")


def repeat(path):
    measure(path, {it.name for it in comparisons(path) if it.late or not it.holds()})


def main():
    actions = {"measure": measure, "repeat": repeat, "compare": compare}
    if len(sys.argv) != 3 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()
