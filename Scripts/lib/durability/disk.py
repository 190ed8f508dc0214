"""Possible contents of a disk after the power failed, from a trace of what a daemon asked of its files (strace).

A sync makes the earlier writes of its file durable. Of later writes any part may be there, in pieces of 4 KiB that may
be torn. The sync of a directory makes all names durable that were made, moved or removed before it, also in the
directories above: ext4, XFS and btrfs write them in order, which POSIX does not require. Of later names a prefix is
there. A sync takes effect at its end, for the calls before its beginning.
"""
import collections
import functools
import os
import pathlib
import re
import shutil
from typing import Callable, NamedTuple

CALLS = ("openat", "pwrite64", "write", "ftruncate", "fallocate", "fsync", "fdatasync", "rename", "renameat",
         "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir")
LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\)\s+= (\d+)(?:<([^>]*)>)? <(\d+\.\d+)>$")
PIECE = 4096
NOTHING, SOME, EVERYTHING = "nothing", "some", "everything"


def recorder(prefix):
    """The command that becomes a daemon whose calls are recorded, in a file for each thread."""
    return ("strace", "-D", "-ff", "-qq", "-ttt", "-T", "-y", "-xx", "-s", str(1 << 24), "-e",
            f"trace={','.join(CALLS)}", "-o", str(prefix))


def decoded(text):
    return bytes.fromhex(text.replace("\\x", ""))


class Call:
    """One call that succeeded: its operands as strace wrote them, and its beginning and end."""

    def __init__(self, match):
        began, self.name, operands, result, self.opened, took = match.groups()
        self.began, self.result = float(began), int(result)
        self.ended = self.began + float(took)
        self.operands = operands.split(", ")

    def path(self, place):
        """The path that an operand names: a descriptor, a directory and a name, or a name."""
        first = self.operands[place]
        if first.startswith('"'):
            return os.path.normpath(decoded(first.strip('"')).decode())
        return decoded(first[first.index("<") + 1:first.index(">")]).decode(errors="replace")

    def entry(self, place):
        """The path of a directory's descriptor and a name in it."""
        return os.path.normpath(os.path.join(self.path(place), decoded(self.operands[place + 1].strip('"')).decode()))


def calls(prefix):
    found = []
    for path in pathlib.Path(prefix).parent.glob(f"{pathlib.Path(prefix).name}.*"):
        with open(path) as lines:
            found += [Call(match) for line in lines if (match := LINE.match(line))]
    return sorted(found, key=lambda call: call.began)


class File:
    """One file: its durable bytes, and the changes that no sync has covered."""

    def __init__(self, content=b""):
        self.durable, self.pending, self.settled = bytearray(content), [], 0

    def ask(self, *change):
        self.pending.append(change)

    @property
    def asked(self):
        """How many changes have been asked for since the trace began."""
        return self.settled + len(self.pending)

    def settle(self, count):
        """The first `count` changes are durable."""
        new = max(0, count - self.settled)
        for change in self.pending[:new]:
            change_bytes(self.durable, *change)
        del self.pending[:new]
        self.settled += new

    def after(self, survival, random):
        content = bytearray(self.durable)
        if survival == NOTHING:
            return content
        for kind, *operands in self.pending:
            if survival == EVERYTHING or kind != "write":
                if survival == EVERYTHING or random.random() < 0.5:
                    change_bytes(content, kind, *operands)
                continue
            offset, data = operands
            for start in range(0, len(data), PIECE):
                if random.random() < 0.5:
                    piece = data[start:start + PIECE]
                    cut = random.randrange(len(piece) + 1) if random.random() < 0.25 else len(piece)
                    change_bytes(content, "write", offset + start, piece[:cut])
        return content


def change_bytes(content, kind, offset, data=b""):
    """A write; `cut` or `grow` to a size."""
    if kind == "cut":
        del content[offset:]
    content.extend(bytes(max(0, offset + len(data) - len(content))))
    content[offset:offset + len(data)] = data


def change_names(names, kind, path, other=None, file=None):
    """`make` a file or (without one) a directory, `move`, `remove`."""
    if kind == "make":
        names[path] = file
        return
    below = [name for name in names if name == path or name.startswith(path + "/")]
    for name in below:
        found = names.pop(name)
        if kind == "move":
            names[other + name[len(path):]] = found


class Event(NamedTuple):
    moment: float
    is_sync: bool
    play: Callable


class Disk:
    """A state directory whose daemon's calls are played."""

    def __init__(self, state):
        """As the directory is now, all of it durable."""
        self.root = str(state)
        self.names = {}
        for folder, _, files in os.walk(state):
            self.names[folder] = None
            for name in files:
                path = os.path.join(folder, name)
                self.names[path] = File(pathlib.Path(path).read_bytes())
        self.durable, self.journal, self.settled = dict(self.names), [], 0
        self.modes = {path: os.stat(path).st_mode & 0o7777 for path in self.names}
        self.places = collections.Counter()  # of what is written without an offset, by descriptor

    def events(self, prefix):
        """The calls in their order, a sync as its beginning and its end."""
        found = []
        for call in calls(prefix):
            if call.name in ("fsync", "fdatasync"):
                covered = []
                found.append(Event(call.began, True, functools.partial(self.begin_sync, call, covered)))
                found.append(Event(call.ended, True, functools.partial(self.end_sync, covered)))
            else:
                found.append(Event(call.began, False, functools.partial(self.play, call)))
        return sorted(found, key=lambda event: event.moment)

    def begin_sync(self, call, covered):
        path = call.path(0)
        if path in self.names:
            file = self.names[path]
            covered.append((file, file.asked if file else self.settled + len(self.journal)))

    def end_sync(self, covered):
        for file, count in covered:
            if file:
                file.settle(count)
                continue
            new = max(0, count - self.settled)
            for change in self.journal[:new]:
                change_names(self.durable, *change)
            del self.journal[:new]
            self.settled += new

    def rename(self, *change):
        change_names(self.names, *change)
        self.journal.append(change)

    def is_ours(self, path):
        return path == self.root or path.startswith(self.root + "/")

    def play(self, call):
        match call.name:
            case "openat":
                self.open(call)
            case "pwrite64" | "write":
                self.write(call)
            case "ftruncate" | "fallocate":
                if file := self.names.get(call.path(0)):
                    file.ask("cut" if call.name == "ftruncate" else "grow", int(call.operands[-1]))
            case "mkdir" | "mkdirat":
                path = call.path(0) if call.name == "mkdir" else call.entry(0)
                if self.is_ours(path):
                    self.rename("make", path)
            case "unlink" | "rmdir" | "unlinkat":
                path = call.entry(0) if call.name == "unlinkat" else call.path(0)
                if path in self.names:
                    self.rename("remove", path)
            case "rename" | "renameat" | "renameat2":
                whole = call.name == "rename"
                path, other = (call.path(0), call.path(1)) if whole else (call.entry(0), call.entry(2))
                if path in self.names:
                    self.rename("move", path, other)
            case "link" | "linkat":
                whole = call.name == "link"
                path, other = (call.path(0), call.path(1)) if whole else (call.entry(0), call.entry(2))
                if path in self.names:
                    self.rename("make", other, None, self.names[path])

    def open(self, call):
        self.places[call.result] = 0
        path = decoded(call.opened).decode(errors="replace")
        if "O_CREAT" in call.operands[2] and self.is_ours(path) and path not in self.names:
            self.rename("make", path, None, File())
        elif "O_TRUNC" in call.operands[2] and (file := self.names.get(path)):
            file.ask("cut", 0)

    def write(self, call):
        descriptor = int(call.operands[0].split("<")[0])
        place = self.places[descriptor]
        if call.name == "write":
            self.places[descriptor] += call.result
        if file := self.names.get(call.path(0)):
            data = decoded(call.operands[1].strip('"'))[:call.result]
            file.ask("write", int(call.operands[3]) if call.name == "pwrite64" else place, data)

    def lay(self, directory, survival, random):
        """Writes the contents after a power failure now to a directory in place of what it has."""
        names = dict(self.durable)
        kept = {NOTHING: 0, EVERYTHING: len(self.journal), SOME: random.randrange(len(self.journal) + 1)}[survival]
        for change in self.journal[:kept]:
            change_names(names, *change)
        shutil.rmtree(directory, ignore_errors=True)
        for path, file in sorted(names.items()):
            new = str(directory) + path[len(self.root):]
            if file is None:
                os.makedirs(new)
            else:
                os.makedirs(os.path.dirname(new), exist_ok=True)
                pathlib.Path(new).write_bytes(file.after(survival, random))
            os.chmod(new, self.modes.get(path, 0o700 if file is None else 0o600))
