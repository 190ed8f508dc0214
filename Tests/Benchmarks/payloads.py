#!/usr/bin/env python3
"""Makes the payloads that the codecs are measured on: realistic dictionaries that differ, so that no branch is learnt by
heart, written by CPython's plistlib, so that no codec reads its own habits. The same seed gives the same bytes.

    payloads.py FOLDER

FOLDER/small and FOLDER/large hold 256 dictionaries of about 300 B and 64 of about 4 KiB with 204 objects, each after its
length (a big-endian uint32); small.msgpack and large.msgpack the same values as MessagePack, dates as seconds;
frames-small, frames-large and frames-huge envelopes of 8 keys with bodies of 300 B, 4 KiB and 64 KiB.
"""
import datetime
import plistlib
import random
import struct
import sys
from pathlib import Path

SMALL, LARGE, HUGE = 300, 4096, 65_536
LARGE_OBJECTS = 204
WORDS = "lamp hall garden window heating alarm kitchen meter north roof pump valve cellar evening motion office".split()
ACCENTED = ["Küche", "Flur oben", "Terrassentür", "salle à manger", "廊下"]


def text(rng, length):
    return " ".join(rng.choice(WORDS) for _ in range(1 + length // 6))[:length].strip() or "x"


def moment(rng):
    return datetime.datetime(2024, 1, 1) + datetime.timedelta(milliseconds=rng.randrange(60_000_000_000))


def place(rng):
    return {"lat": rng.uniform(-90, 90), "lon": rng.uniform(-180, 180)}


def small(rng):
    return {
        "device": rng.randbytes(8).hex(), "room": rng.choice(ACCENTED if rng.random() < 0.2 else WORDS),
        "level": rng.choice([rng.randrange(100), rng.randrange(60_000), -rng.randrange(1000)]),
        "on": rng.random() < 0.5, "at": moment(rng), "place": place(rng),
        "tags": [text(rng, rng.randrange(4, 12)) for _ in range(rng.randrange(1, 4))],
    }


def reading(rng, index):
    return {
        "name": rng.choice(ACCENTED) if rng.random() < 0.1 else text(rng, rng.randrange(6, 22)),
        "count": index * 1000 + rng.randrange(1000), "value": rng.uniform(-1000, 1000), "at": moment(rng),
        "key": rng.randbytes(rng.choice([8, 16, 16])), "on": rng.random() < 0.5, "unit": rng.choice(["lx", "W", "kWh"]),
    }


def objects(data):
    return struct.unpack(">Q", data[-24:-16])[0]


def plist(value):
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY)


def padded(value, size, wanted=None):
    """The value with a note that brings it to the size or a little more; None if that cannot be."""
    short = size - len(plist({**value, "note": "n"})) + 1
    for length in range(max(1, short - 3), max(1, short) + 1):
        data = plist({**value, "note": text(random.Random(length), length).ljust(length, "n")})
        if size <= len(data) <= size + 4 and wanted in (None, objects(data)):
            return plistlib.loads(data)
    return None


def small_payload(rng):
    return next(filter(None, (padded(small(rng), SMALL) for _ in iter(int, 1))))


def large_payload(rng):
    def attempt():
        value = {**small(rng), "readings": [reading(rng, index) for index in range(rng.randrange(27, 31))]}
        # The note and the marks bring a key and an object each, besides the marks themselves.
        more = LARGE_OBJECTS - 4 - objects(plist(value))
        if more < 1:
            return None
        value["marks"] = [rng.randrange(100_000, 2_000_000_000) for _ in range(more)]
        return padded(value, LARGE, LARGE_OBJECTS)

    return next(filter(None, (attempt() for _ in iter(int, 1))))


def envelope(rng, body):
    return plist({
        "kind": "message", "app": "org.example.lamp", "pairing": rng.randbytes(16), "id": rng.randbytes(16),
        "reply": True, "deadline": rng.randrange(1, 600_000), "sealing": 0, "body": body,
    })


def packed(value):
    """MessagePack (the subset that the payloads need)."""
    match value:
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int() if 0 <= value < 128:
            return bytes([value])
        case int():
            return b"\xd3" + struct.pack(">q", value) if abs(value) >= 1 << 31 else b"\xd2" + struct.pack(">i", value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case datetime.datetime():
            return packed((value - datetime.datetime(2001, 1, 1)).total_seconds())
        case bytes():
            return b"\xc5" + struct.pack(">H", len(value)) + value
        case str():
            data = value.encode()
            return (bytes([0xA0 | len(data)]) if len(data) < 32 else b"\xda" + struct.pack(">H", len(data))) + data
        case list():
            return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(packed, value))
        case dict():
            pairs = b"".join(packed(key) + packed(value[key]) for key in sorted(value))
            return b"\xde" + struct.pack(">H", len(value)) + pairs
    raise TypeError(type(value))


def write(path, payloads):
    path.write_bytes(b"".join(struct.pack(">I", len(payload)) + payload for payload in payloads))


def main(folder):
    rng = random.Random(20_260_301)
    folder.mkdir(parents=True, exist_ok=True)
    values = {"small": [small_payload(rng) for _ in range(256)], "large": [large_payload(rng) for _ in range(64)]}
    for name, variants in values.items():
        payloads = [plist(value) for value in variants]
        write(folder / name, payloads)
        write(folder / f"{name}.msgpack", [packed(value) for value in variants])
        write(folder / f"frames-{name}", [envelope(rng, payload) for payload in payloads])
    write(folder / "frames-huge", [envelope(rng, rng.randbytes(HUGE)) for _ in range(64)])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
