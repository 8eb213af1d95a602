"""What was measured."""

from __future__ import annotations

import csv
import importlib
import io
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional


@dataclass(frozen=True)
class Estimate:
    """A mean with its confidence interval; of a single value both ends are that value, and `confidence` is 0."""

    mean: float
    low: float
    high: float
    confidence: float
    n: int

    @classmethod
    def of(cls, value: Any) -> Optional[Estimate]:
        """The estimate of a document; `None` where it has none."""
        if isinstance(value, (int, float)):
            return cls(float(value), float(value), float(value), 0.0, 1)
        if not isinstance(value, Mapping) or "mean" not in value:
            return None
        mean = float(value["mean"])
        return cls(
            mean,
            float(value.get("low", mean)),
            float(value.get("high", mean)),
            float(value.get("confidence", 0.0)),
            int(value.get("n", 1)),
        )

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        if self.confidence <= 0.0:
            return f"{self.mean:.6g}"
        return f"{self.mean:.6g} ({self.confidence * 100:g} % CI {self.low:.6g} to {self.high:.6g})"


@dataclass(frozen=True)
class Warning:
    """A doubt about the result: its name, what was seen, and what to do about it."""

    code: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


@dataclass(frozen=True)
class Episode:
    """A time in which the test did not run its usual course, s after its start."""

    kind: str
    from_s: float
    to_s: float
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Direction:
    """A direction of a throughput test: `up` is from this host to the server."""

    name: str
    goodput_bps: Optional[Estimate]
    limited_by: Optional[str]
    document: Mapping[str, Any]


class Run:
    """A test that happened. `document` is its JSON, `caudal.run/1`, whose keys are in docs/reference/json.md."""

    def __init__(self, document: Dict[str, Any], exit_code: int = 0) -> None:
        self.document = document
        self.exit_code = exit_code

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key of the document."""
        return self.document.get(key, default)

    @property
    def id(self) -> str:
        """The run's name in the store."""
        return str(self.document["id"])

    @property
    def kind(self) -> str:
        """`tcp`, `udp`, `rtt`, `connect`, `quality`, `file`, `path` or `check`."""
        plan = self.document.get("plan", {})
        return str(plan.get("kind") or plan.get("transport") or "tcp")

    @property
    def command(self) -> str:
        """The command line that repeats it."""
        return str(self.document.get("command", ""))

    @property
    def started(self) -> Optional[datetime]:
        """The start."""
        text = self.document.get("started")
        return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None

    @property
    def warnings(self) -> List[Warning]:
        """The doubts about the result."""
        return [
            Warning(str(one.get("code", "")), str(one.get("message", "")), str(one.get("remedy") or ""))
            for one in self.document.get("warnings", [])
        ]

    @property
    def episodes(self) -> List[Episode]:
        """The times in which the test did not run its usual course."""
        return [
            Episode(str(one.get("kind", "")), float(one.get("from_s", 0.0)), float(one.get("to_s", 0.0)), one)
            for one in self.document.get("episodes", [])
        ]

    @property
    def summary(self) -> Dict[str, Any]:
        """The key `summary`; empty for kinds that have none."""
        found = self.document.get("summary")
        return found if isinstance(found, dict) else {}

    @property
    def directions(self) -> List[Direction]:
        """Each direction of a throughput test, up first."""
        found = []
        for one in self.summary.get("directions", []):
            limit = one.get("limited_by") or {}
            found.append(Direction(str(one["direction"]), Estimate.of(one.get("goodput_bps")), limit.get("limit"), one))
        return found

    @property
    def goodput_bps(self) -> Optional[Estimate]:
        """Payload that arrived per second, bit/s, of a throughput test in one direction; that over all runs with `repeat`."""
        repeats = self.document.get("over_repeats") or []
        if len(repeats) == 1:
            return Estimate.of(repeats[0].get("goodput_bps"))
        return Estimate.of(self.summary.get("goodput_bps"))

    @property
    def rtt_us(self) -> Optional[Estimate]:
        """The mean round-trip time of a test of one message size, µs."""
        return Estimate.of(self.summary.get("mean_us"))

    @property
    def grade(self) -> Optional[str]:
        """The grade of a test of latency under load."""
        grade = (self.document.get("quality") or {}).get("grade") or {}
        return grade.get("grade")

    def table(self, name: str = "intervals") -> List[Dict[str, Any]]:
        """A table as a list of rows.

        `intervals` has a row for each interval and flow, `samples` one for each round trip or file transfer of a recorded run,
        `messages` one for each message of a recorded test of round trips.
        """
        if name == "intervals":
            return self._intervals()
        if name in ("samples", "messages"):
            return self._samples(name)
        raise ValueError(f"there is no table {name!r}: intervals, samples or messages")

    def _intervals(self) -> List[Dict[str, Any]]:
        rows: List[Dict[str, Any]] = []
        for flow in self.document.get("flows") or []:
            for interval in flow.get("intervals") or []:
                row: Dict[str, Any] = {"flow": flow.get("id"), "direction": flow.get("direction")}
                row.update(_flat(interval))
                rows.append(row)
        for key in ("quality", "connect"):
            for interval in (self.document.get(key) or {}).get("intervals") or []:
                rows.append(_flat(interval))
        return rows

    def _samples(self, name: str) -> List[Dict[str, Any]]:
        from ._process import text

        rows: List[Dict[str, Any]] = []
        for row in csv.DictReader(io.StringIO(text(["report", "export", self.id, "--csv"]))):
            if row["kind"] != "sample":
                continue
            value = float(row["value"]) if row["value"] else None
            number = int(float(row["start_s"])) if row["start_s"] else None
            if name == "samples":
                rows.append({"flow": row["flow"], "metric": row["metric"], "unit": row["unit"], "number": number, "value": value})
                continue
            client, _, size = row["flow"].partition(", ")
            if row["metric"] == "rtt" and size.endswith(" B"):
                rows.append({"client": int(client), "size_bytes": int(size[:-2]), "number": number, "rtt_s": value})
        return rows

    def to_pandas(self, table: str = "intervals") -> Any:
        """A table as a `pandas.DataFrame`."""
        return importlib.import_module("pandas").DataFrame(self.table(table))

    def to_polars(self, table: str = "intervals") -> Any:
        """A table as a `polars.DataFrame`."""
        return importlib.import_module("polars").DataFrame(self.table(table), infer_schema_length=None)

    def __repr__(self) -> str:
        return f"<caudal.Run {self.kind} {self.id[:8]} {self.command!r}>"


def _flat(nested: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    """The values of nested dictionaries, with their keys joined: `tcp.rtt_us` is `tcp_rtt_us`."""
    flat: Dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{key}_"))
        elif not isinstance(value, list):
            flat[f"{before}{key}"] = value
    return flat
