"""Measure what a network gives TCP and UDP, and why, with the program caudal.

    >>> import caudal
    >>> run = caudal.tcp("server.example", time=10)
    >>> print(run.goodput_bps)
    4.68441e+07 (95 % CI 4.68207e+07 to 4.70741e+07)

Every function starts the program, waits for its end and returns a `Run`, whose `document` is the JSON that the
program prints. `caudal.start` gives the events of a test meanwhile. What fails raises `CaudalError`.
"""

from ._commands import check, compare, connect, file, path, quality, read, runs, rtt, start, tcp, udp, version
from ._errors import CaudalError, NotInstalledError
from ._process import Flag, Test
from ._run import Direction, Episode, Estimate, Run, Warning

__all__ = [
    "CaudalError",
    "Direction",
    "Episode",
    "Estimate",
    "Flag",
    "NotInstalledError",
    "Run",
    "Test",
    "Warning",
    "check",
    "compare",
    "connect",
    "file",
    "path",
    "quality",
    "read",
    "rtt",
    "runs",
    "start",
    "tcp",
    "udp",
    "version",
]
