"""Where plistlib (CPython 3.11) and libplist (2.2) answer otherwise than the strict profile asks, and why. Whatever is
not listed here they answer as we do; Scripts/check-vectors proves both directions.

They differ by whole faults: a reader that follows offsets wherever they lead accepts all that only a check of the
layout would refuse. So the table is by fault, with the cases of that fault that a reader does refuse, or the only ones that it
does not.
"""
from fnmatch import fnmatchcase

WORDS = {
    "magic": "looks at fewer than the eight bytes of the magic",
    "unused": "does not look at unused bytes of the trailer, nor at how wide its sizes are",
    "layout": "follows offsets wherever they lead: objects may overlap, lie apart, or be referred to by nobody",
    "types": "has types that the profile leaves out",
    "numbers": "takes numbers that are not finite, out of range or cut to fewer bytes",
    "text": "takes text that is malformed, or in a form that it does not need",
    "counts": "takes counts of any form, and what is there of an object that is cut off",
    "keys": "asks less of keys; of equal ones it keeps the last, or both",
    "cycles": "makes a value that holds itself, or never looks at containers that nothing refers to",
    "budgets": "has no budget of this kind",
    "expands": "would need more time and memory than there are: not run",
    "nul": "ends text at a NUL",
}

BY_FAULT = {
    "not-binary-property-list": "magic",
    "reserved-trailer-byte": "unused", "invalid-offset-size": "unused", "invalid-reference-size": "unused",
    "offset-size-too-small": "unused", "reference-size-too-small": "unused",
    "offset-table-misplaced": "layout", "object-misplaced": "layout", "bytes-after-last-object": "layout",
    "unreferenced-object": "layout",
    "unsupported-type": "types", "unknown-marker": "types",
    "integer-out-of-range": "numbers", "not-finite": "numbers", "date-out-of-range": "numbers",
    "invalid-ascii": "text", "invalid-utf16": "text", "needless-utf16": "text",
    "invalid-count": "counts", "object-too-long": "counts",
    "key-not-string": "keys", "invalid-key-length": "keys", "key-contains-null": "keys", "duplicate-key": "keys",
    "cycle": "cycles",
    "too-deep": "budgets", "too-many-objects": "budgets", "too-many-values": "budgets",
    "too-many-repeated-bytes": "budgets",
}



class Except(tuple):
    """The cases of a fault that a reader refuses as we do; the names may be patterns."""


ALL = Except()


def but(*names):
    return Except(names)


LAYOUT = ("* between table and trailer", "no room for an object")
MISPLACED = ("a gap between objects", "objects not in the order*", "one object inside*", "overlapping objects",
             "two objects at one place", "second object at 0 *")
ACCEPTED = {
    "plistlib": {
        "not-binary-property-list": ("magic *", "version *"),
        "reserved-trailer-byte": but("the first *", "one byte after the trailer"),
        "invalid-offset-size": but("offset size 0"),
        "invalid-reference-size": but("reference size 0"),
        "offset-size-too-small": ALL,
        "reference-size-too-small": ALL,
        "offset-table-misplaced": (*LAYOUT, "object count one too large", "offset table at 11 *",
                                   "offset table at 13 *", "offset table at 14 *"),
        "object-misplaced": (*MISPLACED, "second object at 8 *", "second object at 12 *"),
        "bytes-after-last-object": ALL,
        "unreferenced-object": ALL,
        "unsupported-type": ("marker 00: null", "null as a value", "marker 0f: fill", "marker 8?: UID"),
        "unknown-marker": ("integer of 2^*",),
        "integer-out-of-range": ALL,
        "not-finite": but("date: *", "a date that is no number"),
        "date-out-of-range": ("date: rounds into year 10000",),
        "needless-utf16": ALL,
        "invalid-count": ("*, count of *", "*, count a real", "data, count a boolean", "ASCII, count a boolean",
                          "UTF-16, count a boolean", "data, count null", "ASCII, count null", "UTF-16, count null"),
        "object-too-long": but("* of *[0-9]", "array runs *", "dictionary runs *", "array, count cut off",
                               "dictionary, count cut off"),
        "key-not-string": but("empty * as a key"),
        "invalid-key-length": ALL,
        "key-contains-null": ALL,
        "duplicate-key": ALL,
        "cycle": but("cycle: a dictionary as its own key"),
        "too-deep": but("depth 512", "depth 513", "depth 5000"),
        "too-many-objects": ("16385 objects",),
        "too-many-values": ALL,
        "too-many-repeated-bytes": ALL,
    },
    "libplist": {
        "reserved-trailer-byte": but("the first *", "one byte after the trailer"),
        "invalid-offset-size": but("offset size 0"),
        "invalid-reference-size": but("reference size 0"),
        "offset-size-too-small": ALL,
        "reference-size-too-small": ALL,
        "offset-table-misplaced": LAYOUT,
        "object-misplaced": MISPLACED,
        "bytes-after-last-object": ALL,
        "unreferenced-object": ALL,
        "unsupported-type": ("a set", "marker c0: set", "marker 8?: UID"),
        "integer-out-of-range": ALL,
        "not-finite": ALL,
        "date-out-of-range": ALL,
        "invalid-ascii": ALL,
        "invalid-utf16": ALL,
        "needless-utf16": but("needless UTF-16: none"),
        "invalid-count": ("[!U]*, count of *",),
        "invalid-key-length": ALL,
        "key-contains-null": ALL,
        "duplicate-key": ALL,
        "cycle": ("cycle: beside the root", "cycle: behind a root with contents"),
        "too-deep": ALL,
        "too-many-objects": ("16385 objects",),
        "too-many-values": ALL,
        "too-many-repeated-bytes": ALL,
    },
}
# Read otherwise than here, or not to be tried at all.
BY_NAME = {
    **{("libplist", name): "nul" for name in (
        "NUL in ASCII text", "register: an identifier of a NUL", "register: a name with a NUL")},
    **{("libplist", name): "expands" for name in (
        "10^6 values in 117 bytes", "10^7 values in 129 bytes", "10^8 values in 141 bytes", "10^60 values in 765 bytes",
        "10^8 values, numbered backwards", "2^63 values by doubling", "60,000 times 384 KiB of text")},
}


def word(reader, case):
    """Why a reader answers this case otherwise; None if it does not."""
    name, fault = case["name"], case.get("fault")
    if (reader, name) in BY_NAME:
        return BY_NAME[reader, name]
    names = ACCEPTED[reader].get(fault, ())
    listed = any(fnmatchcase(name, pattern) for pattern in names)
    return BY_FAULT[fault] if listed != isinstance(names, Except) else None


def note(case):
    """Writes into a case who answers it otherwise."""
    differs = {reader: found for reader in ACCEPTED if (found := word(reader, case))}
    if differs:
        case["differs"] = differs


def used(cases):
    """The words that these cases use, explained."""
    found = {word for case in cases for word in case.get("differs", {}).values()}
    return {word: text for word, text in WORDS.items() if word in found}
