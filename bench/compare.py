#!/usr/bin/env python3
"""Runs caudal and its peers in turn on this machine and prints the ratios.

Every comparison is a number of pairs: caudal, peer, caudal, peer … Each pair gives a ratio; the median
over the pairs is what counts, because the machine's speed drifts and a pair is close together in time.
Congestion control and block length are the same on both sides of a comparison. Traffic stays on loopback.

    bench/compare.py [--pairs 5] [--seconds 2] [NAME …]     the comparisons whose name contains NAME
    bench/compare.py --list

Needs iperf3, iperf, sockperf, (for the connection rate) neper's tcp_crr and netperf, and (for the pacing comparison, as root) tcpdump.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CAUDAL = os.environ.get("CAUDAL") or os.path.join(ROOT, "target", "release", "caudal")
BIT = 1e9
# What is measured here is not kept among the user's own runs.
os.environ["CAUDAL_STORE"] = "none"


def run(command, timeout=120):
    """What the command printed; its whole process group is ended if it takes too long."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise RuntimeError(f"{command[0]} took longer than {timeout} s")
    if process.returncode not in (0,):
        raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}: {err.strip() or out.strip()}")
    return out


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    time.sleep(0.4)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def caudal_run(*flags):
    return json.loads(run([CAUDAL, *flags, "--json"]))


def caudal_goodput(*flags):
    run_ = caudal_run(*flags)
    return run_["summary"]["directions"][0]["goodput_bps"]["mean"]


def iperf3(*flags):
    port = str(free_port())
    with server(["iperf3", "-s", "-p", port, "-1"]):
        return json.loads(run(["iperf3", "-c", "127.0.0.1", "-p", port, "-J", *flags]))


REAL, OURS = ["iperf3"], [CAUDAL, "iperf3"]


def in_iperf3(client, serving, *flags):
    """The end of a test in iperf3's language: either end may be caudal."""
    port = str(free_port())
    with server([*serving, "-s", "-p", port, "-1"]):
        return json.loads(run([*client, "-c", "127.0.0.1", "-p", port, "-J", *flags]))["end"]


def in_iperf3_tcp(client, serving, seconds):
    return in_iperf3(client, serving, "-t", str(seconds), "-C", "cubic")["sum_received"]["bits_per_second"] / BIT


def in_iperf3_udp(client, serving, seconds):
    """Received goodput and loss at no limit of rate."""
    end = in_iperf3(client, serving, "-u", "-b", "0", "-l", "1448", "-t", str(seconds))
    sent, received = end["sum_sent"], end["sum_received"]
    arrived = received["packets"] - received["lost_packets"]
    return arrived * 1448 * 8 / sent["seconds"] / BIT, 1 - arrived / max(sent["packets"], 1)


def iperf3_tcp(*flags):
    return iperf3(*flags)["end"]["sum_received"]["bits_per_second"]


def iperf2_tcp(seconds, *flags):
    port = str(free_port())
    with server(["iperf", "-s", "-p", port, "-l", "128K"]):
        out = run(["iperf", "-c", "127.0.0.1", "-p", port, "-t", str(seconds), "-f", "b", *flags])
    rates = re.findall(r"([\d.]+) bits/sec", out)
    return float(rates[-1])


def iperf3_udp(seconds, length):
    """Received goodput at iperf3's best: unlimited rate, a receive buffer as large as it may be."""
    end = iperf3("-u", "-b", "0", "-l", str(length), "-t", str(seconds), "-w", "4M")["end"]
    total = end["sum"]
    return total["bits_per_second"] * (1 - total["lost_packets"] / max(total["packets"], 1))


def iperf2_udp(seconds, length):
    port = str(free_port())
    with server(["iperf", "-s", "-u", "-p", port, "-w", "4M"]):
        out = run(["iperf", "-c", "127.0.0.1", "-u", "-b", "100G", "-l", str(length), "-p", port,
                   "-t", str(seconds), "-f", "b", "-w", "4M"])
    # The server's report: its rate is what arrived.
    report = re.findall(r"([\d.]+) bits/sec\s+[\d.]+ ms\s+(\d+)/\s*(\d+)", out)
    return float(report[-1][0])


def caudal_udp(seconds, length):
    done = caudal_run("udp", "--rate", "max", "-l", str(length), "-t", f"{seconds}s")
    way = done["summary"]["directions"][0]
    return way["goodput_bps"]["mean"], way["loss"]["lost"] / max(way["loss"]["sent"], 1)


def sockperf_p50(protocol, seconds):
    port = str(free_port())
    tcp = ["--tcp"] if protocol == "tcp" else []
    with server(["sockperf", "server", "-i", "127.0.0.1", "-p", port, *tcp]):
        out = run(["sockperf", "ping-pong", "-i", "127.0.0.1", "-p", port, "--full-rtt", "-m", "14",
                   "-t", str(seconds), *tcp])
    found = re.search(r"percentile 50.000\s*=\s*([\d.]+)", out)
    return float(found.group(1))


def caudal_p50(protocol, seconds):
    port = str(free_port())
    with server([CAUDAL, "serve", "-p", port, "-B", "127.0.0.1", "-q"]):
        count = str(int(seconds * 40_000))
        done = caudal_run("rtt", "127.0.0.1", "-p", port, "--proto", protocol, "--sizes", "1", "--count", count)
    return done["summary"]["sizes"][0]["pooled"]["rtt_us"]["p50"]


def spacing(path, length, expected_us):
    """|gap − expected|, µs, of every gap between the datagrams of one flow in a capture."""
    with open(path, "rb") as file:
        head = file.read(24)
        nano = struct.unpack("<I", head[:4])[0] == 0xA1B23C4D
        stamps = []
        while True:
            record = file.read(16)
            if len(record) < 16:
                break
            seconds, part, kept, size = struct.unpack("<IIII", record)
            file.read(kept)
            if size >= length:
                stamps.append(seconds * 1e6 + part / (1e3 if nano else 1))
    gaps = [b - a for a, b in zip(stamps, stamps[1:])]
    return sorted(abs(gap - expected_us) for gap in gaps)


def captured(length, sender):
    """The p99 spacing error of what `sender(port)` sends, seen on loopback."""
    port = free_port()
    expected = length * 8 / 100e6 * 1e6
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "capture.pcap")
        capture = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-n", "-s", "64", "-B", "65536", "--time-stamp-precision=nano", "-w", path,
             f"udp and dst port {port} and greater {length}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.7)
        try:
            sender(port)
            time.sleep(0.7)
        finally:
            capture.terminate()
            capture.wait()
        errors = spacing(path, length, expected)
    if len(errors) < 1000:
        raise RuntimeError("the capture is too short")
    return errors[int(len(errors) * 0.99)]


def paced_caudal(seconds):
    def send(port):
        with server([CAUDAL, "serve", "-p", str(port), "-B", "127.0.0.1", "-q"]):
            caudal_run("udp", "127.0.0.1", "-p", str(port), "-b", "100M", "-l", "1448", "-t", f"{seconds}s")
    return captured(1448, send)


def paced_iperf3(seconds):
    def send(port):
        with server(["iperf3", "-s", "-p", str(port), "-1"]):
            run(["iperf3", "-c", "127.0.0.1", "-p", str(port), "-u", "-b", "100M", "-l", "1448", "-t", str(seconds)])
    return captured(1448, send)


def pairs(name, goal, ours, theirs, count, unit, lower_is_better=False):
    """Prints a comparison: both medians and the median ratio with its range."""
    mine, other, ratios = [], [], []
    for _ in range(count):
        a = ours()
        b = theirs()
        mine.append(a)
        other.append(b)
        ratios.append(a / b)
    shown = [statistics.median(mine), statistics.median(other)]
    ratio = statistics.median(ratios)
    met = ratio <= goal if lower_is_better else ratio >= goal
    sign = "≤" if lower_is_better else "≥"
    print(f"{name:<44} {shown[0]:>9.3f} {shown[1]:>9.3f} {unit:<8} ratio {ratio:6.3f} "
          f"({min(ratios):.3f}–{max(ratios):.3f})  goal {sign} {goal:<5} {'met' if met else 'MISSED'}", flush=True)
    return met


def tcp(seconds, cc, *flags, length="128Ki"):
    return lambda: caudal_goodput("tcp", "-t", f"{seconds}s", "-C", cc, "-l", length, *flags) / BIT


def tcp3(seconds, cc, *flags, length="128K"):
    return lambda: iperf3_tcp("-t", str(seconds), "-C", cc, "-l", length, *flags) / BIT


def tcp2(seconds, cc, *flags):
    return lambda: iperf2_tcp(seconds, "-Z", cc, "-l", "128K", *flags) / BIT


def comparisons(seconds, count):
    for cc in ("cubic", "bbr"):
        yield f"tcp, 1 flow, {cc}, vs iperf3", lambda n, cc=cc: pairs(
            n, 1.05, tcp(seconds, cc), tcp3(seconds, cc), count, "Gbit/s")
    yield "tcp --discard, cubic, vs iperf3", lambda n: pairs(
        n, 1.4, tcp(seconds, "cubic", "--discard"), tcp3(seconds, "cubic"), count, "Gbit/s")
    yield "tcp --zerocopy --discard, cubic, vs iperf3", lambda n: pairs(
        n, 1.8, tcp(seconds, "cubic", "--discard", "--zerocopy", length="256Ki"),
        tcp3(seconds, "cubic", length="256K"), count, "Gbit/s")
    yield "tcp, 4 flows, cubic, vs iperf3 -P 4", lambda n: pairs(
        n, 1.05, tcp(seconds, "cubic", "-P", "4"), tcp3(seconds, "cubic", "-P", "4"), count, "Gbit/s")
    yield "tcp, 4 flows, cubic, vs iperf -P 4", lambda n: pairs(
        n, 1.05, tcp(seconds, "cubic", "-P", "4"), tcp2(seconds, "cubic", "-P", "4"), count, "Gbit/s")
    for length, unit, scale in ((1448, "Gbit/s", 1e9), (64, "Mpps", 64 * 8e6)):
        goal = 10 if length == 1448 else 40
        losses = []

        def ours(length=length, scale=scale, losses=losses):
            rate, loss = caudal_udp(seconds, length)
            losses.append(loss)
            return rate / scale

        for peer, measure in (("iperf3", iperf3_udp), ("iperf", iperf2_udp)):
            def compare(n, measure=measure, length=length, scale=scale, goal=goal, unit=unit, ours=ours, losses=losses):
                losses.clear()
                met = pairs(n, goal, ours, lambda: measure(seconds, length) / scale, count, unit)
                print(f"{'':<44} caudal's largest loss: {max(losses) * 100:.4f} % (goal ≤ 0.1 %)")
                return met and max(losses) <= 0.001
            yield f"udp --rate max, {length} B, received, vs {peer}", compare
    for name, client, serving in (("client", OURS, REAL), ("server", REAL, OURS), ("client and server", OURS, OURS)):
        yield f"iperf3's tcp, our {name}, vs iperf3", lambda n, client=client, serving=serving: pairs(
            n, 1.0, lambda: in_iperf3_tcp(client, serving, seconds), lambda: in_iperf3_tcp(REAL, REAL, seconds),
            count, "Gbit/s")
    yield "iperf3's udp -b 0, our server, vs iperf3", lambda n: pairs(
        n, 1.5, lambda: in_iperf3_udp(REAL, OURS, seconds)[0], lambda: in_iperf3_udp(REAL, REAL, seconds)[0],
        count, "Gbit/s")
    yield "iperf3's udp -b 0, our client, vs iperf3", lambda n: udp_client(n, count, seconds)
    for protocol in ("tcp", "udp"):
        yield f"rtt {protocol}, smallest message, p50, vs sockperf", lambda n, p=protocol: pairs(
            n, 1.05, lambda: caudal_p50(p, seconds), lambda: sockperf_p50(p, seconds), count, "µs", True)
    yield "udp 100 Mbit/s, 1448 B, p99 spacing error", lambda n: pairs(
        n, 0.5, lambda: paced_caudal(seconds), lambda: paced_iperf3(seconds), count, "µs", True)
    yield "mean rate", lambda n: mean_rates(seconds)
    yield "connections", lambda n: connections(seconds, count)
    yield "200 clients", lambda n: many_clients()
    yield "start to exit", lambda n: start_to_exit(count)


def udp_client(name, count, seconds):
    """Our sender into the real server: it delivers no less and loses no more than iperf3's own."""
    losses = {"ours": [], "theirs": []}

    def measure(client, who):
        rate, loss = in_iperf3_udp(client, REAL, seconds)
        losses[who].append(loss)
        return rate

    met = pairs(name, 1.0, lambda: measure(OURS, "ours"), lambda: measure(REAL, "theirs"), count, "Gbit/s")
    ours, theirs = (statistics.median(losses[who]) * 100 for who in ("ours", "theirs"))
    print(f"{'':<44} loss: caudal {ours:.2f} %, iperf3 {theirs:.2f} %  {'met' if ours <= theirs else 'MISSED'}", flush=True)
    return met and ours <= theirs


def mean_rates(seconds):
    met = True
    for rate, bps in (("1M", 1e6), ("10M", 1e7), ("100M", 1e8), ("1G", 1e9)):
        done = caudal_run("udp", "-b", rate, "-l", "1448", "-t", "10s")
        sent = done["flows"][0]["sender"]
        way = done["summary"]["directions"][0]
        error = sent["bytes"] * 8 / 10 / bps - 1
        # One datagram more or less is all a schedule of whole datagrams can do.
        allowed = max(0.001, 1448 * 8 / (bps * 10))
        met &= abs(error) <= allowed
        print(f"{'mean rate at ' + rate:<44} sent {error * 100:+.4f} %, received "
              f"{(way['goodput_bps']['mean'] / bps - 1) * 100:+.4f} % (goal ±0.1 %)  {'met' if abs(error) <= allowed else 'MISSED'}")
    return met


def many_clients():
    """200 clients of one server at once, each at 2 Mbit/s for 10 s: rates, failures, the server's memory."""
    port = str(free_port())
    with server([CAUDAL, "serve", "-p", port, "-q"]) as process:
        clients = [subprocess.Popen([CAUDAL, "udp", "127.0.0.1", "-p", port, "--rate", "2M", "-l", "1448",
                                     "-t", "10s", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for _ in range(200)]
        results, failures = [], 0
        for client in clients:
            out, err = client.communicate(timeout=120)
            if client.returncode != 0:
                failures += 1
                print(err.strip())
                continue
            results.append(json.loads(out)["summary"]["directions"][0]["goodput_bps"]["mean"] / 2e6 - 1)
        with open(f"/proc/{process.pid}/status") as status:
            peak = int(re.search(r"VmHWM:\s+(\d+)", status.read()).group(1)) / 1024
    worst = max(map(abs, results), default=float("inf"))
    met = failures == 0 and worst <= 0.01 and peak <= 100
    print(f"{'200 clients at 2 Mbit/s':<44} {200 - failures} finished, worst rate error {worst * 100:.3f} % "
          f"(goal ≤ 1 %), server {peak:.1f} MiB (goal ≤ 100)  {'met' if met else 'MISSED'}")
    return met


def caudal_connections(port, parallel, seconds):
    run_ = caudal_run("connect", "127.0.0.1", "-p", port, "-t", f"{seconds}s", "-P", str(parallel))
    return run_["connect"]["per_s"]["mean"]


def neper_connections(parallel, seconds):
    """Connections per second of neper's tcp_crr, whose client opens so many at once on as many threads."""
    control, port = str(free_port()), str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        words = ["tcp_crr", "-C", control, "-P", port, "-F", str(parallel), "-T", str(parallel), "-l", str(seconds)]
        serving = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        time.sleep(0.4)
        try:
            client = subprocess.run([*words, "-c", "-H", "127.0.0.1"], capture_output=True, text=True, cwd=folder,
                                    timeout=60)
        finally:
            serving.kill()
            serving.wait()
    return float(re.search(r"^throughput=([0-9.]+)", client.stdout, re.M).group(1))


def netperf_connections(port, seconds):
    """Transactions per second of netperf's TCP_CRR, one after another."""
    out = run(["netperf", "-H", "127.0.0.1", "-p", port, "-t", "TCP_CRR", "-l", str(seconds), "-P", "0"])
    return float(out.split()[5])


def connections(seconds, count):
    """Connections per second beside neper's tcp_crr and netperf's TCP_CRR, where they are installed."""
    port, other = str(free_port()), str(free_port())
    met = True
    with server([CAUDAL, "serve", "-p", port, "-q"]):
        for parallel in (1, 8):
            ours = lambda parallel=parallel: caudal_connections(port, parallel, seconds) / 1e3
            if shutil.which("tcp_crr"):
                met &= pairs(f"connect -P {parallel} vs neper tcp_crr", 1.0, ours,
                             lambda parallel=parallel: neper_connections(parallel, seconds) / 1e3, count, "k/s")
        if shutil.which("netserver"):
            with server(["netserver", "-D", "-p", other]):
                met &= pairs("connect vs netperf TCP_CRR", 1.0,
                             lambda: caudal_connections(port, 1, seconds) / 1e3,
                             lambda: netperf_connections(other, seconds) / 1e3, count, "k/s")
    return met


def start_to_exit(count):
    took = []
    for _ in range(count):
        began = time.monotonic()
        run([CAUDAL, "tcp", "--time", "1"])
        took.append(time.monotonic() - began)
    met = statistics.median(took) <= 1.2
    print(f"{'tcp --time 1, start to exit':<44} median {statistics.median(took):.3f} s, most {max(took):.3f} s "
          f"(goal ≤ 1.2)  {'met' if met else 'MISSED'}")
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known = list(comparisons(options.seconds, options.pairs))
    if options.list:
        print("\n".join(name for name, _ in known))
        return 0
    for tool in ("iperf3", "iperf", "sockperf", "tcpdump"):
        if not shutil.which(tool):
            print(f"note: {tool} is not installed; its comparisons will fail", file=sys.stderr)
    if not os.path.exists(CAUDAL):
        sys.exit(f"{CAUDAL} is not there; build it with `cargo build --release`, or name it in CAUDAL")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}; {options.pairs} pairs of {options.seconds} s; "
          f"columns: caudal, peer (medians)")
    failed = 0
    for name, compare in known:
        if options.names and not any(part in name for part in options.names):
            continue
        try:
            failed += not compare(name)
        except (RuntimeError, OSError, AttributeError, KeyError, IndexError, ValueError) as error:
            failed += 1
            print(f"{name:<44} could not be measured: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
