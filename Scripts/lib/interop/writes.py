"""That a frame leaves the simulator in one write, header and payload together, and that one comes in whole whose header
and payload its sender wrote apart (FRM-3).

    writes.py DIR COUNTS    the simulator's sockets; the file in which counts.c counts its calls

A cut is certain, and no matter of timing: in front of the first part goes a ping, and the rest follows its pong, when
the first part has been read.
"""
import struct
import sys
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Tests/SystemTests/python_client"))

from frames import decode, encode, frame, read_envelope  # noqa: E402
from session import Session  # noqa: E402

APP, SECONDS = "org.example.writes", 30
SIZES = (0, 14, 15, 255, 300, 4096, 65_000)
WRITES = 3  # the fourth of counts.c's counters


def until(session, kind):
    while (envelope := read_envelope(session.stream))["kind"] != kind:
        if envelope["kind"] != "state":
            sys.exit(f"{envelope['kind']} instead of {kind}: {envelope}")
    return envelope


def settle(*sessions):
    """Waits until the simulator has sent its own reports."""
    for session in sessions:
        session.stream.sendall(frame(kind="ping"))
        until(session, "pong")


def expect(what, writes, expected):
    if writes != expected:
        sys.exit(f"{what}: {writes} writes for {expected} frames")


def exchange(asker, answerer, pairing, size, cut):
    """One message and its reply; cut: bytes of the message that are read before the rest is sent, 0 for none."""
    body, identifier = encode({"data": bytes(size)}), uuid.uuid4().bytes
    message = frame(kind="message", app=APP, pairing=pairing, id=identifier, reply=True, body=body)
    if cut:
        asker.stream.sendall(frame(kind="ping") + message[:cut])
        until(asker, "pong")
    asker.stream.sendall(message[cut:])
    came = until(answerer, "message")
    answerer.stream.sendall(frame(kind="reply", app=APP, pairing=came["pairing"], id=came["id"], body=came["body"]))
    reply = until(asker, "reply")
    if reply["id"] != identifier or decode(reply["body"]) != {"data": bytes(size)}:
        sys.exit(f"another reply than what was sent with {size} bytes")


def main(directory, counts):
    def written():
        return struct.unpack("5L", Path(counts).read_bytes())[WRITES]

    answerer = Session(f"{directory}/secondary.sock", APP, True, SECONDS)
    asker = Session(f"{directory}/primary.sock", APP, True, SECONDS)
    pairing = asker.wait_until_reachable()
    settle(asker, answerer)
    for size in SIZES:
        for cut in (0, 1, 3, 4, 5, 20):
            begun = written()
            exchange(asker, answerer, pairing, size, cut)
            expect(f"{size} bytes, cut at {cut}", written() - begun, 3 if cut else 2)
    print(f"each of {len(SIZES) * 17} frames left in one write, whole or cut")


main(*sys.argv[1:])
