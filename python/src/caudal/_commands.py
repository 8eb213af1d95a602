"""The commands of the program as functions.

Keyword arguments are its long flags with underscores, as `find_rate="0.1%"`; those of Python's own words end with one, as `as_="iperf2"`.
Times and rates are numbers in seconds and bit/s, or text such as `"500ms"` and `"100M"`.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional, Union

from ._errors import CaudalError
from ._process import Flag, Test, arguments, document, text
from ._run import Run

Time = Union[int, float, str, None]
Rate = Union[int, float, str, None]
Path = Union[str, "os.PathLike[str]"]


def start(command: str, host: Optional[str] = None, **flags: Flag) -> Test:
    """Starts a test and returns it at once: iterate over its events, then take its `result`."""
    words = [command, *arguments(flags)]
    if host is not None:
        words += ["--", host] if host.startswith("-") else [host]
    return Test(words)


def tcp(
    host: Optional[str] = None,
    *,
    time: Time = None,
    reverse: bool = False,
    bidir: bool = False,
    parallel: Optional[int] = None,
    rate: Rate = None,
    congestion: Optional[str] = None,
    repeat: Optional[int] = None,
    **flags: Flag,
) -> Run:
    """Bulk TCP: goodput, round-trip time under load, and what limited it. Without a host this machine is measured."""
    return start(
        "tcp",
        host,
        time=time,
        reverse=reverse,
        bidir=bidir,
        parallel=parallel,
        rate=rate,
        congestion=congestion,
        repeat=repeat,
        **flags,
    ).result()


def udp(
    host: Optional[str] = None,
    *,
    rate: Rate = None,
    time: Time = None,
    reverse: bool = False,
    bidir: bool = False,
    length: Union[int, str, None] = None,
    find_rate: Optional[str] = None,
    **flags: Flag,
) -> Run:
    """Bulk UDP: goodput, loss and its location, delay variation, reordering; `find_rate="0.1%"` searches for the highest rate."""
    return start(
        "udp", host, rate=rate, time=time, reverse=reverse, bidir=bidir, length=length, find_rate=find_rate, **flags
    ).result()


def rtt(
    host: Optional[str] = None,
    *,
    proto: Optional[str] = None,
    time: Time = None,
    count: Optional[int] = None,
    every: Time = None,
    length: Union[int, str, None] = None,
    **flags: Flag,
) -> Run:
    """Round-trip times, loss and delay each way."""
    return start("rtt", host, proto=proto, time=time, count=count, every=every, length=length, **flags).result()


def connect(
    host: Optional[str] = None,
    *,
    time: Time = None,
    parallel: Optional[int] = None,
    rate: Union[int, float, None] = None,
    tls: bool = False,
    **flags: Flag,
) -> Run:
    """Connections per second, and the times of their handshakes."""
    return start("connect", host, time=time, parallel=parallel, rate=rate, tls=tls, **flags).result()


def quality(host: Optional[str] = None, *, time: Time = None, idle: Time = None, **flags: Flag) -> Run:
    """Latency under load."""
    return start("quality", host, time=time, idle=idle, **flags).result()


def check(host: Optional[str] = None, *, quick: bool = False, **flags: Flag) -> Run:
    """A path in a minute; `exit_code` of the run is 0 when it is healthy, 5 when not, 6 when that cannot be told."""
    return start("check", host, quick=quick, **flags).result()


def path(host: str, *, peer: bool = False, no_capacity: bool = False, time: Time = None, **flags: Flag) -> Run:
    """Every hop to a host, and the capacity of each link."""
    return start("path", host, peer=peer, no_capacity=no_capacity, time=time, **flags).result()


def file(
    host: Optional[str] = None,
    *,
    send: Optional[Path] = None,
    get: Optional[str] = None,
    to: Optional[Path] = None,
    **flags: Flag,
) -> Run:
    """A file transfer."""
    named: Dict[str, Flag] = {"get": get}
    for name, value in (("send", send), ("to", to)):
        named[name] = None if value is None else os.fspath(value)
    return start("file", host, **named, **flags).result()


def read(source: Path) -> Run:
    """A recorded run by its id, `last` or `last~1`, or the run in a file that `--json` wrote."""
    name = os.fspath(source)
    if not os.path.exists(name):
        return Run(document(["report", "show", name, "--json"]))
    with open(name, encoding="utf-8") as opened:
        try:
            found = json.load(opened)
        except ValueError as error:
            raise CaudalError(f"{name} is not JSON: {error}", advice="give a file that --json wrote") from error
    if not isinstance(found, dict) or not str(found.get("schema", "")).startswith("caudal.run/"):
        raise CaudalError(f"{name} holds no run of caudal", advice="give a file that --json wrote")
    return Run(found)


def runs(*words: str, **flags: Flag) -> List[Dict[str, Any]]:
    """The recorded runs, the newest first, as `caudal report list` filters them: `runs(kind="tcp", since="7d")`."""
    listed = document(["report", "list", *words, *arguments(flags), "--json"])
    return list(listed["entries"])


def compare(first: str, second: str, **flags: Flag) -> Dict[str, Any]:
    """Two sides compared: ids, `last~1`, `tag:NAME`, files. The document is `caudal.comparison/1`."""
    return dict(document(["report", "compare", first, second, *arguments(flags), "--json"]))


def version() -> str:
    """The version of the program."""
    return text(["--version"]).strip()
