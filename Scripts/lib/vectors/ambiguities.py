"""Inputs that readers in use understand differently from each other, crash on, or take for ever over. Here each has one
answer. The bytes are literal, so that nothing but them is needed."""
import struct

from .raw import Cases, Sequence, plist, trailer


def made():
    cases = Cases("Inputs that readers of property lists understand differently (FRM-6): each has one answer here.")
    hexadecimal = bytes.fromhex
    add = cases.refuses
    add("duplicate key", "FRM-6 j", "duplicate-key",
        hexadecimal("62706c6973743030d2010203045161516110011002080d0f1113") + trailer(1, 1, 5, 0, 0x15))
    add("duplicate key as ASCII and as UTF-16", "FRM-6 i", "needless-utf16",
        plist(b"\xd2\x01\x02\x03\x04", b"\x51a", b"\x61\0a", b"\x10\x01", b"\x10\x02"))
    twins = plist(b"\xd2\x01\x02\x03\x04", hexadecimal("6200650301"), hexadecimal("6100e9"), b"\x10\x01", b"\x10\x02")
    cases.reads("normalisation twins are two keys", "FRM-6 j", twins, {"e\u0301": 1, "\u00e9": 2})
    hangul = plist(b"\xd2\x01\x02\x03\x04", hexadecimal("6211001161"), hexadecimal("61ac00"), b"\x10\x01", b"\x10\x02")
    cases.reads("a syllable and its letters are two keys", "FRM-6 j", hangul, {"\u1100\u1161": 1, "\uac00": 2})
    cases.reads("normalisation twins are two objects", "FRM-7",
                plist(b"\xa2\x01\x02", hexadecimal("6200650301"), hexadecimal("6100e9")), ["e\u0301", "\u00e9"])
    add("128 bits, high half one", "FRM-6 f", "integer-out-of-range", plist(b"\x14" + struct.pack(">QQ", 1, 5)))
    add("128 bits, minus one", "FRM-6 f", "integer-out-of-range", plist(b"\x14" + b"\xff" * 16))
    cases.reads("128 bits, high half zero", "FRM-6 f", plist(b"\x14" + bytes(8) + b"\xff" * 8), 2**64 - 1)
    add("UTF-8 as ASCII", "FRM-6 i", "invalid-ascii", hexadecimal("62706c697374303052c3a908") + trailer(1, 1, 1, 0, 0x0B))
    add("lone surrogate", "FRM-6 i", "invalid-utf16", plist(b"\x61\xd8\0"))
    cases.reads("NUL in ASCII text", "FRM-6 i", plist(b"\x53a\0b"), "a\0b")
    cases.reads("NUL in UTF-16 text", "FRM-6 i", plist(b"\x62\0\0\0\xe9"), "\0\u00e9")
    add("NUL in a key", "FRM-6 j", "key-contains-null", plist(b"\xd1\x01\x02", b"\x53a\0b", b"\x08"))
    add("a set", "FRM-6 e", "unsupported-type", hexadecimal(
        "62706c6973743030c1011001080a000000000000010100000000000000020000000000000000000000000000000c"))
    add("an array that holds itself", "FRM-6 d", "cycle",
        hexadecimal("62706c6973743030a100080000000000000101") + struct.pack(">QQQ", 1, 0, 0x0A))
    bomb = [b"\xaa" + bytes([level + 1]) * 10 for level in range(7)]
    add("10^7 values in 129 bytes", "FRM-6 m", "too-many-values", plist(*bomb, b"\x50"))
    bomb.append(b"\xaa" + bytes([8]) * 10)
    add("10^8 values in 141 bytes", "FRM-6 m", "too-many-values", plist(*bomb, b"\x50"))
    for levels in (512, 513):
        add(f"depth {levels}", "FRM-6 k", "too-deep",
            plist([Sequence(0xA1_0001, 1, levels - 1, 3)], b"\xa0", offset_size=2, reference_size=2, count=levels,
                  pieces_of_offsets=[Sequence(8, 3, levels, 2)]))
    add("a date that is no number", "FRM-6 g", "not-finite", plist(b"\x33" + hexadecimal("7ff8000000000000")))
    add("an integer as a key", "FRM-6 j", "key-not-string", plist(b"\xd1\x01\x02", b"\x10\x01", b"\x08"))
    add("null as a value", "FRM-6 e", "unsupported-type", plist(b"\xd1\x01\x02", b"\x51a", b"\0"))
    for version in ("01", "15"):
        add(f"version {version}", "FRM-6 a", "not-binary-property-list",
            plist(b"\x08", magic=b"bplist" + version.encode()))
    add("bytes between table and trailer", "FRM-6 c", "offset-table-misplaced", plist(b"\x08", after_table=b"\0"))
    add("an unreferenced object", "FRM-6 d", "unreferenced-object", plist(b"\xa0", b"\x08"))
    add("overlapping objects", "FRM-6 c", "object-misplaced",
        plist(b"\xa2\x01\x02", b"\x41\x08", b"", offsets=[8, 11, 12]))
    add("sort version", "FRM-6 b", "reserved-trailer-byte", plist(b"\x08", unused=b"\0\0\0\0\0\x01"))
    add("the text form", "FRM-6 a", "not-binary-property-list", b"{a=1;}")
    add("the magic alone", "FRM-6 b", "too-short", b"bplist00")
    return cases.compared()
