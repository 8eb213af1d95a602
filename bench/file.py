#!/usr/bin/env python3
"""How fast files are carried: RBT beside TCP and QUIC over loopback and over links of the lab, and what was aimed at.

    bench/file.py [--rounds 7] [--size 1G] [--place DIR] [loopback] [small] [lab] [uftp]

    loopback   file to file, the size given: RBT with packets of 1400, 1000, 500 and 100 bytes, TCP with large writes, QUIC
    small      file to file, 100 MB: RBT with packets of 100 bytes, TCP with writes of 100 bytes (TCP_NODELAY)
    lab        memory to memory over 100 Mbit/s and a round trip of 50 ms, without loss and with 1 % of it, CUBIC and BBR
    uftp       uftp over the same links, where it is installed: its own elapsed time, at 90 % of the link's rate

Without a name all of them. The transfers of one comparison are made in blocks of random order by one `caudal file`, after one of each that does
not count; what counts is the median of the blocks. The congestion control is CUBIC at both ends unless the line says otherwise. --place is
where the files are: on the disk that is to be measured, or /dev/shm.

The lab wants root, and everything a quiet machine and a release build. CAUDAL names the program, else target/release/caudal.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from compare import CAUDAL, free_port, run, server

LAB = f"file-{os.getpid()}"
LINK = ["h1-h2.rate=100M", "h1-h2.delay=25ms"]
SERVER = "10.0.0.2"
RATE_KBIT = 100_000


def name_of(via):
    """The name of a cell by the settings of its protocol."""
    if isinstance(via, str):
        return via
    (protocol, settings), = via.items()
    if protocol == "rbt":
        return f"rbt {settings['packet_bytes']}"
    return protocol if settings["write_bytes"] >= 1 << 16 else f"{protocol} write {settings['write_bytes']}"


class Comparison:
    """The goodputs of the transfers of one command by cell and block, bit/s."""

    def __init__(self, document):
        report = document["file"]
        names = [name_of(cell["via"]) for cell in report["cells"]]
        self.blocks = {name: {} for name in names}
        self.failures = []
        for transfer in report["runs"]:
            name = names[transfer["cell"]]
            if transfer.get("failure") or not transfer["verified"]:
                self.failures.append(f"{name}: {transfer.get('failure', 'not verified')}")
            else:
                self.blocks[name][transfer["block"]] = transfer["goodput_bps"]

    def median(self, name):
        return statistics.median(self.blocks[name].values())

    def ratios(self, name, other, theirs=None):
        """The ratios of the blocks that have both; of transfers of different commands the ratio of the medians."""
        if theirs is not None:
            return [self.median(name) / theirs.median(other)]
        ours, others = self.blocks[name], self.blocks[other]
        return [ours[block] / others[block] for block in ours if block in others]

    def show(self, note=""):
        for name in self.blocks:
            goodputs = self.blocks[name].values()
            if goodputs:
                print(f"{name + note:<28} {self.median(name) / 1e6:>10.1f} Mbit/s "
                      f"({min(goodputs) / 1e6:.1f}–{max(goodputs) / 1e6:.1f}, n {len(goodputs)})", flush=True)
        for failure in self.failures:
            print(f"{'':<28} FAILED: {failure}", flush=True)


def goal(what, ratios, least, aim=None):
    """Prints a ratio beside its goal: 1 when the goal was missed."""
    ratio = statistics.median(ratios)
    is_met = ratio >= least
    spread = f" ({min(ratios):.3f}–{max(ratios):.3f})" if len(ratios) > 1 else ""
    aimed = f", aim {aim}" if aim else ""
    print(f"{what:<52} ratio {ratio:6.3f}{spread}  goal ≥ {least}{aimed}  {'met' if is_met else 'MISSED'}", flush=True)
    return not is_met


def compare(command, host, rounds, *flags, timeout=7200):
    """The transfers of one `caudal file`."""
    words = ["file", host, *flags, "--repeat", str(rounds), "-q", "--json"]
    return Comparison(json.loads(run([*command, CAUDAL, *words], timeout=timeout)))


@contextlib.contextmanager
def loopback(place):
    """A server that stores what is sent: its port."""
    directory = tempfile.mkdtemp(prefix="caudal-file-", dir=place)
    port = str(free_port())
    try:
        with server([CAUDAL, "serve", "-p", port, "-B", "127.0.0.1", "-q", "--accept-files", directory]):
            yield port
    finally:
        shutil.rmtree(directory, ignore_errors=True)


FILE_TO_FILE = ["--source", "file", "--sink", "file", "-C", "cubic"]


def large(options):
    with loopback(options.place) as port:
        found = compare([], "127.0.0.1", options.rounds, "-p", port, *FILE_TO_FILE, "--sizes", options.size,
                        "--via", "tcp,rbt,quic", "--packet", "1400,1000,500,100")
    found.show()
    missed = goal("rbt 1400 to tcp", found.ratios("rbt 1400", "tcp"), 0.8, 1.0)
    missed += goal("rbt 1000 to tcp", found.ratios("rbt 1000", "tcp"), 0.8, 1.0)
    missed += goal("rbt 500 to tcp", found.ratios("rbt 500", "tcp"), 0.6)
    missed += goal("rbt 100 to tcp", found.ratios("rbt 100", "tcp"), 0.35)
    missed += goal("rbt 1400 to quic", found.ratios("rbt 1400", "quic"), 5)
    return missed + len(found.failures)


def small(options):
    with loopback(options.place) as port:
        found = compare([], "127.0.0.1", options.rounds, "-p", port, *FILE_TO_FILE, "--sizes", "100M",
                        "--via", "tcp,rbt", "--packet", "100", "--write-size", "packet")
    found.show()
    return goal("rbt 100 to tcp write 100", found.ratios("rbt 100", "tcp write 100"), 20) + len(found.failures)


def lab(*words):
    return [CAUDAL, "lab", *words]


def on(host):
    return lab("exec", "--lab", LAB, host, "--")


@contextlib.contextmanager
def link(loss):
    """A link whose way from h1 to h2 loses this part of the frames."""
    changes = [*LINK, *([f"h1-h2.forward.loss={loss}"] if loss else [])]
    words = [word for change in changes for word in ("--set", change)]
    subprocess.run(lab("up", "pair", "--name", LAB, "-q", *words), check=True, stdout=subprocess.DEVNULL)
    try:
        yield
        stats = json.loads(run(lab("stats", "--lab", LAB, "--json")))
        if stats["emulator"]["whole"].get("must_repeat"):
            print(f"{'':<28} the emulator stalled: measure this again", flush=True)
    finally:
        subprocess.run(lab("down", LAB), check=False, stdout=subprocess.DEVNULL)


def over_link(rounds, size, congestion, note):
    """TCP and RBT with this congestion control over the link that is up."""
    with server([*on("h2"), CAUDAL, "serve", "-q"]):
        found = compare(on("h1"), SERVER, rounds, "-4", "--sizes", size, "--via", "tcp,rbt", "--packet", "1400",
                        "-C", congestion)
    found.show(f", {congestion}, {note}")
    return found


def links(options):
    missed = 0
    with link(None):
        for congestion in ("cubic", "bbr"):
            found = over_link(options.rounds, "100M", congestion, "no loss")
            ratios = found.ratios("rbt 1400", "tcp")
            if congestion == "cubic":
                missed += goal("rbt-cubic to tcp-cubic, no loss", ratios, 0.95)
            missed += len(found.failures)
    with link("1%"):
        # What loss holds back takes 15 s for as much.
        cubic = over_link(options.rounds, "5M", "cubic", "1 % loss")
        bbr = over_link(options.rounds, "50M", "bbr", "1 % loss")
    missed += goal("rbt-bbr to tcp-cubic, 1 % loss", bbr.ratios("rbt 1400", "tcp", cubic), 5)
    missed += goal("rbt-bbr to tcp-bbr, 1 % loss", bbr.ratios("rbt 1400", "tcp"), 0.9)
    return missed + len(cubic.failures) + len(bbr.failures)


def uftp_once(path, bytes_, place):
    """The goodput of one transfer with uftp, bit/s, by its own elapsed time."""
    directory = tempfile.mkdtemp(prefix="uftp-", dir=place)
    receiver = [*on("h2"), "uftpd", "-d", "-t", "-D", directory]
    try:
        with server(receiver):
            rate = str(RATE_KBIT * 9 // 10)
            sender = [*on("h1"), "uftp", "-R", rate, "-M", SERVER, "-b", "1400", path]
            done = subprocess.run(sender, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
            out = done.stdout
        return bytes_ * 8 / float(re.search(r"Total elapsed time:\s*([\d.]+) seconds", out).group(1))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def uftp(options):
    if not (shutil.which("uftp") and shutil.which("uftpd")):
        print("uftp is not installed: left out")
        return 0
    bytes_ = 50_000_000
    with tempfile.NamedTemporaryFile(dir=options.place) as file:
        file.write(os.urandom(bytes_))
        file.flush()
        for loss in (None, "1%"):
            with link(loss):
                time.sleep(0.5)
                goodputs = [uftp_once(file.name, bytes_, options.place) for _ in range(options.rounds)]
            shown = f"uftp, fixed rate, {loss or 'no'} loss"
            print(f"{shown:<28} {statistics.median(goodputs) / 1e6:>10.1f} Mbit/s "
                  f"({min(goodputs) / 1e6:.1f}–{max(goodputs) / 1e6:.1f}, n {len(goodputs)})", flush=True)
    return 0


PARTS = {"loopback": large, "small": small, "lab": links, "uftp": uftp}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", default="1G")
    parser.add_argument("--place", default=tempfile.gettempdir(), help="the directory of the files")
    options = parser.parse_args()
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    if not os.path.exists(CAUDAL):
        sys.exit(f"{CAUDAL} is not there; build it with `cargo build --release`, or name it in CAUDAL")
    # What a transfer is made from is in the same place.
    os.environ["TMPDIR"] = options.place
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}; medians of {options.rounds} blocks")
    missed = 0
    for part in options.parts or PARTS:
        try:
            missed += PARTS[part](options)
        except (RuntimeError, OSError, AttributeError, KeyError, ValueError, statistics.StatisticsError,
                subprocess.SubprocessError) as error:
            missed += 1
            print(f"{part} could not be measured: {error}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
