#!/usr/bin/env python3
"""Capacities of links that are known: caudal path beside pchar.

    bench/path.py [ROUNDS] [--time SECONDS]     3 rounds of 60 s at most unless told otherwise

Networks of the lab: three links that serialise (100, 10 and 50 Mbit/s), one of 300 Mbit/s, a switch that is no hop, and token buckets. Prints what
is off, in percent of the truth, and the probes and the time it took; for the first network also what pchar (Debian) says. Programs of the lowest
priority keep the processors from going idle, as a virtual machine that goes idle wakes the emulator late. Wants root or user namespaces, pchar, a
release build (`cargo build --release`) and a quiet machine. CAUDAL names the program.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
CAUDAL = os.environ.get("CAUDAL", os.path.join(TARGET, "release/caudal"))
LAB = f"bench-path-{os.getpid()}"


def chain(*links):
    """Hosts h1 and h2 with routers between them; a link has keys of a topology file."""
    routers = [f"r{nth}" for nth in range(1, len(links))]
    nodes = ["h1", *routers, "h2"]
    between = ", ".join(
        f'{{ between = ["{near}", "{far}"]{", " + keys if keys else ""} }}' for near, far, keys in zip(nodes, nodes[1:], links)
    )
    names = ", ".join(f'{{ name = "{name}" }}' for name in routers)
    router = f"router = [{names}]\n" if routers else ""
    return f'host = [{{ name = "h1" }}, {{ name = "h2" }}]\n{router}link = [{between}]\n'


SWITCH = """host = [{ name = "h1" }, { name = "h2" }]
router = [{ name = "r1" }]
switch = [{ name = "s1" }]
link = [{ between = ["h1", "r1"], rate = "100M" }, { between = ["r1", "s1"], rate = "100M" }, { between = ["s1", "h2"], rate = "100M" }]
"""
SHAPERS = {"r1": 100, "r2": 10, "r3": 50}
# The network, its topology, and the capacity of each link in Mbit/s; None where no number can be said.
NETWORKS = [
    ("serialising", chain('rate = "100M"', 'rate = "10M"', 'rate = "50M"'), [100, 10, 50]),
    ("300M", chain('rate = "300M", driver = "emulated"'), [300]),
    ("hidden switch", SWITCH, [100, 50]),
    ("token buckets", chain("", "", "", ""), [None, 100, 10, None]),
]


def output(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def on(host, *words):
    return output([CAUDAL, "lab", "exec", "--lab", LAB, host, "--", *words])


NO_ICMP_LIMITS = (
    'sysctl = { "net.ipv4.icmp_ratelimit" = "0", "net.ipv4.icmp_msgs_per_sec" = "1000000", '
    '"net.ipv4.icmp_msgs_burst" = "100000", "net.ipv6.icmp.ratelimit" = "0" }\n'
)


@contextlib.contextmanager
def lab(topology):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "path.toml")
        with open(file, "w", encoding="utf-8") as written:
            written.write(NO_ICMP_LIMITS + topology)
        output([CAUDAL, "lab", "up", file, "--name", LAB, "--quiet"])
        try:
            yield
        finally:
            output([CAUDAL, "lab", "down", LAB])


@contextlib.contextmanager
def awake():
    spinning = ["chrt", "-i", "0", "sh", "-c", "while :; do :; done"]
    programs = [subprocess.Popen(spinning) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def ours(seconds):
    words = [CAUDAL, "path", "h2", "-4", "--numeric", "--time", f"{seconds}s", "--json", "--no-store"]
    path = json.loads(on("h1", *words))["path"]
    links = {link["ttl"]: link for link in path["links"]}
    return path, [links.get(ttl) for ttl in range(1, len(path["hops"]) + 1)]


def theirs(address):
    text = on("h1", "pchar", "-n", "-g", "0.001", "-R", "32", "-I", "64", "-t", "1", address)
    found = [line.split("bw = ")[1].split()[0] for line in text.splitlines() if "Hop char:" in line and "bw = " in line]
    return [float(kbits) / 1e3 for kbits in found]


def off(found, truth):
    return f"{found:8.2f} ({100 * (found / truth - 1):+5.1f} %)"


def show(name, links, truth, path):
    for nth, (link, true) in enumerate(zip(links, truth), 1):
        if link is None or true is None:
            continue
        capacity = link.get("capacity_bps")
        said = off(capacity["mean"] / 1e6, true) if capacity else "none"
        print(f"  {name:14} link {nth}: {true:4} Mbit/s, {said} {link['class']}, {link['confidence']} confidence")
    cost = path["cost"]
    print(f"  {name:14} {cost['packets']} packets, {cost['bytes'] / 1e6:.1f} MB, {cost['elapsed_s']:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=3)
    parser.add_argument("--time", type=float, default=60)
    args = parser.parse_args()
    with awake():
        for name, topology, truth in NETWORKS:
            with lab(topology):
                if name == "token buckets":
                    for router, rate in SHAPERS.items():
                        shaper = f"tc qdisc replace dev eth1 root tbf rate {rate}mbit burst 1600 latency 50ms"
                        on(router, *shaper.split())
                for _ in range(args.rounds):
                    path, links = ours(args.time)
                    show(name, links, truth, path)
                    if name == "serialising":
                        found = theirs(path["target"]["address"])
                        said = ", ".join(off(one, true).strip() for one, true in zip(found, truth))
                        print(f"  {'pchar':14} {said}")


if __name__ == "__main__":
    main()
