"""Cases of single values: every type at every size, and every way in which a scalar is wrong (FRM-6 e to i)."""
import struct

from . import values
from .raw import Cases, Run, plist
from .values import REFERENCE_DATE, Date, Many


def made():
    cases = Cases("Single values (FRM-6 e to i, FRM-7): every type at every size, and wrong contents of every type.")
    for part in (booleans, integers, wrong_integers, reals, dates, wrong_numbers, data, ascii_text, utf16_text, counts,
                 wrong_counts, markers):
        part(cases)
    return cases.compared()


def booleans(cases):
    cases.reads("false", "FRM-6 e", plist(b"\x08"), False)
    cases.reads("true", "FRM-6 e", plist(b"\x09"), True)


def integers(cases):
    """The edges of each size, also written wider than they need."""
    for exponent, size in enumerate((1, 2, 4)):
        for number in sorted({0, 1, 127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1}):
            if number < 1 << 8 * size:
                cases.reads(f"{number} in {size} bytes", "FRM-6 f",
                            plist(bytes([0x10 | exponent]) + number.to_bytes(size, "big")), number)
    for number in (0, 1, -1, -128, -129, -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, -2**63, 1 - 2**63):
        cases.reads(f"{number} in 8 bytes", "FRM-6 f", plist(b"\x13" + struct.pack(">q", number)), number)
    for number in (0, 5, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
        cases.reads(f"{number} in 16 bytes", "FRM-6 f", plist(b"\x14" + number.to_bytes(16, "big")), number)


def wrong_integers(cases):
    for name, high in (("one", 1), ("2^63", 1 << 63), ("all ones", 2**64 - 1)):
        data = plist(b"\x14" + struct.pack(">QQ", high, 2**64 - 1))
        cases.refuses(f"16 bytes, high half {name}", "FRM-6 f", "integer-out-of-range", data)
    for exponent in (5, 6, 7, 8, 15):
        data = plist(bytes([0x10 | exponent]) + bytes(min(1 << exponent, 256)), offset_size=2)
        cases.refuses(f"integer of 2^{exponent} bytes", "FRM-6 e", "unknown-marker", data)


def reals(cases):
    for number in (0.0, -0.0, 1.0, 1.5, -2.25, 2.0**-149, 3.4028234663852886e38):
        cases.reads(f"{number!r} in 4 bytes", "FRM-6 g", plist(b"\x22" + struct.pack(">f", number)), number)
    for number in (0.0, -0.0, 1.5, 0.1, -1e-300, 5e-324, 1.7976931348623157e308, 3.141592653589793, 1e15, 2.0**53):
        cases.reads(f"{number!r} in 8 bytes", "FRM-6 g", plist(b"\x23" + struct.pack(">d", number)), number)


def dates(cases):
    for name, milliseconds in (
            ("2001-01-01", REFERENCE_DATE), ("1970-01-01", 0), ("a millisecond before 1970", -1),
            ("with milliseconds", 1_700_000_000_123), ("before 2001", 900_000_000_001), ("2106", 4_294_967_296_000),
            ("first of year 1", -62_135_596_800_000), ("last of year 9999", 253_402_300_799_999)):
        date = Date(milliseconds)
        cases.reads(f"date: {name}", "FRM-6 g", plist(b"\x33" + struct.pack(">d", date.seconds)), date)
    for seconds, milliseconds in ((0.0004, 0), (0.0006, 1), (-0.0004, 0), (-0.0006, -1), (0.5, 500), (1e-320, 0),
                                  (-0.0, 0), (0.0015, 2), (-0.0015, -2), (1.9996, 2000)):
        cases.reads(f"date: {seconds!r} s", "FRM-6 g", plist(b"\x33" + struct.pack(">d", seconds)),
                    Date(REFERENCE_DATE + milliseconds))


def wrong_numbers(cases):
    patterns = {"NaN": "7ff8000000000000", "negative NaN": "fff8000000000000", "signalling NaN": "7ff0000000000001",
                "infinity": "7ff0000000000000", "negative infinity": "fff0000000000000"}
    for name, pattern in patterns.items():
        cases.refuses(f"real: {name}", "FRM-6 g", "not-finite", plist(b"\x23" + bytes.fromhex(pattern)))
        cases.refuses(f"date: {name}", "FRM-6 g", "not-finite", plist(b"\x33" + bytes.fromhex(pattern)))
    for name, pattern in {"NaN": "7fc00000", "infinity": "7f800000", "negative infinity": "ff800000"}.items():
        cases.refuses(f"real of 4 bytes: {name}", "FRM-6 g", "not-finite", plist(b"\x22" + bytes.fromhex(pattern)))
    for name, seconds in (("before year 1", -63_113_904_000.001), ("after year 9999", 252_423_993_600.0),
                          ("rounds into year 10000", 252_423_993_599.9997), ("1e308", 1e308), ("-1e300", -1e300)):
        cases.refuses(f"date: {name}", "FRM-6 g", "date-out-of-range", plist(b"\x33" + struct.pack(">d", seconds)))


def sizes(kind, unit):
    """(count, head, pieces) around every change of the count's form; `unit` is one element."""
    for count in (0, 1, 14):
        yield count, [bytes([kind | count]), unit * count]
    for count in (15, 16, 127, 128, 254, 255):
        yield count, [bytes([kind | 15, 0x10, count]), Run(unit, count)]
    for count in (256, 65_534, 65_535):
        yield count, [bytes([kind | 15, 0x11]) + count.to_bytes(2, "big"), Run(unit, count)]
    for count in (65_536, 65_537):
        yield count, [bytes([kind | 15, 0x12]) + count.to_bytes(4, "big"), Run(unit, count)]


def sized(pieces):
    """The smallest offsets for one object."""
    length = 8 + sum(len(piece if isinstance(piece, bytes) else piece.bytes()) for piece in pieces)
    return plist(pieces, offset_size=1 if length < 256 else 2 if length < 65_536 else 4)


def data(cases):
    for count, pieces in sizes(0x40, b"\xa5"):
        cases.reads(f"{count} bytes of data", "FRM-6 h", sized(pieces), Many(b"\xa5", count))
    cases.reads("data of every byte", "FRM-6 e", plist(b"\x4f\x11\x01\x00" + bytes(range(256)), offset_size=2),
                bytes(range(256)))


def ascii_text(cases):
    for count, pieces in sizes(0x50, b"x"):
        cases.reads(f"{count} characters of ASCII", "FRM-6 h", sized(pieces), Many("x", count))
    every = bytes(range(1, 128))
    cases.reads("every ASCII character but NUL", "FRM-6 i", plist(b"\x5f\x10\x7f" + every), every.decode())
    cases.reads("$null is only text", "FRM-6 e", plist(b"\x55$null"), "$null")
    for byte in (0x80, 0xA0, 0xC3, 0xE9, 0xFE, 0xFF):
        cases.refuses(f"ASCII with the byte {byte:02x}", "FRM-6 i", "invalid-ascii",
                      plist(b"\x53a" + bytes([byte]) + b"b"))
    # In every part of a text that a reader takes eight, sixteen or more bytes at a time of.
    for count in (8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 200):
        for place in sorted({0, 7, 8, count // 2, count - 9, count - 8, count - 1} & {*range(count)}):
            text = b"x" * place + b"\x80" + b"x" * (count - place - 1)
            cases.refuses(f"ASCII of {count} with 80 at {place}", "FRM-6 i", "invalid-ascii",
                          plist(values.head(0x50, count) + text))


def utf16_text(cases):
    for count, pieces in sizes(0x60, b"\x00\xe9"):
        if count:
            cases.reads(f"{count} code units of UTF-16", "FRM-6 h", sized(pieces), Many("\u00e9", count))
    for name, text in (
            ("U+0080", "\x80"), ("U+07FF", "\u07ff"), ("U+0800", "\u0800"), ("U+D7FF", "\ud7ff"), ("U+E000", "\ue000"),
            ("U+FEFF, which is no byte-order mark", "\ufeff"), ("U+FFFE", "\ufffe"), ("U+FFFF", "\uffff"),
            ("U+10000", "\U00010000"), ("U+1F600", "\U0001f600"), ("U+10FFFF", "\U0010ffff"),
            ("caf\u00e9", "caf\u00e9"),
            ("surrogate pairs among others", "a\U0001f600b\u00e9\U00010000\U0010ffffz"),
            ("a combining accent", "e\u0301"), ("eight surrogate pairs", "\U0001f600" * 8)):
        units = text.encode("utf-16-be")
        count = len(units) // 2
        marker = bytes([0x60 | count]) if count < 15 else b"\x6f\x10" + bytes([count])
        cases.reads(f"UTF-16: {name}", "FRM-6 i", plist(marker + units), text)
    for name, units in (
            ("high surrogate alone", "d800"), ("low surrogate alone", "dc00"),
            ("surrogates swapped", "dc00d800"), ("two high surrogates", "d800d800"),
            ("two low surrogates", "dc00dc00"),
            ("high surrogate before a letter", "d8000061"), ("high surrogate at the end", "00e90061d83d"),
            ("low surrogate after a pair", "d83dde00de00"), ("half a pair before a pair", "d83dd83dde00")):
        count = len(units) // 4
        cases.refuses(f"UTF-16: {name}", "FRM-6 i", "invalid-utf16",
                      plist(bytes([0x60 | count]) + bytes.fromhex(units)))
    for name, units in (("none", ""), ("ASCII only", "00610062"), ("U+007F", "007f"), ("NUL", "0000")):
        cases.refuses(f"needless UTF-16: {name}", "FRM-6 i", "needless-utf16",
                      plist(bytes([0x60 | len(units) // 4]) + bytes.fromhex(units)))


def counts(cases):
    """A small count may be written in any of the forms."""
    for exponent in range(4):
        for count in (0, 2, 15):
            number = bytes([0x10 | exponent]) + count.to_bytes(1 << exponent, "big")
            cases.reads(f"{count} bytes of data, count of {1 << exponent}", "FRM-6 h",
                        plist(b"\x4f" + number + b"\xee" * count), b"\xee" * count)
        number = bytes([0x10 | exponent]) + (1).to_bytes(1 << exponent, "big")
        cases.reads(f"one character, count of {1 << exponent}", "FRM-6 h", plist(b"\x5f" + number + b"a"), "a")
        cases.reads(f"one code unit, count of {1 << exponent}", "FRM-6 h",
                    plist(b"\x6f" + number + b"\x00\xe9"), "\u00e9")
        cases.reads(f"one element, count of {1 << exponent}", "FRM-6 h",
                    plist(b"\xaf" + number + b"\x01", b"\x09"), [True])
        cases.reads(f"one pair, count of {1 << exponent}", "FRM-6 h",
                    plist(b"\xdf" + number + b"\x01\x02", b"\x51a", b"\x09"), {"a": True})


def wrong_counts(cases):
    kinds = {0x40: "data", 0x50: "ASCII", 0x60: "UTF-16", 0xA0: "array", 0xD0: "dictionary"}
    overflowing = {"2^63-1": 2**63 - 1, "2^62": 2**62, "2^60": 2**60, "2^32": 2**32}
    for kind, name in kinds.items():
        marker = bytes([kind | 15])
        for text, count in overflowing.items():
            cases.refuses(f"{name} of {text}", "FRM-6 h", "object-too-long",
                          plist(marker + b"\x13" + struct.pack(">Q", count)))
        cases.refuses(f"{name} of 2^32-1", "FRM-6 h", "object-too-long", plist(marker + b"\x12" + b"\xff" * 4))
        for text, count in (("-1", 2**64 - 1), ("-2^63", 2**63)):
            cases.refuses(f"{name} of {text}", "FRM-6 h", "invalid-count",
                          plist(marker + b"\x13" + struct.pack(">Q", count)))
        cases.refuses(f"{name}, count missing", "FRM-6 h", "object-too-long", plist(marker))
        cases.refuses(f"{name}, count cut off", "FRM-6 h", "object-too-long", plist(marker + b"\x11\x00"))
        for text, count in (("of 16 bytes", b"\x14" + bytes(16)), ("of 32 bytes", b"\x15" + bytes(32)),
                            ("a boolean", b"\x08"), ("a real", b"\x22" + bytes(4)), ("text", b"\x51a"),
                            ("itself counted", b"\x4f\x10\x01"), ("null", b"\x00")):
            cases.refuses(f"{name}, count {text}", "FRM-6 h", "invalid-count", plist(marker + count))
    for name, whole in (("data", b"\x42\x00"), ("ASCII", b"\x52a"), ("UTF-16", b"\x61\x00"), ("array", b"\xa1"),
                        ("dictionary", b"\xd1\x00"), ("integer", b"\x13\x00\x00"), ("real", b"\x23\x00"),
                        ("date", b"\x33\x00"), ("integer of 1 byte", b"\x10")):
        cases.refuses(f"{name} runs into the table", "FRM-6 c", "object-too-long", plist(whole))


def markers(cases):
    """Every marker that is no object here, as the one element of an array."""
    names = {0x00: "null", 0x0C: "URL", 0x0D: "base URL", 0x0E: "UUID", 0x0F: "fill"}
    known = {0x08, 0x09, *range(0x10, 0x15), 0x22, 0x23, 0x33,
             *range(0x40, 0x70), *range(0xA0, 0xB0), *range(0xD0, 0xE0)}
    elsewhere = {0x00, *range(0x0C, 0x10), *range(0x70, 0x90), *range(0xB0, 0xD0)}
    for marker in sorted({*range(256)} - known - {*range(0x15, 0x20)}):
        fault = "unsupported-type" if marker in elsewhere else "unknown-marker"
        kinds = {7: "UTF-8 text", 8: "UID", 0xB: "ordered set", 0xC: "set"}
        kind = names.get(marker) or kinds.get(marker >> 4, "unknown")
        cases.refuses(f"marker {marker:02x}: {kind}", "FRM-6 e", fault, plist(b"\xa1\x01", bytes([marker]) + bytes(32)))
