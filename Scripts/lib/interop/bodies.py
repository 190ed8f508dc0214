"""The bodies of the 30 exchanges, every type of a property list among them, and whether what came of them is the same
in value and type.

    bodies.py write DIR      00.plist to 29.plist
    bodies.py check DIR N    a client's N files: what the receiver read (NN.message), the sender got back (NN.reply)
    bodies.py lines DIR LOG  lines of JSON that `tandem receive` printed: what Tandem's own codec has read
    bodies.py json           one body a line, as `tandem send` takes it
"""
import base64
import datetime
import json
import plistlib
import struct
import sys
from pathlib import Path

day = datetime.datetime
EPOCH = day(1970, 1, 1)
WIDTHS = (0, 1, 127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1)
SIZES = (1, 14, 15, 255, 256)  # 14 is the last count within a marker, 255 the last of one byte
LARGE = 65_000  # a body has 65,536 bytes


def nested(depth):
    return {"in": nested(depth - 1), "list": [[depth], []]} if depth else {}


# libplist ends a string at a NUL, so none is here.
BODIES = [
    {},
    {"yes": True, "no": False},
    {"one": 1, "yes": True, "real": 1.0, "text": "1", "data": b"1"},  # alike, and not the same
    {f"i{number}": number for number in WIDTHS},
    {f"n{number}": -number for number in WIDTHS if number} | {"least": -(2**63)},
    {"unsigned": 2**63, "greatest": 2**64 - 1},
    {"half": 0.5, "third": 1 / 3, "pi": 3.141592653589793, "minus": -2.5e-7},
    {"zero": 0.0, "large": 1.7976931348623157e308, "least": 5e-324, "single": 3.4028234663852886e38},
    {"minus zero": -0.0},
    {"empty": "", "space": " ", "line": "a\tb\nc", "quote": "\"\\/&<>'", "delete": "\x7f"},
    {f"ascii {size}": "a" * size for size in SIZES},
    {"latin": "é", "greek": "Ωμέγα", "cjk": "設定", "arabic": "اتصال", "last": "\uffee", "two": "e\u0301"},
    {"face": "😀", "family": "👩‍👩‍👧", "first": "\U00010000", "last": "\U0010fffd", "mixed": "a😀b設"},
    {f"utf-16 {size}": "é" * size for size in SIZES},
    {"ключ": "значение", "鍵": "値", "😀": "face", "k" * 256: "longest key"},
    {"empty": b"", "bytes": bytes(range(256)), "list": b"bplist00"},
    {f"data {size}": bytes([size % 256]) * size for size in SIZES},
    {"reference": day(2001, 1, 1), "half": day(2038, 1, 19, 3, 14, 7), "leap": day(2000, 2, 29)},
    {"first": day(1, 1, 1), "last": day(9999, 12, 31, 23, 59, 59), "now": day(2026, 11, 21, 12, 34, 56, 789_000)},
    {"empty": [], "one": [0], "kinds": [True, 1, 1.5, "s", "ü", b"d", day(2010, 6, 7), [], {}]},
    {f"array {size}": list(range(size)) for size in SIZES},
    {f"dictionary {size}": {f"k{number}": number for number in range(size)} for size in SIZES},
    {"deep": nested(20)},
    {"rows": [{"id": number, "name": f"row {number}", "on": number % 2 == 0} for number in range(40)]},
    {"same": [{"a": [1, 2]}, {"a": [1, 2]}], "texts": ["x", "x", "x"], "empty": [[], [], {}, {}]},
    {"ascii": "a" * LARGE},
    {"utf-16": "設" * (LARGE // 2)},
    {"data": bytes(number * number % 251 for number in range(LARGE))},
    {"array": [number % 3 == 0 for number in range(16_000)]},
    {"array": list(range(3000)), "reals": [number / 8 for number in range(2000)]},
]


def same(one, other):
    """Equal in value and in type, all the way down; reals by their bits."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return struct.pack(">d", one) == struct.pack(">d", other) if isinstance(one, float) else one == other


def prove():
    """A comparison that calls everything the same would prove nothing."""
    alike = [(1, True), (1, 1.0), (0.0, -0.0), ("1", b"1"), ([], {}), ([1], [1, 1]), ({"a": 1}, {"a": True})]
    if not all(map(same, BODIES, BODIES)) or any(same(*pair) for pair in alike):
        sys.exit("the comparison of values is broken")


def told(value):
    """The value as JSON says it (`tandem send --help`)."""
    match value:
        case dict():
            return {key: told(entry) for key, entry in value.items()}
        case list():
            return [told(entry) for entry in value]
        case bytes():
            return {"$data": base64.urlsafe_b64encode(value).decode().rstrip("=")}
        case day():
            return {"$date": (value - EPOCH) // datetime.timedelta(milliseconds=1)}
    return value


def different(directory, count):
    files = [*directory.glob("*.message"), *directory.glob("*.reply")]
    if len(files) != count:
        yield f"{len(files)} files instead of {count}"
    for file in files:
        if not same(plistlib.loads(file.read_bytes(), fmt=plistlib.FMT_BINARY), BODIES[int(file.stem)]):
            yield file.name


def different_lines(log):
    lines = Path(log).read_text().splitlines()
    if len(lines) != len(BODIES):
        yield f"{len(lines)} lines"
    for number, (line, body) in enumerate(zip(lines, BODIES)):
        if not same(json.loads(line), told(body)):
            yield f"line {number}"


def main(command, directory="", rest=""):
    prove()
    directory, found = Path(directory), []
    match command:
        case "write":
            for number, body in enumerate(BODIES):
                data = plistlib.dumps(body, fmt=plistlib.FMT_BINARY, sort_keys=False)
                (directory / f"{number:02}.plist").write_bytes(data)
        case "check":
            found = list(different(directory, int(rest)))
        case "lines":
            found = list(different_lines(rest))
        case "json":
            print(*(json.dumps(told(body), ensure_ascii=False) for body in BODIES), sep="\n")
    if found:
        sys.exit(f"not what was sent: {', '.join(found)}")


main(*sys.argv[1:])
