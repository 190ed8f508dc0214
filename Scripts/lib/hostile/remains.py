"""Remains of a pairing that has ended: no secret of its join link is in the memory or the state directory of either
daemon, and none of its TLS connections in those of the primary, whose counterpart here logs them (PAR-5, PAR-13). A
secondary's secrets of TLS are not looked for. The text of the link, which the primary had shown to its operator, may
still be in memory that the primary has freed.
"""
import base64
import hmac
import re
import struct

from apps import App
from case import Case
from daemons import join, link_of, require, until
from peers import Identity, Peer

APP = "org.example.remains"
PAGE = 4096


def memory(daemon):
    """The mappings that a daemon can write to. It runs, and pages that it gives back meanwhile are zeros here."""
    found = []
    with open(f"/proc/{daemon.program.pid}/mem", "rb", 0) as file, open(f"/proc/{daemon.program.pid}/maps") as maps:
        for line in maps:
            if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line):
                found.append(mapping(file, int(span[1], 16), int(span[2], 16)))
    return found


def mapping(file, place, end):
    pieces = []
    while place < end:
        try:
            file.seek(place)
            piece = file.read(min(end - place, 1 << 20))
        except OSError:
            piece = b""
        pieces.append(piece or bytes(PAGE))
        place += len(pieces[-1])
    return b"".join(pieces)


class Traces:
    """Where secrets are now."""

    def __init__(self, daemon, secrets):
        contents = memory(daemon)
        self.name = daemon.name
        self.in_memory = {name: count for name, secret in secrets.items()
                          if (count := sum(part.count(secret) for part in contents))}
        files = [(path, path.read_bytes()) for path in daemon.state.rglob("*") if path.is_file()]
        self.in_files = {f"{name} in {path.name}" for name, secret in secrets.items()
                         for path, content in files if secret in content}

    def require_none(self, when, printed=()):
        """`printed` are in the memory of the daemon whose operator they were shown to."""
        left = {name: count for name, count in self.in_memory.items() if name not in printed}
        require(not left and not self.in_files,
                f"{when} {self.name} still has {left} in its memory and {sorted(self.in_files)} in its files")


def expanded(secret, label, count):
    """HKDF-Expand-Label of TLS 1.3, without a context."""
    kind = "sha384" if len(secret) == 48 else "sha256"
    label = b"tls13 " + label
    info = struct.pack(">H", count) + bytes([len(label)]) + label + b"\0"
    return hmac.new(secret, info + b"\1", kind).digest()[:count]


def tls_secrets(path):
    """The secrets of all connections in a key log, with the keys and initialisation vectors made of them."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines()):
        if line.startswith("#"):
            continue
        name, _, text = line.split()
        secret = bytes.fromhex(text)
        found[f"{name} {number}"] = secret
        if "TRAFFIC" in name:
            found[f"{name} {number} key"] = expanded(secret, b"key", 32)
            found[f"{name} {number} vector"] = expanded(secret, b"iv", 12)
    return found


def link_secrets(link):
    """The secret of a join link, as bytes and as text."""
    text = re.search(r"secret=([\w-]{22})", link)[1]
    secret = base64.urlsafe_b64decode(text + "==")
    return {"secret": secret, "text": text.encode(), "hex": secret.hex().encode()}


def unpaired(world):
    hub, kiosk = world.hub(), world.kiosk()
    link = link_of(hub)
    secrets = link_secrets(link)
    require(Traces(hub, secrets).in_memory.get("secret") == 1, "the search does not find the secret of an open link")
    join(kiosk, link)
    until(lambda: hub.linked() == 1 and kiosk.linked() == 1, 20, "the link")
    Traces(kiosk, secrets).require_none("after the join")
    # A device whose TLS tells its secrets.
    identity, log = Identity(world.workspace, 0), world.workspace / "keys.log"
    identity.context.keylog_filename = str(log)
    peer = Peer(hub, identity, "peer").pair()
    app = App(hub, APP, receives=True)
    stream = peer.link([APP])
    app.until_reachable(pairing=peer.pairing)
    tls = tls_secrets(log)
    live = Traces(hub, tls).in_memory
    require(any("TRAFFIC_SECRET_0" in name for name in live), "the search does not find the secrets of a live link")
    for daemon, name in ((hub, "kiosk"), (hub, "peer"), (kiosk, "hub")):
        daemon.done("unpair", name, "--yes")
    until(lambda: not hub.linked(), 10, "the end of the links")
    stream.close()
    app.query("budget", pairing=bytes(16))
    # Its text was shown to the operator, and is no longer in use: it goes as that memory is used again.
    left = Traces(hub, secrets)
    left.require_none("after unpair", printed=("text",))
    Traces(kiosk, secrets).require_none("after unpair")
    Traces(hub, tls).require_none("after unpair")
    return (f"nothing of the link's secret and of {len(tls)} secrets and keys of TLS, of which {len(live)} were there "
            f"before; {left.in_memory.get('text', 0)} copies of the link's text in free memory")


CASES = (
    Case("9a", "unpair leaves no secret of a pairing", unpaired, is_short=False, needs_root=True),
)
