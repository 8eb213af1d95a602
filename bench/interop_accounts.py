"""What the reports of iperf3, iperf 2 and caudal say was sent, received and lost, in one form."""

import dataclasses
import json
import re


@dataclasses.dataclass
class Way:
    """One direction, as one end tells it; None is what it does not tell."""

    sent: int | None = None
    received: int | None = None
    lost: int | None = None
    seconds: float | None = None

    def add(self, **figures):
        for name, value in figures.items():
            if value is None:
                continue
            old = getattr(self, name)
            if name == "seconds":
                setattr(self, name, max(old or 0, value))
            else:
                setattr(self, name, (old or 0) + int(value))


@dataclasses.dataclass
class Account:
    """Both directions, seen from the client: up is from it to the server."""

    up: Way = dataclasses.field(default_factory=Way)
    down: Way = dataclasses.field(default_factory=Way)


def iperf3_account(text, role, direction, protocol, length):
    """The account in the JSON of one end of an iperf3 test.

    Until 3.11 a UDP receiver counts datagrams and not bytes, and until 3.6 a stream does not tell its direction.
    """
    # 3.0 writes a jitter of nothing as C does.
    text = re.sub(r":\s*-?(nan|inf)\b", ": null", text[text.index("{"):])
    report = json.JSONDecoder().raw_decode(text)[0]
    done = Account()
    for stream in report["end"]["streams"]:
        part = stream["udp"] if protocol == "udp" else stream["sender"]
        is_sender = part.get("sender", direction == "up") if direction == "--bidir" else (role == "client") == (direction == "up")
        way = done.up if is_sender == (role == "client") else done.down
        if protocol == "tcp":
            way.add(sent=stream["sender"]["bytes"] if is_sender or role == "client" else None,
                    received=stream["receiver"]["bytes"] if not is_sender or role == "client" else None,
                    seconds=stream["sender"]["seconds"])
        else:
            arrived = (part["packets"] - part["lost_packets"]) * length
            knows_receiver = not is_sender or role == "client"
            way.add(sent=part["bytes"] if is_sender else None, received=arrived if knows_receiver else None,
                    lost=part["lost_packets"] if knows_receiver else None, seconds=part["seconds"])
    return done


LOCAL = re.compile(r"^\[\s*\*?(\d+)\] local \S+ port (\d+) connected with \S+ port (\d+)")
FIGURES = re.compile(r"^\[\s*(\*?)(\d+)\]\s+([\d.]+)\s*-\s*([\d.]+)\s+sec\s+(\d+) Bytes\s+\S+(.*)$")
LOSS = re.compile(r"ms\s+(-?\d+)/\s*(-?\d+)")


def iperf2_account(text, role, direction, port):
    """The account in the text of one end of an iperf 2 test with `-f B`; `port` is the server's."""
    done = Account()
    ways, reported = {}, None
    for line in text.splitlines():
        if found := LOCAL.match(line):
            is_up = int(found[3] if role == "client" else found[2]) == port
            ways[found[1]] = "up" if is_up else "down"
        elif "Server Report" in line:
            reported = re.match(r"^\[\s*\*?(\d+)\]", line)[1]
        elif found := FIGURES.match(line):
            star, flow, begin, end, count, rest = found.groups()
            if direction == "down" or star:
                name = "down"
            elif direction in ("-d", "-r"):
                name = ways.get(flow, "up")
            else:
                name = "up"
            is_report = reported == flow
            reported = None if is_report else reported
            is_sender = (name == "up") == (role == "client")
            lost = LOSS.search(rest)
            if is_report or not is_sender:
                getattr(done, name).add(received=int(count), lost=lost and int(lost[1]),
                                        seconds=None if is_report else float(end) - float(begin))
            else:
                getattr(done, name).add(sent=int(count), seconds=float(end) - float(begin))
    return done


def native_account(text):
    """The account in a `caudal.run/1` document; the client of another tool's server."""
    report = json.loads(text)
    done = Account()
    for flow in report["flows"]:
        way = done.up if flow["direction"] == "up" else done.down
        sender, receiver = flow.get("sender") or {}, flow.get("receiver") or {}
        way.add(sent=sender.get("bytes"), received=receiver.get("bytes"), lost=receiver.get("lost"))
    for each in report["summary"]["directions"]:
        way = done.up if each["direction"] == "up" else done.down
        way.add(seconds=each.get("measured_s"))
    return done
