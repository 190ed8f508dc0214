"""Property-list values in the typed notation of Protocol/Vectors/README.md, and the canonical writing (FRM-7) of them.

Python's own types stand for values; dates are whole milliseconds, because that is what they mean on the wire. The
writer is made from the text of the protocol and shares nothing with the implementation that it tests.
"""
import datetime
import struct
from dataclasses import dataclass

EPOCH = datetime.datetime(1970, 1, 1)
REFERENCE_DATE = 978_307_200_000


@dataclass(frozen=True)
class Date:
    """A point in time, in milliseconds since 1970."""
    milliseconds: int

    @staticmethod
    def of(time):
        """A datetime, rounded to the nearest millisecond, halves away from the reference date."""
        micros = (time - EPOCH) // datetime.timedelta(microseconds=1) - REFERENCE_DATE * 1000
        whole = (abs(micros) + 500) // 1000
        return Date(REFERENCE_DATE + (whole if micros >= 0 else -whole))

    @property
    def seconds(self):
        """As a property list carries it: the double nearest to seconds since 2001."""
        return (self.milliseconds - REFERENCE_DATE) / 1000


@dataclass(frozen=True)
class Many:
    """One element many times, in the notation only: an array, text or data that is long and dull."""
    element: object
    times: int

    def expanded(self):
        return self.element * self.times if isinstance(self.element, (str, bytes)) else [self.element[0]] * self.times


def notation(value):
    """The typed notation of a value."""
    match value:
        case Many(str(text), times):
            return {"string": {"text": text, "times": times}}
        case Many(bytes(data), times):
            return {"data": {"hex": data.hex(), "times": times}}
        case Many([element], times):
            return {"array": {"value": notation(element), "times": times}}
        case bool():
            return {"boolean": value}
        case int():
            return {"integer": str(value)}
        case float():
            return {"real": repr(value)}
        case Date():
            return {"date": str(value.milliseconds)}
        case datetime.datetime():
            return {"date": str(Date.of(value).milliseconds)}
        case bytes():
            return {"data": value.hex()}
        case str():
            return {"string": value}
        case list():
            return {"array": [notation(element) for element in value]}
        case dict():
            pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-8", "surrogatepass"))
            return {"dictionary": [[key, notation(element)] for key, element in pairs]}
    raise ValueError(f"{type(value).__name__} has no notation")


def plain(noted):
    """A notation with everything repeated written out, so that two notations can be compared."""
    (kind, content), = noted.items()
    match kind, content:
        case "string", {"text": text, "times": times}:
            return {kind: text * times}
        case "data", {"hex": digits, "times": times}:
            return {kind: digits * times}
        case "array", {"value": element, "times": times}:
            return {kind: [plain(element)] * times}
        case "array", _:
            return {kind: [plain(element) for element in content]}
        case "dictionary", _:
            return {kind: [[key, plain(element)] for key, element in content]}
        case "real", str(text):
            # Languages write an exponent from different sizes on: -9028603313440986.0 is -9.028603313440986e+15.
            return {kind: repr(float(text))}
    return noted


def canonical(value):
    """The bytes of a value in the canonical writing."""
    objects, references, numbers = [], [], {}

    def number(value):
        value = value.expanded() if isinstance(value, Many) else value
        key = None if isinstance(value, (list, dict)) else scalar(value)
        if key in numbers:
            return numbers[key]
        if key is not None:
            numbers[key] = len(objects)
        objects.append(value if key is None else key)
        return len(objects) - 1

    number(value)
    for place, met in enumerate(objects):  # grows while it is walked: breadth first
        if isinstance(met, dict):
            pairs = sorted(met.items(), key=lambda pair: pair[0].encode())
            met = [key for key, _ in pairs] + [element for _, element in pairs]
        references.append([number(element) for element in met] if isinstance(met, list) else None)
    return assemble(objects, references)


def assemble(objects, references):
    width = smallest(len(objects))
    data, offsets = bytearray(b"bplist00"), []
    for value, refers in zip(objects, references):
        offsets.append(len(data))
        if refers is not None:
            kind, count = (0xD0, len(refers) // 2) if isinstance(value, dict) else (0xA0, len(refers))
            value = head(kind, count) + b"".join(one.to_bytes(width, "big") for one in refers)
        data += value
    table, size = len(data), smallest(len(data))
    data += b"".join(offset.to_bytes(size, "big") for offset in offsets)
    return bytes(data) + struct.pack(">6xBBQQQ", size, width, len(objects), 0, table)


def smallest(number):
    return next(size for size in (1, 2, 4, 8) if number < 1 << 8 * size)


def head(kind, count):
    return bytes([kind | min(count, 15)]) + (integer(count) if count >= 15 else b"")


def integer(value):
    if 0 <= value < 1 << 32:
        size = smallest(value)
        return bytes([0x10 | size.bit_length() - 1]) + value.to_bytes(size, "big")
    return b"\x13" + struct.pack(">q", value) if value < 1 << 63 else b"\x14" + value.to_bytes(16, "big")


def scalar(value):
    """The bytes of a scalar object, which are equal exactly when the scalars are."""
    match value:
        case bool():
            return b"\x09" if value else b"\x08"
        case int():
            return integer(value)
        case float():
            return b"\x23" + struct.pack(">d", value)
        case Date():
            return b"\x33" + struct.pack(">d", value.seconds)
        case bytes():
            return head(0x40, len(value)) + value
        case str() if value.isascii():
            return head(0x50, len(value)) + value.encode()
        case str():
            units = value.encode("utf-16-be")
            return head(0x60, len(units) // 2) + units
    raise ValueError(f"{type(value).__name__} is no scalar")
