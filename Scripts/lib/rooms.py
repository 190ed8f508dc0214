"""The house's rules as data and functions: which rooms there are, and what is wrong with them.

Everything is proved twice, from the manifest (what a room may import) and from its sources (what it does import),
because SwiftPM lets a target see modules that it never named. A rule yields texts that say where and what;
no text means that it holds.
"""
import functools
import json
import re
import subprocess
import tempfile
from pathlib import Path

FLOORS = ["System", "Values", "Decisions", "Machinery", "Services", "Commands"]
# Decisions and Machinery are beside each other, not above.
HEIGHT = {"System": 0, "Values": 1, "Decisions": 2, "Machinery": 2, "Services": 3, "Commands": 4}
DOORS = {
    "CTandemOpenSSL": {"Crypto"},
    "CTandemTLS": {"TLS"},
    "CTandemSQLite": {"Store"},
    "CTandemPCRE2": {"Pattern"},
    "CTandemExpat": {"PropertyListXML"},
    "CTandemQREncode": {"QRCode"},
    "CTandemMicroHTTPD": {"tandem-console"},
    "CTandemLinux": {"Reactor"},
}
# The doors behind which a room's own and its imports' code may reach, where that is a promise to those who link it.
REACH = {"PairedSession": {"CTandemLinux"}}
PUBLIC = {"PairedSession", "PairedConfiguration", "PairedConfigurationSQLite", "PairedSessionFoundation"}
FOUNDATION = {"Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking"}
TOOLCHAIN = FOUNDATION | {"Glibc", "Synchronization", "Testing", "Dispatch"}
IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")


class Room:
    """A target of the manifest: its name, floor, folder and the targets that it may import."""

    def __init__(self, root, target):
        self.target = target["name"]
        self.path = Path(target["path"] or f"Sources/{self.target}")
        self.folder = root / self.path
        self.floor = self.path.parts[1] if self.path.parts[0] == "Sources" else "Tests"
        self.name = self.path.name
        self.kind = target["type"]
        self.may = [next(iter(d.values()))[0] for d in target["dependencies"]]
        self.packages = [p for provider in target.get("providers") or [] for p in provider.get("apt", [[]])[0]]

    def sources(self):
        return sorted(self.folder.rglob("*.swift"))


def read(root):
    """The rooms in the manifest's order."""
    # A scratch folder of its own: the build's is locked while somebody builds.
    with tempfile.TemporaryDirectory() as scratch:
        command = ["swift", "package", "--scratch-path", scratch, "--package-path", str(root), "dump-package"]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return [Room(root, target) for target in json.loads(text)["targets"]]


def imports(source):
    """(line number, module, the line and those above it) of each import in a file."""
    status = source.stat()
    return read_imports(source, status.st_mtime_ns, status.st_size)


@functools.cache
def read_imports(source, *_):
    """Once for each state of a file: the self-test looks at all of them for each violation that it plants."""
    lines = source.read_text().splitlines()
    return [(number + 1, found.group(1), lines[max(0, number - 2):number + 1])
            for number, line in enumerate(lines) if (found := IMPORT.match(line))]


def manifest_problems(rooms):
    """Imports that the manifest allows and the house does not."""
    by_target = {room.target: (place, room) for place, room in enumerate(rooms)}
    for place, room in enumerate(rooms):
        yield from name_problems(room)
        for target in room.may:
            if target not in by_target:
                yield f"Package.swift: {room.target} imports {target}, which is not a room of this package"
                continue
            other_place, other = by_target[target]
            if problem := edge_problem(room, other, down=other_place < place):
                yield f"Package.swift: {room.target} may import {target}: {problem}"
    yield from reach_problems(rooms)


def reach_problems(rooms):
    """C libraries that a room links through what it imports, and that it promises not to."""
    imports_of = {room.target: set(room.may) for room in rooms}
    for target, allowed in REACH.items():
        reached, next_ones = set(), {target}
        while next_ones := next_ones - reached:
            reached |= next_ones
            next_ones = set().union(*(imports_of.get(other, set()) for other in next_ones))
        for door in sorted(reached & (DOORS.keys() - allowed)):
            yield f"Package.swift: {target} links {door} through what it imports"


def name_problems(room):
    """Rooms whose floor, folder and target name do not say the same."""
    if room.floor == "Tests":
        if room.kind == "test" and room.name != room.target:
            yield f"Package.swift: tests {room.target} must live in Tests/{room.target}"
        return
    expected = {
        "System": "CTandem" + room.name[1:], "Commands": room.name,
    }.get(room.floor, room.name if room.name in PUBLIC else "Tandem" + room.name)
    if room.floor not in FLOORS or len(room.path.parts) != 3 or room.target != expected:
        yield f"Package.swift: {room.target} at {room.path} is not <{expected}> at Sources/<Floor>/<Room>"


def edge_problem(room, other, down):
    """Why `room` must not import `other`, or None."""
    if other.floor == "Tests":
        return None if room.floor == "Tests" else "product code never imports test support"
    if other.floor == "System":
        openers = DOORS.get(other.target, set())
        # A room's own tests may look behind its door, for example to leave an error in a library's queue.
        tests = {name + "Tests" for name in openers}
        return None if room.name in openers | tests else f"its only importing rooms are {sorted(openers)}"
    if room.floor == "Tests":
        return None
    if {room.floor, other.floor} == {"Decisions", "Machinery"}:
        return "Decisions and Machinery are strangers"
    if HEIGHT[other.floor] > HEIGHT[room.floor]:
        return f"{other.floor} is above {room.floor}"
    return None if down or other.floor != room.floor else "within a floor only rooms earlier in the table"


def import_problems(room, root):
    """Import lines that the room's row in the manifest, or its floor, does not allow."""
    for source in room.sources():
        where = source.relative_to(root)
        for line, module, near in imports(source):
            if module in TOOLCHAIN:
                if problem := toolchain_problem(room, module, near):
                    yield f"{where}:{line}: imports {module}: {problem}"
            elif module not in room.may:
                yield f"{where}:{line}: imports {module}, which Package.swift does not give to {room.target}"


def toolchain_problem(room, module, near):
    """Why this room must not import this module of the toolchain, or None."""
    if room.floor == "Tests":
        return None
    if module in FOUNDATION:
        allowed = {"PairedSessionFoundation"} | ({"PairedConfiguration"} if module == "FoundationEssentials" else set())
        return None if room.name in allowed else "only PairedSessionFoundation and tests see Foundation"
    if room.floor == "Decisions":
        return "a decision does no I/O and takes no lock"
    if module == "Testing":
        return "only tests import Testing"
    if module == "Glibc" and room.floor in ("Values", "Services") and not any("// Glibc" in text for text in near):
        return "on this floor it needs a comment that starts with '// Glibc' and gives the reason"
    return None


def door_problems(rooms):
    """C libraries that more than one room imports in fact."""
    for door, openers in DOORS.items():
        used = {r.name for r in rooms if r.floor != "Tests" for s in r.sources() for _, m, _ in imports(s) if m == door}
        if used - openers:
            yield f"{door} is imported by {sorted(used)}; its rooms are {sorted(openers)}"


def package_problems(rooms, root):
    """Debian packages that the manifest names and the scripts would not install."""
    text = (root / "Scripts/lib/setup.sh").read_text()
    listed = re.search(r"^packages=\(([^)]*)\)", text, re.M)
    known = set(listed.group(1).split()) if listed else set()
    for room in rooms:
        for name in room.packages:
            if name not in known:
                yield f"Scripts/lib/setup.sh: package {name} of {room.target} is missing from its list"
