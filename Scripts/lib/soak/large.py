"""A large file over a line that is cut at seeded places: it arrives whole, once, with its digest (FIL-8, FIL-11)."""
import hashlib
import mmap
import os
import pathlib
import threading
import time

from apps import App, Refused, digest_of, new_identifier, sent_file
from case import Case
from daemons import CaseFailure, require, until
from frames import ProtocolError, decode

APP = "org.example.large"
MIB = 1 << 20
WINDOW, CHUNK = 262_144, 65_536  # LIM-29, LIM-28: sent again after each cut
HANDSHAKE = 16_384  # bytes of one connection beside the file's
SLOWEST = 2 * MIB  # bytes a second below which the file counts as lost


class Receiver(threading.Thread):
    """The receiving app: for each file that comes, its size and its digest."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.connection = App(daemon, APP, receives=True)
        self.files, self.failure = [], None
        self.start()

    def run(self):
        try:
            while True:
                envelope = self.connection.read(3600)
                if envelope["kind"] == "delivery":
                    self.take(envelope)
        except (OSError, Refused, ProtocolError, CaseFailure, KeyError) as error:
            self.failure = f"{type(error).__name__} {error}"

    def take(self, envelope):
        body = decode(envelope["body"])
        size = pathlib.Path(body["path"]).stat().st_size
        self.files.append((size, digest_of(body["path"]), body["metadata"]["digest"]))
        self.connection.handle(envelope)


def made(world, size):
    """A file of so many seeded bytes, and its digest."""
    path, digest = world.workspace / "large.bin", hashlib.sha256()
    with open(path, "wb") as file:
        while size:
            piece = world.random.randbytes(min(size, MIB))
            digest.update(piece)
            file.write(piece)
            size -= len(piece)
    return path, digest.digest()


def run(world):
    """Sends a file of SOAK_FILE MiB over a line that is cut SOAK_CUTS times; the outcome in one line."""
    size, cuts = int(os.environ["SOAK_FILE"]) * MIB, int(os.environ["SOAK_CUTS"])
    hub, kiosk, line = world.pair(line=True)
    receiver = Receiver(kiosk)
    path, digest = made(world, size)
    app = App(hub, APP)
    pairing = app.until_reachable()
    before = line.tell("count")[0]
    passed, links = before["bytes"][1], before["connections"]
    line.tell(" ".join(["plan", *(str(passed + place) for place in sorted(world.random.sample(range(size), cuts)))]))
    began, limit = time.monotonic(), 60 + size / SLOWEST
    identifier = new_identifier()
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        sent_file(app, data, path.name, pairing, identifier, {"digest": digest})
    path.unlink()
    end = app.next("finished", limit, id=identifier)
    seconds, after = time.monotonic() - began, line.tell("count")[0]
    again, links = after["bytes"][1] - passed - size, after["connections"] - links
    until(lambda: not any(found.is_file() for part in ("spool", "partial") for daemon in (hub, kiosk)
                          for found in (daemon.state / part).rglob("*")), 10, "an empty spool on both devices")
    text = (f"{size // MIB:,} MiB, cut {cuts - len(after['plan'])} times at seeded places, {links} links: arrived "
            f"{len(receiver.files)} times, {end['name']}, {again:,} bytes more than the file; {seconds:.0f} s")
    require(end["name"] == "handled" and receiver.failure is None, f"{text}; {receiver.failure}")
    require([(size, digest, digest)] == receiver.files, f"{text}; it is not what was sent")
    require(not after["plan"], f"{text}; {len(after['plan'])} cuts have not happened")
    bound = cuts * (WINDOW + CHUNK) + size // 100 + (cuts + 1) * HANDSHAKE
    require(again <= bound, f"{text}; at most {bound:,} are allowed")
    return f"{text}; its digest is the one that was sent; at most {bound:,} bytes more are allowed"


CASES = [Case("K3", "a large file over a line that is cut", run)]
