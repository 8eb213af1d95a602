"""The other end of a test with STAMP: packets as the layers of Scapy make and read them.

    scapy_stamp.py reflect PACKETS    prints its port, answers so many packets, and ends
    scapy_stamp.py send PORT PACKETS  sends so many packets to a reflector on loopback, and prints what its replies say
"""

import json
import socket
import sys
import time

from scapy.contrib.stamp import (
    ErrorEstimate,
    STAMPSessionReflectorTestUnauthenticated,
    STAMPSessionSenderTestUnauthenticated,
    STAMPTestTLV,
)
from scapy.layers.inet import UDP

# Seconds from the epoch of NTP to that of Unix.
NTP = 2_208_988_800


def now() -> float:
    return time.time() + NTP


def layer(data: bytes, kind: type):
    """The packet of this kind in a datagram. Its layers ask a header of UDP above them for its length."""
    return kind(data, _parent=UDP(len=8 + len(data)))


def reflect(packets: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.settimeout(20)
        print(end.getsockname()[1], flush=True)
        answered: dict[tuple[str, int], int] = {}
        for _ in range(packets):
            data, sender = end.recvfrom(2048)
            received = now()
            number = answered.get(sender, 0)
            answered[sender] = number + 1
            request = layer(data, STAMPSessionSenderTestUnauthenticated)
            reply = STAMPSessionReflectorTestUnauthenticated(
                seq=number,
                ts=now(),
                err_estimate=ErrorEstimate(S=1, Z=0, scale=20, multiplier=5),
                ssid=request.ssid,
                ts_rx=received,
                seq_sender=request.seq,
                ts_sender=request.ts,
                err_estimate_sender=request.err_estimate,
                ttl_sender=250,
                tlv_objects=[STAMPTestTLV(bytes(tlv)) for tlv in request.tlv_objects],
            )
            # Its layer reads a time as a floating-point number, which has too few digits to be written as it came.
            echoed = bytearray(bytes(reply))
            echoed[28:36] = data[4:12]
            end.sendto(bytes(echoed), sender)


def send(port: int, packets: int) -> None:
    replies = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect(("127.0.0.1", port))
        end.settimeout(5)
        for number in range(packets):
            # The packet 2 is lost on its way there.
            sequence = number if number < 2 else number + 1
            request = STAMPSessionSenderTestUnauthenticated(
                seq=sequence,
                ts=now(),
                err_estimate=ErrorEstimate(S=0, Z=0, scale=0, multiplier=1),
                ssid=321,
                tlv_objects=[
                    STAMPTestTLV(flags=0x80, type=5, len=12, value=bytes([0, 0, 0, number + 1]) + bytes(8)),
                    STAMPTestTLV(flags=0x80, type=200, len=2, value=b"ab"),
                ],
            )
            sent = bytes(request)
            end.send(sent)
            data = end.recv(2048)
            reply = layer(data, STAMPSessionReflectorTestUnauthenticated)
            replies.append(
                {
                    "length": [len(sent), len(data)],
                    "seq": reply.seq,
                    "ssid": reply.ssid,
                    "seq_sender": reply.seq_sender,
                    "echoes_time": data[28:36] == sent[4:12],
                    "late_s": float(reply.ts) - now(),
                    "kept_s": float(reply.ts) - float(reply.ts_rx),
                    "synchronized": reply.err_estimate.S,
                    "ttl": reply.ttl_sender,
                    "tlvs": [[int(tlv.flags), tlv.type, bytes(tlv.value).hex()] for tlv in reply.tlv_objects],
                }
            )
    print(json.dumps(replies))


if sys.argv[1] == "reflect":
    reflect(int(sys.argv[2]))
else:
    send(int(sys.argv[2]), int(sys.argv[3]))
