"""Frames and envelopes, with Python's own property-list module and the table of keys in Protocol/Frames.md (FRM-8)."""
import pathlib
import plistlib
import re
import struct

FRAME_LIMIT = 512 * 1024  # LIM-1
BODY_LIMIT = 65_536  # LIM-2

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Protocol/Frames.md"
KEYS = PAGE.read_text().split("**FRM-8**")[1].split("**FRM-9**")[0]
ROWS = PAGE.read_text().split("**FRM-10**")[1].split("**FRM-11**")[0].splitlines()
# The kinds of FRM-10's table, as a reader of the protocol finds them.
KINDS = [kind for row in ROWS if row.startswith("| `") for kind in re.findall(r"`(\w+)`", row.split("|")[1])]
TYPES = {"string": str, "data": bytes, "integer": int, "boolean": bool}
ENVELOPE_TYPES = {key: TYPES[word] for key, word in re.findall(r"^\| `(\w+)` \| (\w+)", KEYS, re.M)}


class ProtocolError(Exception):
    """The other end sent something that the protocol does not allow."""


def encode(value):
    """The binary property list of a value; plistlib writes within the strict profile (FRM-6)."""
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY)


def decode(data):
    if not data.startswith(b"bplist00"):  # FRM-6 a
        raise ProtocolError("not a binary property list")
    try:
        return plistlib.loads(data, fmt=plistlib.FMT_BINARY)
    except Exception as error:  # plistlib has many exceptions for one fact
        raise ProtocolError(f"malformed property list: {error}") from error


def frame(**envelope):
    """Header and payload of one frame, to be sent in one write (FRM-1, FRM-3)."""
    payload = encode({key: value for key, value in envelope.items() if value is not None})
    if len(payload) > FRAME_LIMIT:
        raise ValueError(f"a frame of {len(payload)} bytes is larger than {FRAME_LIMIT}")
    return struct.pack(">I", len(payload)) + payload


def read_exactly(stream, count):
    data = bytearray()
    while len(data) < count:
        piece = stream.recv(count - len(data))
        if not piece:
            raise ConnectionError("the daemon closed the connection")
        data += piece
    return bytes(data)


def read_envelope(stream):
    """The next frame's envelope; checks its length before reading on (FRM-2) and its keys (FRM-9)."""
    (length,) = struct.unpack(">I", read_exactly(stream, 4))
    if not 1 <= length <= FRAME_LIMIT:
        raise ProtocolError(f"frame of {length} bytes")
    envelope = decode(read_exactly(stream, length))
    if not isinstance(envelope, dict) or "kind" not in envelope:
        raise ProtocolError("not an envelope")
    for key, value in envelope.items():
        if key.startswith("x-"):
            continue
        if key not in ENVELOPE_TYPES:
            raise ProtocolError(f"unknown key {key!r}")
        if type(value) is not ENVELOPE_TYPES[key]:
            raise ProtocolError(f"key {key!r} is not {ENVELOPE_TYPES[key].__name__}")
    return envelope
