#!/usr/bin/env python3
"""A server with many clients at once: every client gets its rate, and what the server needs for it.

    bench/clients.py [--clients 1000] [--rate 200000] [--seconds 60]

Starts caudal serve on loopback and that many clients, a program each: TCP and UDP of caudal, of iperf3 and of iperf 2 in turn, each at the rate.
They are started as fast as this machine can, and last at least as long as that takes. Beside them runs caudal rtt. Prints for each kind of client how
many were refused or failed, the largest deviation of the rate from the one asked for, and how many deviate by more than 1 %; then the
server's memory for each client and its processor time, and the round-trip time.

The flags of the server are those of docs/serving.md for many clients. Needs iperf3, iperf and a release build; CAUDAL names the program.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import time

from compare import CAUDAL, free_port

KINDS = ["caudal tcp", "caudal udp", "iperf3 tcp", "iperf3 udp", "iperf 2 tcp", "iperf 2 udp"]


def words(kind, ports, rate, seconds):
    main, iperf2 = ports
    udp = ["-u"] if kind.endswith("udp") else []
    if kind.startswith("caudal"):
        length = ["-l", "1000"] if udp else []
        return [CAUDAL, kind.split()[1], "127.0.0.1", "-p", str(main), "-b", str(rate), *length, "-t", str(seconds), "--json", "-q"]
    if kind.startswith("iperf3"):
        return ["iperf3", "-c", "127.0.0.1", "-p", str(main), "-b", str(rate), "-l", "1000", *udp, "-t", str(seconds), "-J"]
    return ["iperf", "-c", "127.0.0.1", "-p", str(iperf2), "-b", str(rate), "-l", "1000", *udp, "-t", str(seconds), "-y", "C"]


def received_rate(kind, text, seconds):
    """The rate at which the server received, bit/s; of iperf 2 over TCP that at which the client wrote."""
    if kind.startswith("caudal"):
        document = json.loads(text)
        return document["summary"]["goodput_bps"]["mean"]
    if kind.startswith("iperf3"):
        end = json.loads(text)["end"]
        if kind.endswith("udp"):
            total = end["sum"]
            return total["bits_per_second"] * (1 - total["lost_percent"] / 100)
        return end["sum_received"]["bits_per_second"]
    rows = [row.split(",") for row in text.split() if row.count(",") >= 8]
    return float(rows[-1][8])


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"Pss:\s+(\d+) kB", file.read())[1]) * 1024


def cpu(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    arguments = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    ports = free_port(), free_port()
    many = str(2 * arguments.clients)
    serve = [CAUDAL, "serve", "--bind", "127.0.0.1", "-p", str(ports[0]), "--iperf2-port", str(ports[1]), "--max-clients", many,
             "--max-clients-per-source", many, "--max-memory", "4Gi", "--max-memory-per-source", "4Gi", "--iperf2-trust", "127.0.0.0/8"]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clients = []
    try:
        time.sleep(1)
        idle_bytes, idle_cpu, start = memory(server.pid), cpu(server.pid), time.monotonic()
        for number in range(arguments.clients):
            kind = arguments.kinds[number % len(arguments.kinds)]
            command = words(kind, ports, arguments.rate, arguments.seconds)
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            clients.append((kind, process))
        started = time.monotonic() - start
        print(f"{arguments.clients} clients of {arguments.rate / 1e3:.0f} kbit/s for {arguments.seconds} s, started in {started:.0f} s")
        time.sleep(max(1, arguments.seconds / 3 - started))
        rtt = subprocess.run([CAUDAL, "rtt", "127.0.0.1", "-p", str(ports[0]), "-t", "3", "--json", "-q"], capture_output=True, text=True)
        used = memory(server.pid) - idle_bytes
        outputs = [(kind, process, process.communicate(timeout=10 * arguments.seconds + 60)) for kind, process in clients]
        spent, elapsed = cpu(server.pid) - idle_cpu, time.monotonic() - start
        print(f"{'':14}{'clients':>9}{'failed':>9}{'beyond 1 %':>12}{'largest':>10}{'median':>10}")
        for kind in arguments.kinds:
            deviations, failed, reason = [], 0, ""
            for of, process, (out, err) in outputs:
                if of != kind:
                    continue
                try:
                    if process.returncode:
                        raise ValueError(err or out)
                    deviations.append(received_rate(kind, out, arguments.seconds) / arguments.rate - 1)
                except (ValueError, KeyError, IndexError, TypeError) as problem:
                    failed, reason = failed + 1, str(problem).strip()[:200]
            beyond = sum(abs(deviation) > 0.01 for deviation in deviations)
            largest = max(deviations, key=abs, default=0)
            median = statistics.median(deviations) if deviations else 0
            print(f"{kind:14}{len(deviations) + failed:9}{failed:9}{beyond:12}{largest:10.2%}{median:10.2%} {reason}")
        print(f"server: {used / arguments.clients / 1024:.0f} KiB for each client, {spent / elapsed:.2f} of a processor")
        if rtt.returncode == 0:
            reply = json.loads(rtt.stdout)["summary"]["rtt_us"]
            print(f"round-trip time beside them: median {reply['p50']:.0f} us, p99 {reply['p99']:.0f} us")
        else:
            print("rtt failed:", rtt.stderr.strip())
    finally:
        for _, process in clients:
            process.kill()
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
