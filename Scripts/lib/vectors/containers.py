"""Cases of arrays and dictionaries: sizes, keys and their order, depth and budgets (FRM-6 j to n, FRM-7)."""
from .raw import Cases, Run, Sequence, plist
from .values import Date, Many, canonical, head


def made():
    cases = Cases("Arrays and dictionaries (FRM-6 j to n, FRM-7): every size, keys, depth, what sharing may amount to.")
    for part in (arrays, dictionaries, canonical_forms, keys, long_keys, wrong_keys, depth, budget_of_objects, budget_of_values,
                 budget_of_bytes, bombs):
        part(cases)
    return cases.compared()


def arrays(cases):
    cases.reads("empty array", "FRM-6 e", plist(b"\xa0"), [])
    for count in (1, 14, 15, 16, 253, 254, 255, 256, 300):
        value = list(range(count))
        cases.reads(f"{count} elements", "FRM-6 h", canonical(value), value)
    for count in (255, 256, 65_534, 65_535):
        start = head(0xA0, count)
        length = 8 + len(start) + count + 1
        data = plist([start, Run(b"\x01", count)], b"\x09", offset_size=2 if length < 65_536 else 4)
        cases.reads(f"{count} references to one object", "FRM-6 h", data, Many([True], count))


def dictionaries(cases):
    cases.reads("empty dictionary", "FRM-6 e", plist(b"\xd0"), {})
    for count in (1, 14, 15, 16, 127, 128, 255, 256):
        value = {f"key {number:03}": number for number in range(count)}
        cases.reads(f"{count} pairs", "FRM-6 h", canonical(value), value)
    value = {f"key {number:03}": True for number in range(256)}
    cases.reads("256 keys of one value", "FRM-6 d", canonical(value), value)


def canonical_forms(cases):
    for name, value in (
            ("one of each type", {"boolean": True, "data": b"\0\xff", "date": Date(1_700_000_000_123), "integer": -7,
                                  "real": 2.5, "text": "text", "array": [1, [2, [3]]], "dictionary": {"inner": {}}}),
            ("equal scalars of different types stay apart", [1, 1.0, True, "1", b"1", Date(978_307_201_000)]),
            ("equal scalars are one object", [7, 7, "a", "a", b"", b"", 1.5, 1.5]),
            ("zero and negative zero are two", [0.0, -0.0, 0]),
            ("equal containers are two", [[1], [1], {}, {}]),
            ("breadth first", {"a": {"a": 1}, "b": [["b"], 1], "c": "b"}),
            ("a key is the same object as an equal text", {"a": "b", "b": "a"}),
            ("keys sort by UTF-8 bytes", {"a": 1, "z": 2, "\u00e9": 3, "\ufffd": 4, "\U0001f600": 5, "B": 6, "aa": 7}),
            ("the same keys many times", [{"name": number, "value": True} for number in range(20)]),
            ("an envelope", {"kind": "message", "app": "org.example", "id": bytes(range(16)),
                             "pairing": bytes(range(16, 32)), "reply": True, "body": canonical({"hello": "there"})})):
        cases.reads(f"canonical: {name}", "FRM-7", canonical(value), value)


def keys(cases):
    cases.reads("keys out of order", "FRM-6 j", plist(b"\xd2\x01\x02\x03\x03", b"\x51b", b"\x51a", b"\x09"),
                {"a": True, "b": True})
    cases.reads("keys of UTF-8 order and not of UTF-16 order", "FRM-6 j",
                plist(b"\xd2\x01\x02\x03\x03", b"\x62\xd8\x3d\xde\x00", b"\x61\xff\xfd", b"\x09"),
                {"\ufffd": True, "\U0001f600": True})
    cases.reads("one key in two dictionaries", "FRM-6 j",
                plist(b"\xa2\x01\x02", b"\xd1\x03\x04", b"\xd1\x03\x05", b"\x51a", b"\x08", b"\x09"),
                [{"a": False}, {"a": True}])
    cases.reads("a key that begins another", "FRM-6 j", plist(b"\xd2\x01\x02\x03\x03", b"\x51a", b"\x52aa", b"\x09"),
                {"a": True, "aa": True})
    cases.reads("case makes two keys", "FRM-6 j", plist(b"\xd2\x01\x02\x03\x03", b"\x51A", b"\x51a", b"\x09"),
                {"A": True, "a": True})
    cases.reads("key of 256 bytes", "FRM-6 j", plist(b"\xd1\x01\x02", [b"\x5f\x11\x01\x00", Run(b"k", 256)], b"\x08",
                                                     offset_size=2), {"k" * 256: False})
    texts = {"two-byte": "\u00e9" * 128, "three-byte": "\u20ac" * 85 + "a", "four-byte": "\U0001f600" * 64}
    for name, text in texts.items():
        units = text.encode("utf-16-be")
        cases.reads(f"key of 256 bytes in {name} characters", "FRM-6 j",
                    plist(b"\xd1\x01\x02", head(0x60, len(units) // 2) + units, b"\x08",
                          offset_size=1 if len(units) < 200 else 2), {text: False})
        units += "\u00e9".encode("utf-16-be")
        cases.refuses(f"key of 258 bytes in {name} characters", "FRM-6 j", "invalid-key-length",
                      plist(b"\xd1\x01\x02", head(0x60, len(units) // 2) + units, b"\x08", offset_size=2))


# In every part of a text that a reader takes eight, sixteen or more bytes at a time of.
LENGTHS = (8, 9, 15, 16, 17, 24, 31, 32, 33, 64, 65, 100, 256)


def places(count):
    return sorted({place for place in (0, 7, 8, 9, count // 2, count - 9, count - 8, count - 1) if 0 <= place < count})


def long_keys(cases):
    """Keys that differ in one byte, in both orders, and keys that do not differ."""
    for count in LENGTHS:
        same = head(0x50, count) + b"k" * count
        cases.refuses(f"duplicate key of {count} bytes", "FRM-6 j", "duplicate-key",
                      plist(b"\xd2\x01\x02\x03\x03", same, same, b"\x08", offset_size=2))
        for place in places(count):
            other = b"k" * place + b"m" + b"k" * (count - place - 1)
            objects = [same, head(0x50, count) + other]
            value = {"k" * count: False, other.decode(): False}
            for order, keys in (("in order", objects), ("out of order", objects[::-1])):
                cases.reads(f"keys of {count} bytes that differ at {place}, {order}", "FRM-6 j",
                            plist(b"\xd2\x01\x02\x03\x03", *keys, b"\x08", offset_size=2), value)


def wrong_keys(cases):
    def pair(key, name, fault):
        cases.refuses(name, "FRM-6 j", fault, plist(b"\xd1\x01\x02", key, b"\x08", offset_size=2))
    pair(b"\x50", "empty key", "invalid-key-length")
    pair([b"\x5f\x11\x01\x01", Run(b"k", 257)], "key of 257 bytes", "invalid-key-length")
    pair(b"\x51\0", "key NUL", "key-contains-null")
    pair(b"\x53a\0b", "key with NUL", "key-contains-null")
    pair(b"\x52a\0", "key that ends in NUL", "key-contains-null")
    pair(b"\x62\x00\x00\x00\xe9", "key with NUL in UTF-16", "key-contains-null")
    for count in LENGTHS:
        for place in places(count):
            text = b"k" * place + b"\0" + b"k" * (count - place - 1)
            pair(head(0x50, count) + text, f"key of {count} bytes with NUL at {place}", "key-contains-null")
    for count in (4, 8, 9, 16, 17, 128):
        for place in sorted({0, 1, count // 2, count - 2}):
            text = ("k" * place + "\0" + "k" * (count - place - 2) + "\u00e9").encode("utf-16-be")
            pair(head(0x60, count) + text, f"key of {count} code units with NUL at {place}", "key-contains-null")
    for name, key in (("boolean", b"\x09"), ("integer", b"\x10\x01"), ("real", b"\x22\x3f\x80\x00\x00"),
                      ("data", b"\x41a"), ("date", b"\x33" + bytes(8)), ("empty array", b"\xa0"),
                      ("empty dictionary", b"\xd0")):
        pair(key, f"{name} as a key", "key-not-string")
    twice = {"next to each other": (b"\x51a", b"\x51a"), "in UTF-16": (b"\x61\x00\xe9", b"\x61\x00\xe9"),
             "of 20 bytes": (b"\x5f\x10\x14" + b"k" * 20, b"\x5f\x10\x14" + b"k" * 20),
             "with counts of different forms": (b"\x51a", b"\x5f\x10\x01a")}
    for name, (one, other) in twice.items():
        cases.refuses(f"duplicate key {name}", "FRM-6 j", "duplicate-key",
                      plist(b"\xd2\x01\x02\x03\x04", one, other, b"\x08", b"\x09"))
    cases.refuses("duplicate key, the same object", "FRM-6 j", "duplicate-key",
                  plist(b"\xd2\x01\x01\x02\x02", b"\x51a", b"\x08"))
    cases.refuses("duplicate key apart, in order", "FRM-6 j", "duplicate-key",
                  plist(b"\xd3\x01\x02\x03\x04\x04\x04", b"\x51a", b"\x51b", b"\x51a", b"\x08"))
    cases.refuses("duplicate key in the second of two dictionaries", "FRM-6 j", "duplicate-key",
                  plist(b"\xa2\x01\x02", b"\xd2\x03\x04\x05\x05", b"\xd2\x03\x03\x05\x05", b"\x51a", b"\x51b", b"\x08"))
    many = [b"\x52" + f"{number:02}".encode() for number in range(20)]
    many[19] = many[3]
    cases.refuses("duplicate key among twenty", "FRM-6 j", "duplicate-key",
                  plist(b"\xdf\x10\x14" + bytes(range(1, 21)) + b"\x15" * 20, *many, b"\x08"))


def depth(cases):
    def nested(levels, leaf):
        """Arrays in arrays; the innermost value has depth `levels`."""
        return plist(*[bytes([0xA1, level]) for level in range(1, levels)], leaf)
    pairs = True
    for _ in range(63):
        pairs = {"a": pairs}
    # Without their values: those would ask of a reader of JSON what it need not be able to do.
    cases.accepts("depth 64 in arrays", "FRM-6 k", nested(64, b"\x09"))
    cases.refuses("depth 65 in arrays", "FRM-6 k", "too-deep", nested(65, b"\x09"))
    cases.accepts("depth 64, the last an empty array", "FRM-6 k", nested(64, b"\xa0"))
    cases.refuses("depth 65, the last an empty array", "FRM-6 k", "too-deep", nested(65, b"\xa0"))
    cases.accepts("depth 64 in dictionaries", "FRM-6 k", canonical(pairs))
    cases.refuses("depth 65 in dictionaries", "FRM-6 k", "too-deep", canonical({"a": pairs}))
    # The key is deeper than the value that is an object further up.
    cases.refuses("depth 65, a key", "FRM-6 k", "too-deep",
                  plist(*[bytes([0xA1, level]) for level in range(1, 64)], b"\xd1\x40\x40", b"\x51a"))
    shared = plist(b"\xa2\x01\x02", *[bytes([0xA1, level]) for level in range(2, 64)], b"\x09")
    cases.accepts("depth 64 by the longer of two ways", "FRM-6 k", shared)
    for levels in (513, 5000):
        # Arrays of one reference of two bytes: a1 0001, a1 0002 and so on.
        cases.refuses(f"depth {levels}", "FRM-6 k", "too-deep", plist(
            [Sequence(0xA1_0001, 1, levels - 1, 3)], b"\x09", offset_size=2, reference_size=2, count=levels,
            pieces_of_offsets=[Sequence(8, 3, levels, 2)]))


def budget_of_objects(cases):
    """Integers of 3 bytes, each its own object."""
    for count, fault in ((16_384, None), (16_385, "too-many-objects")):
        start = head(0xA0, count - 1)
        first = 8 + len(start) + 2 * (count - 1)
        # The numbers 0x110000 and on: three bytes each, the marker 11 and a number of two bytes.
        leaves = Sequence(0x11_0000, 1, count - 1, 3)
        data = plist([start, Sequence(1, 1, count - 1, 2), leaves], offset_size=4, reference_size=2, count=count,
                     pieces_of_offsets=[(8).to_bytes(4, "big"), Sequence(first, 3, count - 1, 4)])
        if fault:
            cases.refuses(f"{count} objects", "FRM-6 l", fault, data)
        else:
            cases.accepts(f"{count} objects", "FRM-6 l", data)


def budget_of_values(cases):
    def wide(count):
        return plist([b"\xaf\x12" + count.to_bytes(4, "big"), Run(b"\x01", count)], b"\x09", offset_size=4)
    cases.refuses("65,536 references and the root", "FRM-6 m", "too-many-values", wide(65_536))
    cases.refuses("100,000 references", "FRM-6 m", "too-many-values", wide(100_000))
    # 255 elements of 256 values each, the root: 65,281; one more array of 255 makes 65,536.
    inner, most = b"\xaf\x10\xff" + b"\x03" * 255, b"\xaf\x10\xfe" + b"\x03" * 254
    cases.accepts("65,536 values by sharing", "FRM-6 m",
                  plist(b"\xaf\x11\x01\x00" + b"\x01" * 255 + b"\x02", inner, most, b"\x09", offset_size=2))
    cases.refuses("65,537 values by sharing", "FRM-6 m", "too-many-values",
                  plist(b"\xaf\x11\x01\x00" + b"\x01" * 256, inner.replace(b"\x03", b"\x02"), b"\x09", offset_size=2))


def budget_of_bytes(cases):
    """An object of 32,768 bytes 257 times is 256 repetitions: 8 MiB to the byte."""
    large = [b"\x4f\x11\x7f\xfc", Run(b"\0", 32_764)]
    for count, fault in ((257, None), (258, "too-many-repeated-bytes")):
        data = plist([b"\xaf\x11" + count.to_bytes(2, "big"), Run(b"\x01", count)], large, offset_size=4)
        if fault:
            cases.refuses(f"{count} times 32 KiB of data", "FRM-6 n", fault, data)
        else:
            cases.reads(f"{count} times 32 KiB of data", "FRM-6 n", data, Many([bytes(32_764)], count))
    text = [b"\x5f\x12\x00\x06\x00\x00", Run(b"t", 393_216)]
    cases.refuses("60,000 times 384 KiB of text", "FRM-6 n", "too-many-repeated-bytes",
                  plist([b"\xaf\x11\xea\x60", Run(b"\x01", 60_000)], text, offset_size=4))


def bombs(cases):
    """Shared references that mean more than any reader has memory for."""
    for levels in (5, 6, 7, 8, 60):
        objects = [b"\xaa" + bytes([level + 1]) * 10 for level in range(levels)]
        cases.refuses(f"10^{levels} values in {8 + 12 * levels + 5 + 32} bytes", "FRM-6 m", "too-many-values",
                      plist(*objects, b"\x53abc", offset_size=1 if levels < 20 else 2))
    objects = [b"\x53abc"] + [b"\xaa" + bytes([level]) * 10 for level in range(8)]
    cases.refuses("10^8 values, numbered backwards", "FRM-6 m", "too-many-values", plist(*objects, top=8))
    doubling = [b"\xa2" + bytes([level + 1]) * 2 for level in range(63)]
    cases.refuses("2^63 values by doubling", "FRM-6 m", "too-many-values", plist(*doubling, b"\x09"))
    deep = [b"\xd1" + bytes([64]) + bytes([level + 1]) for level in range(62)]
    cases.accepts("one key at sixty levels", "FRM-6 d", plist(*deep, b"\xd1\x40\x3f", b"\x09", b"\x51a"))
