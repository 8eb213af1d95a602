"""The program as a process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import threading
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Sequence, Type, Union

from ._errors import CaudalError, NotInstalledError
from ._run import Run

#: What a flag may be given as: True is the flag alone, False and None leave it out, a sequence repeats or joins it.
Flag = Union[str, int, float, bool, None, Sequence[Union[str, int, float]]]

#: Flags that are repeated for each of several values; those of others are joined by commas.
_REPEATED = {"tag", "set"}


def executable() -> str:
    """The path of the program: `CAUDAL_EXECUTABLE`, that which was installed with this module, or the first in `PATH`."""
    named = os.environ.get("CAUDAL_EXECUTABLE")
    if named:
        return named
    for scheme in (None, "posix_user"):
        scripts = sysconfig.get_path("scripts") if scheme is None else sysconfig.get_path("scripts", scheme)
        candidate = os.path.join(scripts, "caudal") if scripts else ""
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("caudal")
    if found is None:
        raise NotInstalledError(
            "the program caudal is not installed", code="not_installed", advice="pip install caudal, or set CAUDAL_EXECUTABLE"
        )
    return found


def arguments(flags: Dict[str, Flag]) -> List[str]:
    """The arguments of keyword arguments: ``find_rate="0.1%"`` is ``--find-rate=0.1%``."""
    found: List[str] = []
    for name, value in flags.items():
        # A name that is a keyword of Python has a trailing underscore: as_="iperf2".
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            found.append(flag)
        elif isinstance(value, (str, int, float)):
            found.append(f"{flag}={value}")
        elif name in _REPEATED:
            found.extend(f"{flag}={one}" for one in value)
        else:
            found.append(f"{flag}={','.join(str(one) for one in value)}")
    return found


def document(words: Sequence[str]) -> Any:
    """The JSON that a command prints."""
    try:
        ended = subprocess.run([executable(), *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotInstalledError(f"cannot start caudal: {error}", code="not_installed") from error
    try:
        printed = json.loads(ended.stdout)
    except ValueError:
        printed = None
    if isinstance(printed, dict) and printed.get("schema") == "caudal.error/1":
        raise CaudalError.from_document(printed, ended.returncode)
    if printed is None:
        raise CaudalError.from_text(ended.stderr, ended.returncode)
    return printed


def text(words: Sequence[str]) -> str:
    """What a command prints."""
    try:
        ended = subprocess.run([executable(), *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotInstalledError(f"cannot start caudal: {error}", code="not_installed") from error
    if ended.returncode != 0:
        raise CaudalError.from_text(ended.stderr, ended.returncode)
    return ended.stdout


class Test:
    """A test that is under way: an iterator over its events, which are dictionaries with a key ``event``.

    `result` waits for the end. As a context manager the test is stopped when the block is left before its end.
    """

    __test__ = False  # pytest takes the name for a test of its own.

    def __init__(self, words: Sequence[str]) -> None:
        self.command = ["caudal", *words]
        self._run: Optional[Run] = None
        self._error: Optional[Dict[str, Any]] = None
        self._stderr: List[str] = []
        try:
            self._process = subprocess.Popen(
                [executable(), *words, "--json-stream"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise NotInstalledError(f"cannot start caudal: {error}", code="not_installed") from error
        # What is not read would stop the program when the pipe is full.
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._stderr.extend(self._process.stderr)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return self

    def __next__(self) -> Dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if event.get("event") == "failed":
                self._error = event
                continue
            if event.get("event") == "finished":
                self._run = Run(event["run"])
            return dict(event)
        self._ended()
        raise StopIteration

    def _ended(self) -> None:
        code = self._process.wait()
        self._reader.join()
        if self._error is not None:
            raise CaudalError.from_document(self._error, code)
        if self._run is None:
            raise CaudalError.from_text("".join(self._stderr), code)
        self._run.exit_code = code

    def result(self) -> Run:
        """Waits for the end of the test.

        Raises `CaudalError` when it failed. A test that was stopped has what it measured until then.
        """
        try:
            for _ in self:
                pass
        except KeyboardInterrupt:
            self.stop()
            raise
        assert self._run is not None
        return self._run

    def stop(self) -> None:
        """Ends the test early, as ^C does: what was measured is kept."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    def __enter__(self) -> Test:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                self._reader.join(timeout=1)
                pipe.close()
