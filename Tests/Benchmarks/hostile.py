"""Makes payloads that cost a reader as much as the limits allow (Protocol/Frames.md, FRM-6 k to n), byte by byte.

    hostile.py FILE    writes each after its length (a big-endian uint32); prints a line of name, tab and size for each
"""
import struct
import sys
from pathlib import Path

FRAME = 512 * 1024  # LIM-1
OBJECTS, VALUES, REPEATED = 16_384, 65_536, 8 << 20  # FRM-6 l, m, n
TRUE = b"\x09"


def opening(kind, count):
    """Type and count of an object (FRM-6 h)."""
    if count < 15:
        return bytes([kind | count])
    power = 0 if count < 1 << 8 else 1 if count < 1 << 16 else 2
    return bytes([kind | 15, 0x10 | power]) + count.to_bytes(1 << power, "big")


def ascii_string(text):
    return opening(0x50, len(text)) + text.encode("ascii")


def utf16_string(text):
    data = text.encode("utf-16-be")
    return opening(0x60, len(data) // 2) + data


def references(numbers, width):
    return b"".join(number.to_bytes(width, "big") for number in numbers)


def array(numbers, width=2):
    return opening(0xA0, len(numbers)) + references(numbers, width)


def dictionary(keys, values, width=2):
    return opening(0xD0, len(keys)) + references(keys, width) + references(values, width)


def plist(objects, width=2):
    """Objects one after the other, the first one on top; references have this width, offsets three bytes."""
    positions, table = [], bytearray(b"bplist00")
    for content in objects:
        positions.append(len(table))
        table += content
    trailer = bytes(6) + bytes([3, width]) + struct.pack(">QQQ", len(objects), 0, len(table))
    return bytes(table) + references(positions, 3) + trailer


def bomb():
    """Eight arrays of ten references each to the next: 111 million values in 141 bytes."""
    objects = [array([level] * 10, 1) for level in range(1, 9)] + [ascii_string("abc")]
    positions = [8 + sum(map(len, objects[:place])) for place in range(len(objects))]
    trailer = bytes(6) + bytes([1, 1]) + struct.pack(">QQQ", len(objects), 0, 8 + sum(map(len, objects)))
    return b"bplist00" + b"".join(objects) + bytes(positions) + trailer


def strings():
    count = OBJECTS - 1
    return plist([array(range(1, count + 1)), *(ascii_string(f"{number:021}") for number in range(count))])


def keys(write, width, count):
    """One dictionary whose keys differ at their ends only, in the wrong order, all with one value."""
    written = [write(f"{number:0{width}}") for number in reversed(range(count))]
    return plist([dictionary(range(1, count + 1), [count + 1] * count), *written, TRUE])


def dictionaries():
    count = OBJECTS - 3
    return plist([array(range(3, count + 3)), ascii_string("k"), TRUE, *[dictionary([1], [2])] * count])


def shared_arrays():
    """As many values as may be, in arrays that a reader of trees must build one by one."""
    inner = 1021
    outer = VALUES // (inner + 2)
    return plist([array(range(1, outer + 1)), *[array(range(outer + 1, outer + 1 + inner))] * outer,
                  *(ascii_string(f"{number:016}") for number in range(inner))])


def shared_dictionary():
    inner, outer = 511, 64
    return plist([array([1] * outer), dictionary(range(2, inner + 2), [inner + 2] * inner),
                  *(ascii_string(f"{number:08}") for number in reversed(range(inner))), TRUE])


def repeated_string():
    size = 128 * 1024
    return plist([array([1] * (REPEATED // size)), ascii_string("x" * size)])


CASES = {
    "bomb of 141 bytes": bomb,
    "16,383 strings": strings,
    "16,382 keys, reversed": lambda: keys(ascii_string, 22, OBJECTS - 2),
    "2,000 long keys, reversed": lambda: keys(ascii_string, 250, 2_000),
    "16,382 keys in UTF-16, reversed": lambda: keys(lambda digits: utf16_string("\u00e9" + digits), 10, OBJECTS - 2),
    "16,381 dictionaries": dictionaries,
    "64 arrays of the same 1,021 strings": shared_arrays,
    "one dictionary of 511 keys, 64 times": shared_dictionary,
    "65,535 references to one boolean": lambda: plist([array([1] * (VALUES - 1)), TRUE]),
    "one string of 128 KiB, 64 times": repeated_string,
    "a string of 262,000 UTF-16 units": lambda: plist([utf16_string("\U0001F600" * 131_000)]),
    "a string of 524,000 bytes": lambda: plist([ascii_string("x" * 524_000)]),
}


def main(path):
    with Path(path).open("wb") as file:
        for name, make in CASES.items():
            payload = make()
            if len(payload) > FRAME:
                sys.exit(f"{name}: {len(payload)} bytes is no frame")
            file.write(struct.pack(">I", len(payload)) + payload)
            print(f"{name}\t{len(payload)}")


main(sys.argv[1])
