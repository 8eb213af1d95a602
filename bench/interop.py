#!/usr/bin/env python3
"""Runs tests between caudal and other versions of iperf3 and iperf 2, and judges them by what both ends counted.

    bench/interop.py [--caudal PATH] [NAME=]PATH …       a table for each binary, and the cases that failed
    bench/interop.py --filter 'udp down' iperf3=/usr/bin/iperf3

Each binary is taken as iperf3 or as iperf 2 by what its --version says, and its own help says which options it
knows. The pairs of client and server are

    theirs>ours      its client, our server           ours>theirs      caudal iperf3 | iperf, its server
    native>theirs    caudal tcp | udp --as …, its server
    theirs>theirs    the binary against itself        ours>ours        caudal against itself

and the cases are TCP and UDP, each direction, one flow and three, an end by time, bytes or blocks, with and without
a rate. A case passes when both commands end in time with exit code 0; what the receiver counted is within 0.5 % of
what the sender sent, less what it calls lost; each end shows the figures of the other as the other has them; no more
is lost than was sent; what was asked for (time, bytes, rate) is what happened; and the kernel's counters agree. A
case that failed is run once more, alone. On a machine that is busy with other things times and rates are not judged.

As root every case has a network namespace of its own, whose counters are the third witness. Otherwise the cases run
on the machine's loopback without it. Only Python's standard library is needed.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import dataclasses
import fcntl
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interop_accounts import Account, iperf2_account, iperf3_account, native_account  # noqa: E402

# Relative difference of two counts of the same thing that is still called equal.
TOLERANCE = 0.005
DATAGRAM = 1000
BLOCK = 128 << 10
# From <linux/sched.h> and <linux/sockios.h>.
CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x4000_0000, 0x8913, 0x8914, 1


@dataclasses.dataclass(frozen=True)
class Binary:
    """A program of another project, with what it knows."""

    name: str
    path: str
    kind: str
    version: tuple
    help: str

    @classmethod
    def probe(cls, words):
        name, _, path = words.rpartition("=")
        said = "".join(output([path, flag]) for flag in ("--version", "--help"))
        found = re.search(r"iperf3? (?:version )?(\d+(?:\.\d+)+)", said)
        if not found:
            sys.exit(f"{path} says no version of iperf3 or iperf 2")
        version = tuple(int(part) for part in found[1].split("."))
        # riperf3 speaks iperf3's protocol but counts its own versions.
        kind = "iperf3" if "riperf3" in said or version >= (3,) else "iperf2"
        return cls(name or f"{kind} {found[1]}", path, kind, version, said)

    def knows(self, option):
        return re.search(rf"(^|[\s,]){re.escape(option)}\b", self.help, re.MULTILINE) is not None


@dataclasses.dataclass(frozen=True)
class Case:
    """One test: who asks whom for what."""

    kind: str
    client: str
    server: str
    protocol: str
    direction: str
    parallel: int
    end: str
    rate: int

    def __str__(self):
        rate = f"b{self.rate // 10**6}M" if self.rate else "b-"
        return f"{self.client}>{self.server} {self.protocol} {self.direction} P{self.parallel} {self.end} {rate}"

    @property
    def amount(self):
        """The bytes or blocks asked for; None where the end is a time."""
        if self.end == "t":
            return None
        length = DATAGRAM if self.protocol == "udp" else BLOCK
        blocks = {("udp", True): 1200, ("udp", False): 120, ("tcp", True): 30, ("tcp", False): 300}
        count = blocks[self.protocol, self.rate > 0]
        if self.rate and self.rate < 10**7:
            count = 3
        return count if self.end == "k" else count * length

    @property
    def amount_bytes(self):
        if self.end == "k":
            return self.amount * (DATAGRAM if self.protocol == "udp" else BLOCK)
        return self.amount

    @property
    def flow_rate(self):
        """Bits per second of each flow; 0 where there is no limit."""
        return self.rate or (1 << 20 if self.protocol == "udp" else 0)

    @property
    def expected_s(self):
        """How long the test should take at the client."""
        if self.end == "t":
            return 2.0 if self.direction == "-r" else 1.0
        flows = 1 if self.kind == "iperf2" or self.client == "native" else self.parallel
        once = self.amount_bytes * 8 / (self.flow_rate * flows) if self.flow_rate else 0.1
        return once * (2 if self.direction == "-r" else 1)

    def flags(self):
        """What the client is told, in the words all these tools share."""
        words = ["-P", str(self.parallel)] if self.parallel > 1 else []
        words += ["-t", "1"] if self.end == "t" else [f"-{self.end}", str(self.amount)]
        words += ["-b", str(self.rate)] if self.rate else []
        words += ["-l", str(DATAGRAM)] if self.protocol == "udp" else []
        words += [] if self.direction == "up" else {"down": ["-R"]}.get(self.direction, [self.direction])
        return words


def output(command, limit=10):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout.decode(errors="replace")


# Which cases there are.


def directions(binary, kind, client):
    """Ways of sending that both ends know."""
    if kind == "iperf3":
        known = ["up", "down"]
        if binary is None or binary.knows("--bidir"):
            known.append("--bidir")
        return known
    known = ["up"]
    if binary is None or binary.version >= (2, 1):
        known.append("down")
    if binary is None or binary.knows("--full-duplex"):
        known.append("--full-duplex" if client != "native" else "--bidir")
    if client != "native":
        known += ["-d", "-r"]
    return known


def cases(binary, kind, client, server):
    ends = ["t", "n", "k"] if kind == "iperf3" and client != "native" else ["t", "n"]
    for protocol, direction, parallel, end, rate in itertools.product(
            ("tcp", "udp"), directions(binary, kind, client), (1, 3), ends, (0, 20 * 10**6)):
        # Before 2.0.9 a rate makes a test one over UDP.
        if protocol == "tcp" and rate and binary and kind == "iperf2" and binary.version < (2, 0, 9):
            continue
        if direction in ("-d", "-r") and parallel > 1 and protocol == "udp":
            continue
        yield Case(kind, client, server, protocol, direction, parallel, end, rate)
    # A block is a quarter and more of a second at these rates: it is seen whether blocks are whole.
    for direction, end, rate in itertools.product(("up", "down"), ("t", "n"), (4 * 10**6, 10**6)):
        # iperf 2 refuses a rate below a block in a second.
        if direction in directions(binary, kind, client) and (kind == "iperf3" or rate > 8 * BLOCK and (
                binary is None or binary.version >= (2, 0, 9))):
            yield Case(kind, client, server, "tcp", direction, 1, end, rate)


# One case, in a process of its own.


def enter_namespace():
    """A network namespace with its loopback up; False where that is not permitted."""
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    return True


def counters():
    """The kernel's counts of UDP and IP in this namespace."""
    found = {}
    for path in ("/proc/net/snmp", "/proc/net/netstat"):
        with open(path) as file:
            lines = [line.split() for line in file]
        for names, values in zip(lines[::2], lines[1::2]):
            found.update({names[0] + name: int(value) for name, value in zip(names[1:], values[1:])})
    return found


def is_listened_on(port, protocol):
    state = "0A" if protocol == "tcp" else "07"
    for table in (f"/proc/net/{protocol}", f"/proc/net/{protocol}6"):
        with contextlib.suppress(OSError), open(table) as file:
            for line in file:
                words = line.split()
                if words[1].endswith(f":{port:04X}") and words[3] == state:
                    return True
    return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Spawned:
    """A command whose output goes to files, so that it never waits for a reader."""

    def __init__(self, command):
        self.command = command
        self.files = [tempfile.TemporaryFile() for _ in range(2)]
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.files[0], stderr=self.files[1],
                                        start_new_session=True, env={**os.environ, "CAUDAL_STORE": "none"})

    def wait(self, limit):
        """The exit code, None when it did not end within `limit` seconds."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.took = time.monotonic() - self.began
        return self.process.returncode

    def end(self, *signals):
        for each in (*signals, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, each)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(2)

    def said(self, nth=0):
        self.files[nth].seek(0)
        return self.files[nth].read().decode(errors="replace")


def server_command(case, caudal, path, binary_help, port):
    if case.kind == "iperf3":
        one = ["-1"] if case.server == "ours" or "-1," in binary_help else []
        own = [caudal, "iperf3"] if case.server == "ours" else ["stdbuf", "-oL", path]
        return [*own, "-s", "-p", str(port), "-J", *one], bool(one)
    own = [caudal, "iperf"] if case.server == "ours" else ["stdbuf", "-oL", path]
    udp = ["-u", "-l", str(DATAGRAM)] if case.protocol == "udp" else []
    return [*own, "-s", "-p", str(port), "-f", "B", *udp], False


def client_command(case, caudal, path, port):
    flags = case.flags()
    if case.client == "native":
        return [caudal, case.protocol, "127.0.0.1", "-p", str(port), "--as", case.kind, "--json", *flags]
    udp = ["-u"] if case.protocol == "udp" else []
    if case.kind == "iperf3":
        own = [caudal, "iperf3"] if case.client == "ours" else [path]
        return [*own, "-c", "127.0.0.1", "-p", str(port), "-J", *udp, *flags]
    own = [caudal, "iperf"] if case.client == "ours" else [path]
    back = ["-L", str(free_port())] if case.direction in ("-d", "-r") else []
    return [*own, "-c", "127.0.0.1", "-p", str(port), "-f", "B", *udp, *flags, *back]


def account(case, role, text, port):
    who = case.client if role == "client" else case.server
    if who == "native":
        return native_account(text)
    if case.kind == "iperf3":
        return iperf3_account(text, role, case.direction, case.protocol, DATAGRAM)
    return iperf2_account(text, role, case.direction, port)


def run_case(case, caudal, path, binary_help, limit):
    """Runs a case in this process's namespace; what is wrong with it, and what was run."""
    is_own = enter_namespace()
    port = free_port()
    command, ends_itself = server_command(case, caudal, path, binary_help, port)
    server = Spawned(command)
    try:
        until = time.monotonic() + limit
        listened = "udp" if case.kind == "iperf2" and case.protocol == "udp" else "tcp"
        while not is_listened_on(port, listened):
            if time.monotonic() > until or server.process.poll() is not None:
                return [f"the server does not listen: {server.said(1).strip() or server.said().strip()[-200:]}"], [command]
            time.sleep(0.01)
        before = counters() if is_own else None
        client = Spawned(client_command(case, caudal, path, port))
        commands = [command, client.command]
        try:
            wrong = judge_run(case, client, server, ends_itself, limit)
            after = counters() if is_own else None
        finally:
            client.end(signal.SIGTERM)
        if wrong and wrong[-1].startswith("hang"):
            return wrong, commands
        try:
            ends = {"client": account(case, "client", client.said(), port),
                    "server": account(case, "server", server.said(), port)}
        except (ValueError, KeyError, TypeError, IndexError) as error:
            wrong.append(f"unreadable report: {type(error).__name__}: {error}; {client.said(1).strip()[-200:]}")
            return wrong, commands
        kernel = {key: after[key] - before.get(key, 0) for key in after} if is_own else None
        wrong += judge_figures(case, client, ends, kernel)
        return wrong, commands
    finally:
        server.end(signal.SIGINT, signal.SIGTERM)


def judge_run(case, client, server, ends_itself, limit):
    """Ends, exit codes and durations of the two commands."""
    wrong = []
    code = client.wait(case.expected_s + limit)
    if code is None:
        return [f"hang: the client had not ended after {client.took:.1f} s: {client.said(1).strip()[-200:]}"]
    if code != 0:
        wrong.append(f"the client's exit code is {code}: {(client.said(1) or client.said()).strip()[-200:]}")
    for end, process in (("client", client), ("server", server)):
        found = re.search(r'"error":\s*"(.*?)"', process.said()) or re.search(r"(?im)^.*\b(?:error|failed|warning)\b.*$", process.said(1))
        if found and code == 0:
            wrong.append(f"the {end} says: {found[0].strip()[:200]}")
    if client.took > case.expected_s + 1.0 and not is_busy():
        wrong.append(f"the client took {client.took:.2f} s for a test of {case.expected_s:.2f} s")
    if not ends_itself:
        # iperf 2's server shows what it received when the connection has ended, and goes on.
        time.sleep(0.5)
        server.end(signal.SIGINT, signal.SIGTERM)
        return wrong
    code = server.wait(5)
    if code is None:
        server.end(signal.SIGTERM)
        return [*wrong, "hang: the server for one test goes on after it"]
    if code != 0:
        wrong.append(f"the server's exit code is {code}: {(server.said(1) or server.said()).strip()[-200:]}")
    return wrong


# What makes a case pass.


def is_busy():
    """Whether so much else runs on this machine that times and rates say nothing."""
    return os.getloadavg()[0] > 1.5 * os.cpu_count()


def differ(one, other, slack=0):
    return abs(one - other) > max(TOLERANCE * max(one, other), slack)


def judge_figures(case, client, ends, kernel):
    wrong = []
    for way in ("up", "down"):
        sends = {"up": case.direction != "down", "down": case.direction != "up"}[way]
        if not sends:
            continue
        sender, receiver = ("client", "server") if way == "up" else ("server", "client")
        sent, received = getattr(ends[sender], way), getattr(ends[receiver], way)
        wrong += [f"{way}: {what}" for what in judge_direction(case, getattr(case, sender), getattr(case, receiver), sent, received)]
        wrong += [f"{way}: {what}" for what in judge_told(case, ends["client"], ends["server"], way)]
        wrong += [f"{way}: {what}" for what in judge_request(case, way, sent)]
    if kernel:
        wrong += judge_kernel(case, ends, kernel)
    return wrong


def unread(case, receiver):
    """The bytes that a real receiver may leave unread.

    It stops reading at the end of the test, with what the sockets hold; at a rate they hold next to nothing.
    """
    if receiver != "theirs" or case.protocol == "udp" or case.rate:
        return 0
    with open("/proc/sys/net/ipv4/tcp_rmem") as read, open("/proc/sys/net/ipv4/tcp_wmem") as written:
        return case.parallel * sum(int(file.read().split()[2]) for file in (read, written))


def judge_direction(case, sender, receiver, sent, received):
    """The sender's own count against the receiver's."""
    if sent.sent is None or received.received is None:
        yield f"not counted: sent {sent.sent}, received {received.received}"
        return
    lost = (received.lost or 0) * DATAGRAM if case.protocol == "udp" else 0
    datagrams = 2 * DATAGRAM * case.parallel if case.protocol == "udp" else 0
    # Some versions of iperf 2 count what comes before the payload, and not at both ends; a real sender does not count the
    # block that it has not finished at the end.
    uncounted = case.parallel * (BLOCK if case.kind == "iperf3" and sender == "theirs" else 128)
    arrived = received.received + lost
    if sent.sent == 0 or received.received == 0:
        yield f"nothing: sent {sent.sent}, received {received.received}"
    elif sent.sent - arrived > max(TOLERANCE * sent.sent, datagrams, unread(case, receiver)):
        yield f"sent {sent.sent}, received {received.received} + {lost} lost: {arrived / sent.sent - 1:+.2%}"
    if arrived - sent.sent > max(TOLERANCE * sent.sent, datagrams, 0 if lost else uncounted):
        yield f"received {received.received} + {lost} lost of {sent.sent} sent"
    if lost > sent.sent:
        yield f"lost {lost} B of {sent.sent} B sent"


def judge_told(case, client, server, way):
    """What the client shows of the server against what the server shows itself."""
    shown, own = getattr(client, way), getattr(server, way)
    slack = 2 * case.parallel * DATAGRAM if case.protocol == "udp" else 0
    for name in ("sent", "received") if case.protocol == "tcp" else ("received", "lost"):
        is_of_server = (name == "sent") == (way == "down")
        one, other = getattr(shown, name), getattr(own, name)
        if is_of_server and one is not None and other is not None:
            if differ(one, other, slack if name != "lost" else 2 * case.parallel):
                yield f"the client shows {one} {name}, the server {other}"


def judge_request(case, way, sent):
    """The time, amount and rate that were asked for."""
    if case.end == "t" and sent.seconds is not None and abs(sent.seconds - 1) > (1 if is_busy() else 0.3):
        yield f"lasted {sent.seconds:.3f} s of 1 s"
    sender = case.client if way == "up" else case.server
    if case.end != "t" and sent.sent is not None and case.direction != "--bidir":
        least = case.amount_bytes
        most = case.amount_bytes * (case.parallel if case.kind == "iperf2" or case.client == "native" else 1)
        if sent.sent < least * (1 - TOLERANCE):
            yield f"sent {sent.sent} of the {least} asked for"
        block = DATAGRAM if case.protocol == "udp" else BLOCK
        if way == "up" and sender != "theirs" and sent.sent > most * 1.01 + 2 * case.parallel * block:
            yield f"sent {sent.sent} where {most} were asked for"
    if case.end == "t" and case.flow_rate and sender != "theirs" and sent.sent and sent.seconds and not is_busy():
        asked = case.flow_rate * case.parallel * sent.seconds / 8
        block = DATAGRAM if case.protocol == "udp" else BLOCK
        if abs(sent.sent - asked) > max(0.05 * asked, 1.5 * case.parallel * block):
            yield f"sent {sent.sent} B where the rate makes {asked:.0f}"


def judge_kernel(case, ends, kernel):
    """The namespace's own counters: nothing was sent or lost that the kernel did not see."""
    def total(name):
        pairs = (("client", "up"), ("server", "down")) if name == "sent" else (("server", "up"), ("client", "down"))
        return sum(getattr(getattr(ends[end], way), name) or 0 for end, way in pairs)

    if case.protocol == "tcp":
        if total("received") > kernel["IpExt:InOctets"]:
            yield f"{total('received')} received, the kernel has seen {kernel['IpExt:InOctets']}"
        return
    # The rest are hellos, acknowledgements and last datagrams, which may be repeated. A batch that caudal hands over at once
    # is one datagram to the kernel, so that only a real sender's count is held against it; and what a real receiver has
    # not read at the end, 20 ms and more, it takes for received or for lost.
    slack = 25 * case.parallel
    sent, received = total("sent") // DATAGRAM, total("received") // DATAGRAM
    senders = {case.client if case.direction != "down" else case.server, case.server if case.direction != "up" else case.client}
    if senders == {"theirs"} and not -2 * case.parallel <= kernel["Udp:OutDatagrams"] - sent <= TOLERANCE * sent + slack:
        yield f"{sent} datagrams sent, the kernel has {kernel['Udp:OutDatagrams']}"
    if case.server != case.client and received - kernel["Udp:InDatagrams"] > max(2 * case.parallel, 0.03 * received):
        yield f"{received} datagrams received, the kernel has {kernel['Udp:InDatagrams']}"
    dropped = kernel["Udp:InErrors"]
    if total("lost") > dropped + 0.03 * sent + slack:
        yield f"{total('lost')} called lost, the kernel lost {dropped}"


# All of them.


@dataclasses.dataclass
class Outcome:
    case: Case
    wrong: list
    commands: list
    attempts: int


def in_child(case, caudal, binary, limit):
    """Runs a case in a process of its own, so that it has a namespace of its own."""
    job = json.dumps([dataclasses.asdict(case), caudal, binary.path if binary else "", binary.help if binary else "", limit])
    child = subprocess.Popen([sys.executable, __file__, "--one"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    out, err = child.communicate(job)
    if child.returncode != 0:
        return [f"the case could not be run: {err.strip()[-300:]}"], []
    return json.loads(out)


def run_all(wanted, caudal, binary, jobs, limit):
    def attempt(case):
        return Outcome(case, *in_child(case, caudal, binary, limit), 1)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(attempt, wanted))
    for outcome in outcomes:
        # Other work on this machine is no reason to fail.
        if outcome.wrong:
            again, _ = in_child(outcome.case, caudal, binary, limit)
            outcome.attempts = 2
            if not again:
                outcome.wrong = []
    return outcomes


PAIRS = (("theirs", "ours"), ("ours", "theirs"), ("native", "theirs"), ("theirs", "theirs"))


def matrices(binaries, baseline):
    """What is run: a name, the binary, and its cases."""
    for binary in binaries:
        yield binary.name, binary, [case for client, server in PAIRS for case in cases(binary, binary.kind, client, server)
                                    if baseline or (client, server) != ("theirs", "theirs")]
    if baseline:
        for kind in sorted({binary.kind for binary in binaries}):
            yield f"caudal as {kind}", None, list(cases(None, kind, "ours", "ours"))


def show(name, outcomes, as_markdown):
    """A table of a binary: passed of all for each pair, and what failed."""
    pairs = {}
    for outcome in outcomes:
        pairs.setdefault(f"{outcome.case.client}>{outcome.case.server}", []).append(outcome)
    failed_alone = {str(o.case).split(" ", 1)[1] for o in pairs.get("theirs>theirs", []) if o.wrong}
    print(f"\n### {name}\n" if as_markdown else f"\n{name}")
    if as_markdown:
        print("| client > server | passed | of | failed |\n|---|---|---|---|")
    for pair, group in pairs.items():
        failed = [o for o in group if o.wrong]
        if as_markdown:
            print(f"| {pair} | {len(group) - len(failed)} | {len(group)} | {len(failed)} |")
        else:
            print(f"  {pair:<16} {len(group) - len(failed):>3} of {len(group):>3} passed")
    for group in pairs.values():
        for outcome in group:
            if outcome.wrong:
                same = str(outcome.case).split(" ", 1)[1] in failed_alone and outcome.case.client != outcome.case.server
                mark = " (fails between two of theirs as well)" if same else ""
                lead = "- " if as_markdown else "    "
                quote = "`" if as_markdown else ""
                print(f"{lead}{quote}{outcome.case}{quote}{mark}: {' '.join('; '.join(outcome.wrong).split())}")
    sys.stdout.flush()


def main():
    if sys.argv[1:] == ["--one"]:
        fields, *rest = json.load(sys.stdin)
        json.dump(run_case(Case(**fields), *rest), sys.stdout)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="*", metavar="[NAME=]PATH")
    parser.add_argument("--caudal", default=os.path.join(ROOT, "target", "release", "caudal"))
    parser.add_argument("--filter", action="append", default=[], metavar="WORDS",
                        help="only cases whose name has all these words; several --filter are alternatives")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (2)")
    parser.add_argument("--limit", type=float, default=8, metavar="SECONDS", help="a case may take longer than asked (8)")
    parser.add_argument("--no-baseline", action="store_true", help="nothing against itself")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="write every outcome with its commands")
    options = parser.parse_args()
    if not os.path.exists(options.caudal):
        sys.exit(f"{options.caudal} is not there; build it with `cargo build --release`, or name it with --caudal")
    binaries = [Binary.probe(words) for words in options.binaries]
    everything, failures = [], 0
    for name, binary, wanted in matrices(binaries, not options.no_baseline):
        if options.filter:
            wanted = [case for case in wanted
                      if any(all(word in str(case).split() or word in str(case) for word in words.split())
                             for words in options.filter)]
        if options.list:
            print("\n".join(f"{name}: {case}" for case in wanted))
            continue
        if not wanted:
            continue
        outcomes = run_all(wanted, os.path.abspath(options.caudal), binary, options.jobs, options.limit)
        show(name, outcomes, options.markdown)
        failures += sum(bool(o.wrong) for o in outcomes if (o.case.client, o.case.server) != ("theirs", "theirs"))
        everything += [{"binary": name, "case": str(o.case), "passed": not o.wrong, "attempts": o.attempts,
                        "wrong": o.wrong, "commands": o.commands} for o in outcomes]
    if options.json:
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=1)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
