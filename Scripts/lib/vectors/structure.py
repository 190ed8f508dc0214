"""Cases of the frame around the objects: magic, trailer, offset table, widths and references (FRM-6 a to d)."""
from .raw import Cases, Run, flat, plist

# [42], the list that the wrong ones are made from: 46 bytes.
ROOT, LEAF = b"\xa1\x01", b"\x10\x2a"


def made():
    cases = Cases("What holds objects together (FRM-6 a to d): magic, trailer, offset table, references of every width.")
    for part in (magic, truncated, trailers, widths, narrow_widths, tables, objects_out_of_place, references, cycles):
        part(cases)
    return cases.compared()


def magic(cases):
    for text in ("bplist01", "bplist0?", "bplist10", "bplist15", "bplist16", "bplist17", "BPLIST00", "cplist00"):
        cases.refuses(f"magic {text}", "FRM-6 a", "not-binary-property-list", plist(ROOT, LEAF, magic=text.encode()))
    xml = b'<?xml version="1.0"?><plist version="1.0"><dict/></plist>'
    others = {"XML": xml, "text form": b"{a=1;}", "JSON": b'{"a":1}', "empty": b"", "zeros": bytes(64)}
    for name, data in others.items():
        cases.refuses(name, "FRM-6 a", "not-binary-property-list", data)


def truncated(cases):
    whole = flat(plist(ROOT, LEAF))
    for count in range(1, len(whole)):
        fault = "not-binary-property-list" if count < 8 else "too-short" if count < 42 else "reserved-trailer-byte"
        cases.refuses(f"the first {count} bytes of {len(whole)}", "FRM-6 b", fault, whole[:count])
    cases.refuses("one byte after the trailer", "FRM-6 b", "reserved-trailer-byte", whole + b"\0")


def trailers(cases):
    for place in range(6):
        unused = bytes(place) + b"\x01" + bytes(5 - place)
        name = "sort version 1" if place == 5 else f"unused trailer byte {place} is 1"
        cases.refuses(name, "FRM-6 b", "reserved-trailer-byte", plist(ROOT, LEAF, unused=unused))
    for size in (0, 9, 10, 16, 127, 128, 255):
        cases.refuses(f"offset size {size}", "FRM-6 b", "invalid-offset-size",
                      plist(ROOT, LEAF, offset_size=size, table=12))
        cases.refuses(f"reference size {size}", "FRM-6 b", "invalid-reference-size",
                      plist(b"\xa1" + bytes(max(0, size - 1)) + b"\x01"[:size], LEAF, offset_size=2, reference_size=size))
    cases.refuses("object count 0", "FRM-6 b", "no-objects", plist(ROOT, LEAF, count=0))
    for count in (2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1):
        cases.refuses(f"object count {count}", "FRM-6 b", "too-many-objects", plist(ROOT, LEAF, count=count))
    cases.refuses("object count one too small", "FRM-6 c", "offset-table-misplaced", plist(ROOT, LEAF, count=1))
    cases.refuses("object count one too large", "FRM-6 c", "offset-table-misplaced", plist(ROOT, LEAF, count=3))
    for top in (2, 3, 255, 2**32, 2**63, 2**64 - 1):
        cases.refuses(f"top object {top} of 2", "FRM-6 b", "top-object-out-of-range", plist(ROOT, LEAF, top=top))


def widths(cases):
    """References and offsets of every width, each with each."""
    for offset_size in range(1, 9):
        for reference_size in range(1, 9):
            refer = lambda *numbers: b"".join(number.to_bytes(reference_size, "big") for number in numbers)
            data = plist(b"\xd1" + refer(1, 2), b"\x51a", b"\xa2" + refer(3, 4), LEAF, b"\x09",
                         offset_size=offset_size, reference_size=reference_size)
            cases.reads(f"offsets of {offset_size}, references of {reference_size}", "FRM-6 b", data, {"a": [42, True]})


def narrow_widths(cases):
    large = [b"\x4f\x11\x01\x00", Run(b"\0", 256)]
    cases.refuses("offset size too small for the table's position", "FRM-6 b", "offset-size-too-small", plist(large))
    # Every object is below 256, and the table is not.
    last = plist([b"\x4f\x10\xf5", Run(b"\0", 245)])
    cases.refuses("offset size too small for the table alone", "FRM-6 b", "offset-size-too-small", last)
    cases.accepts("offset size just large enough", "FRM-6 b", plist([b"\x4f\x10\xf4", Run(b"\0", 244)]))
    for count, fault in ((255, None), (256, "reference-size-too-small")):
        numbers = bytes(range(1, count))
        leaves = [bytes([0x10, number]) for number in range(count - 1)]
        data = plist(b"\xaf\x10" + bytes([count - 1]) + numbers, *leaves, offset_size=2)
        if fault:
            cases.refuses(f"references of 1 byte, {count} objects", "FRM-6 b", fault, data)
        else:
            cases.accepts(f"references of 1 byte, {count} objects", "FRM-6 b", data)


def tables(cases):
    for table in (0, 7, 8, 11, 13, 14, 45, 46, 2**31, 2**32 + 12, 2**63, 2**64 - 1):
        cases.refuses(f"offset table at {table} instead of 12", "FRM-6 c", "offset-table-misplaced",
                      plist(ROOT, LEAF, table=table))
    cases.refuses("no room for an object", "FRM-6 c", "offset-table-misplaced",
                  b"bplist00" + bytes(2) + flat(plist(count=2, table=8))[8:])
    for name, data in (("a byte", b"\0"), ("32 bytes", bytes(32)), ("text", b"smuggled")):
        cases.refuses(f"{name} between table and trailer", "FRM-6 c", "offset-table-misplaced",
                      plist(ROOT, LEAF, after_table=data))
        cases.refuses(f"{name} between objects and table", "FRM-6 c", "bytes-after-last-object",
                      plist(ROOT, LEAF, before_table=data))


def objects_out_of_place(cases):
    for offset in (0, 7, 8, 9, 11, 12, 13, 45, 255):
        cases.refuses(f"second object at {offset} instead of 10", "FRM-6 c", "object-misplaced",
                      plist(ROOT, LEAF, offsets=[8, offset]))
    cases.refuses("first object at 9", "FRM-6 c", "object-misplaced", plist(ROOT, LEAF, offsets=[9, 10]))
    cases.refuses("offset of 2^64-1", "FRM-6 c", "object-misplaced",
                  plist(ROOT, LEAF, offset_size=8, offsets=[8, 2**64 - 1]))
    cases.refuses("offset of 2^64+10 in eight bytes too few", "FRM-6 c", "object-misplaced",
                  plist(ROOT, LEAF, offset_size=8, offsets=[8, 2**63 + 10]))
    cases.refuses("one object inside another", "FRM-6 c", "object-misplaced",
                  plist(b"\xa2\x01\x02", b"\x41\x08", b"", offsets=[8, 11, 12]))
    cases.refuses("two objects at one place", "FRM-6 c", "object-misplaced",
                  plist(b"\xa2\x01\x02", b"\x08", b"", offsets=[8, 11, 11]))
    cases.refuses("objects not in the order of the table", "FRM-6 c", "object-misplaced",
                  plist(b"\xa2\x01\x02", b"\x08", b"\x09", offsets=[8, 12, 11]))
    cases.refuses("a gap between objects", "FRM-6 c", "object-misplaced",
                  plist(b"\xa1\x01", b"\0" + LEAF, offsets=[8, 11]))


def references(cases):
    for number in (2, 3, 127, 128, 255):
        cases.refuses(f"reference to {number} of 2 objects", "FRM-6 d", "reference-out-of-range",
                      plist(b"\xa1" + bytes([number]), LEAF))
    for number in (2, 2**32 + 1, 2**63 + 1, 2**64 - 1):
        cases.refuses(f"reference to {number} in 8 bytes", "FRM-6 d", "reference-out-of-range",
                      plist(b"\xa1" + number.to_bytes(8, "big"), LEAF, reference_size=8))
    cases.refuses("key reference out of range", "FRM-6 d", "reference-out-of-range",
                  plist(b"\xd1\x03\x01", LEAF, b"\x51a"))
    cases.refuses("value reference out of range", "FRM-6 d", "reference-out-of-range", plist(b"\xd1\x01\x09", b"\x51a"))
    cases.refuses("an object that nothing refers to", "FRM-6 d", "unreferenced-object", plist(b"\xa0", b"\x08"))
    cases.refuses("an object beside a scalar root", "FRM-6 d", "unreferenced-object", plist(b"\x08", b"\x09"))
    cases.refuses("an unreferenced container with contents", "FRM-6 d", "unreferenced-object",
                  plist(b"\xa1\x01", b"\x08", b"\xa1\x01"))
    cases.reads("children before parents", "FRM-6 d",
                plist(b"\x10\x07", b"\xa1\x00", b"\x51a", b"\xd1\x02\x01", b"\xa2\x03\x01", top=4), [{"a": [7]}, [7]])
    cases.reads("the root is the second object", "FRM-6 d", plist(LEAF, b"\xa1\x00", top=1), [42])
    cases.reads("a shared scalar", "FRM-6 d", plist(b"\xa3\x01\x01\x01", LEAF), [42, 42, 42])
    cases.reads("equal scalars not shared", "FRM-6 d", plist(b"\xa2\x01\x02", LEAF, LEAF), [42, 42])
    cases.reads("a shared array", "FRM-6 d", plist(b"\xa2\x01\x01", b"\xa1\x02", b"\x09"), [[True], [True]])
    cases.reads("a shared dictionary", "FRM-6 d",
                plist(b"\xa2\x01\x01", b"\xd1\x02\x03", b"\x51a", b"\x09"), [{"a": True}, {"a": True}])
    cases.reads("a shared empty array", "FRM-6 d", plist(b"\xa2\x01\x01", b"\xa0"), [[], []])
    cases.reads("a text that is key and value", "FRM-6 d", plist(b"\xd1\x01\x01", b"\x51a"), {"a": "a"})


def cycles(cases):
    found = {
        "an array that holds itself": [b"\xa1\x00"], "two arrays": [b"\xa1\x01", b"\xa1\x00"],
        "three arrays, the root beside": [b"\xa1\x01", b"\xa1\x02", b"\xa1\x03", b"\xa1\x01"],
        "a dictionary as its own value": [b"\xd1\x01\x00", b"\x51a"],
        "a dictionary as its own key": [b"\xd1\x00\x01", b"\x51a"],
        "through a dictionary": [b"\xa1\x01", b"\xd1\x02\x00", b"\x51a"],
        "itself many times": [b"\xaa" + bytes(10)],
    }
    for name, objects in found.items():
        cases.refuses(f"cycle: {name}", "FRM-6 d", "cycle", plist(*objects))
    cases.refuses("cycle: beside the root", "FRM-6 d", "cycle", plist(b"\xa0", b"\xa1\x02", b"\xa1\x01"))
    cases.refuses("cycle: behind a root with contents", "FRM-6 d", "cycle",
                  plist(b"\xa1\x01", b"\x09", b"\xa1\x03", b"\xa1\x02"))
