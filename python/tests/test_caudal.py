"""The module against the program itself, over loopback."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Iterator

import pytest

import caudal
from caudal._process import arguments


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = tmp_path / "store.db"
    monkeypatch.setenv("CAUDAL_STORE", str(place))
    yield place


def test_a_test_is_a_run_with_its_estimates() -> None:
    run = caudal.tcp(time="0.4", interval="0.1", congestion="cubic")
    assert run.kind == "tcp"
    assert run.exit_code == 0
    assert run.goodput_bps is not None and run.goodput_bps.mean > 1e6
    assert run.goodput_bps.low <= run.goodput_bps.mean <= run.goodput_bps.high
    assert [direction.name for direction in run.directions] == ["up"]
    assert run.started is not None and run.started.tzinfo is not None
    rows = run.table()
    assert len(rows) >= 4
    assert {"flow", "direction", "start_s", "end_s", "goodput_bps", "tcp_rtt_us"} <= set(rows[0])


def test_events_come_while_the_test_runs() -> None:
    with caudal.start("udp", rate="1M", time="0.5", interval="0.1") as test:
        names = [event["event"] for event in test]
        run = test.result()
    assert names.count("interval") >= 4
    assert names[-1] == "finished"
    assert run.summary["directions"][0]["loss"]["lost"] == 0


def test_a_test_that_is_stopped_has_what_it_measured() -> None:
    test = caudal.start("tcp", time=60, interval="0.1")
    for event in test:
        if event["event"] == "interval":
            break
    test.stop()
    run = test.result()
    assert run.exit_code == 1
    assert [one.code for one in run.warnings].count("cut_short") == 1


def test_round_trips_have_their_messages() -> None:
    run = caudal.rtt(count=20, no_store=False)
    assert run.rtt_us is not None and run.rtt_us.n == 20
    messages = run.table("messages")
    assert len(messages) == 20
    assert all(one["size_bytes"] == 64 and one["rtt_s"] > 0 for one in messages)
    assert len(run.table("samples")) == 20
    with pytest.raises(ValueError):
        run.table("rows")


def test_recorded_runs_are_read_listed_and_compared(tmp_path: Path) -> None:
    first = caudal.rtt(count=10, tag=["a", "b"])
    second = caudal.rtt(count=10, tag="c")
    assert caudal.read(first.id).document["id"] == first.id
    assert caudal.read("last").id == second.id
    listed = caudal.runs(kind="rtt")
    assert [one["id"] for one in listed] == [second.id, first.id]
    assert listed[1]["tags"] == ["a", "b"]
    comparison = caudal.compare("tag:a", "tag:c")
    assert comparison["schema"] == "caudal.comparison/1"
    file = tmp_path / "run.json"
    file.write_text(json.dumps(first.document))
    assert caudal.read(file).id == first.id


def test_failures_are_exceptions_with_the_words_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(caudal.CaudalError) as failed:
        caudal.tcp("127.0.0.1:1")
    assert (failed.value.code, failed.value.exit_code) == ("peer", 3)
    assert "caudal serve" in failed.value.advice
    with pytest.raises(caudal.CaudalError) as failed:
        caudal.tcp(no_such_flag=True)
    assert failed.value.exit_code == 2
    with pytest.raises(caudal.CaudalError):
        caudal.read("ffffffff")
    file = tmp_path / "other.json"
    file.write_text("{}")
    with pytest.raises(caudal.CaudalError):
        caudal.read(file)


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_EXECUTABLE", "/nowhere/caudal")
    with pytest.raises(caudal.NotInstalledError):
        caudal.version()
    with pytest.raises(caudal.NotInstalledError):
        caudal.tcp()


def test_keyword_arguments_are_the_flags_of_the_program() -> None:
    assert arguments({"find_rate": "0.1%", "bidir": True, "omit": None, "reverse": False, "as_": "iperf2"}) == [
        "--find-rate=0.1%",
        "--bidir",
        "--as=iperf2",
    ]
    assert arguments({"tag": ["a", "b"], "sizes": [1, 64]}) == ["--tag=a", "--tag=b", "--sizes=1,64"]


def test_a_file_is_sent_and_fails_as_a_file_does(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * 100_000)
    with pytest.raises(caudal.CaudalError):
        caudal.file("127.0.0.1:1", send=source)
    run = caudal.file(sizes="1M", via="tcp", repeat=1)
    assert run.kind == "file"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_become_data_frames(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    run = caudal.tcp(time="0.3", interval="0.1")
    frame = getattr(run, f"to_{library}")()
    assert len(frame) == len(run.table())
    assert "goodput_bps" in list(frame.columns)
