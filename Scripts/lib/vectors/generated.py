#!/usr/bin/env python3
"""Generated values, each written by plistlib, by libplist where it is installed, by hand in the canonical form and by
hand in a form that only just keeps the profile. A vector file like the kept ones, made for each run.

    generated.py COUNT SEED FILE
"""
import json
import plistlib
import random
import struct
import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from vectors import foreign, raw, values  # noqa: E402

ALPHABETS = ("abC0 \x7f\x01<&\"\\/", "a\u00e9\u0301\ufffd\uffff\ufeff\ud7ff", "z\U00010000\U0001f600\U0010ffff\ue000")


class Values:
    """Values of every type, size and shape; equal seeds give equal values."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self):
        return self.random.choice([*range(13)] * 8 + [13, 14, 15, 16, 17, 254, 255, 256, 257, 2000])

    def text(self, count):
        return "".join(self.random.choices(self.random.choice(ALPHABETS), k=count))

    def value(self, depth=0):
        kind = self.random.randint(*((6, 12) if depth == 0 else (0, max(6, 12 - 2 * depth))))
        match kind:
            case 0:
                return self.random.random() < 0.5
            case 1:
                return self.random.getrandbits(self.random.randint(1, 64))
            case 2:
                return -1 - self.random.getrandbits(self.random.randint(1, 63))
            case 3:
                number = struct.unpack(">d", self.random.randbytes(8))[0]
                # plistlib takes 0.0 and -0.0 for one object, so there is no -0.0 here.
                return number if number - number == 0 and number != 0 else self.random.randint(1, 99) / 8
            case 4:
                return values.Date(self.random.randint(-62_135_596_800_000, 253_402_300_799_999))
            case 5:
                return self.random.randbytes(self.size())
            case 6 | 7:
                return self.text(self.size())
            case 8 | 9:
                return [self.value(depth + 1) for _ in range(self.width(depth))]
        return {self.text(self.random.randint(1, 16)): self.value(depth + 1) for _ in range(self.width(depth))}

    def width(self, depth):
        return self.random.choice([*range(6)] * 8 + [14, 15, 16] + ([200, 300] if depth == 0 else []))


class Loose:
    """A writer that keeps the profile and does nothing that it need not: wide numbers, children first, none shared."""

    def __init__(self, source):
        self.random, self.objects, self.width = source, [], source.randint(3, 8)

    def written(self, value):
        top = self.number(value)
        objects = [b"".join(part if isinstance(part, bytes) else part.to_bytes(self.width, "big") for part in parts)
                   for parts in self.objects]
        pieces = raw.plist(*objects, offset_size=self.random.randint(4, 8), reference_size=self.width, top=top)
        return raw.flat(pieces)

    def number(self, value):
        parts = self.parts(value)
        self.objects.append(parts)
        return len(self.objects) - 1

    def parts(self, value):
        match value:
            case list():
                return [self.head(0xA0, len(value)), *[self.number(element) for element in value]]
            case dict():
                pairs = self.random.sample(list(value.items()), len(value))
                keys = [self.number(key) for key, _ in pairs]
                return [self.head(0xD0, len(pairs)), *keys, *[self.number(element) for _, element in pairs]]
            case bytes():
                return [self.head(0x40, len(value)), value]
            case str() if value.isascii():
                return [self.head(0x50, len(value)), value.encode()]
            case str():
                units = value.encode("utf-16-be")
                return [self.head(0x60, len(units) // 2), units]
            case int() if not isinstance(value, bool) and value >= 0:
                return [self.integer(value, 4)]
        return [values.scalar(value)]

    def head(self, kind, count):
        wide = count >= 15 or self.random.random() < 0.3
        return bytes([kind | 15]) + self.integer(count, 3) if wide else bytes([kind | count])

    def integer(self, number, widest):
        fits = [form for form in range(widest + 1) if number < 1 << (8 << form) and (form != 3 or number < 1 << 63)]
        form = self.random.choice(fits)
        return bytes([0x10 | form]) + number.to_bytes(1 << form, "big")


def for_plistlib(value):
    match value:
        case values.Date():
            return datetime(1970, 1, 1) + timedelta(milliseconds=value.milliseconds)
        case list():
            return [for_plistlib(element) for element in value]
        case dict():
            return {key: for_plistlib(element) for key, element in value.items()}
    return value


def main(count, seed, path):
    source, libplist, cases = Values(seed), foreign.LibPlist(), []
    for number in range(count):
        value = source.value()
        forms = {"canonical": values.canonical(value), "loose": Loose(source.random).written(value),
                 "plistlib": plistlib.dumps(for_plistlib(value), fmt=plistlib.FMT_BINARY, sort_keys=number % 2 == 0)}
        if libplist.is_present():
            forms["libplist"] = libplist.rewritten(forms["plistlib"])
        noted = values.notation(value)
        for name, data in forms.items():
            cases.append({"name": f"{number} by {name}", "hex": data.hex(), "value": noted,
                          "canonical": data == forms["canonical"]})
    libplist.close()
    Path(path).write_text(json.dumps({"cases": cases}))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
