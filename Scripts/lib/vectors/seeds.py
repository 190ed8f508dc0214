#!/usr/bin/env python3
"""Between the kept corpus of a fuzz target (Tests/Fuzz/TARGET.corpus: one input in each line, hexadecimal) and the
folder of files that libFuzzer works in.

    seeds.py unpack TARGET FOLDER    the kept inputs, and those that the vectors give
    seeds.py pack TARGET FOLDER      the files of a folder become the kept corpus, smallest first
"""
import hashlib
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from vectors import raw  # noqa: E402

root = Path(__file__).resolve().parents[3]
LONGEST = 4096


def from_vectors(target):
    folder = root / "Protocol/Vectors"
    files = {"reader": [*folder.glob("plist/*.json"), folder / "frames/envelopes.json"],
             "envelope": [folder / "frames/envelopes.json", folder / "plist/containers.json"],
             "frames": [folder / "frames/framing.json"]}.get(target, [])
    for file in sorted(files):
        for case in json.loads(file.read_text())["cases"]:
            data = bytes.fromhex(case["hex"]) if "hex" in case else raw.flat(map(raw.piece_of, case["pieces"]))
            # A stream is preceded by the choice of a limit and of a pattern (the oracle of frames says which).
            yield b"\x07\x00" + data if target == "frames" else data


def kept(target):
    file = root / f"Tests/Fuzz/{target}.corpus"
    return [bytes.fromhex(line) for line in file.read_text().splitlines()] if file.exists() else []


def unpack(target, folder):
    folder.mkdir(parents=True, exist_ok=True)
    inputs = [data for data in (*kept(target), *from_vectors(target)) if len(data) <= LONGEST]
    for data in inputs:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    print(f"{len(inputs)} seeds")


def pack(target, folder):
    inputs = sorted({file.read_bytes() for file in folder.iterdir()}, key=lambda data: (len(data), data))
    (root / f"Tests/Fuzz/{target}.corpus").write_text("".join(data.hex() + "\n" for data in inputs if data))
    print(f"{len(inputs)} inputs kept")


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
