"""Accounts: each user, app and device pays for what it makes a daemon keep (LIM-4 to LIM-6, LIM-47 to LIM-52)."""
import collections
import contextlib
import ssl
import struct
import time

from apps import (
    ZERO, App, Counterpart, Refused, Template, body_of, described, facts_of, install, new_identifier)
from case import Case, mebibytes
from daemons import CaseFailure, require, until
from frames import encode
from peers import Identity, Link, Peer, identities

APP = "org.example.hostile"
MIB = 1024  # in KiB, as the kernel tells memory
SHARE_OF_UNREAD = 32 * MIB  # LIM-47 of LIM-48: the only user of a resource gets half of it
SHARE_OF_ANNOUNCED = 16 * MIB  # LIM-47 of LIM-51
SHARE_OF_BEGUN = 8 * MIB  # LIM-47 of LIM-70
BEGUN_OF_EACH = 16  # LIM-70: so much of a frame is not counted
OF_A_USER = 64 * MIB  # LIM-70: its shares of LIM-48, LIM-51 and LIM-70, with 512 begun frames
UNREAD_LINKS = 64 * MIB  # LIM-49
KEPT_OF_EACH_LINK = 64  # LIM-49
CONNECTION = 16  # what one connection may cost beside what waits for it: its state and a frame that has begun
SLACK = 16 * MIB  # the store's cache, pages that the allocator keeps
APPS_OF_A_DEVICE = 256 * 4 * 16  # LIM-11 and LIM-38: the queues of 256 applications, with what waits in them
DISK_OF_APPS = 64 * MIB  # the same, and what the log keeps of it
REQUESTS_OF_A_USER = 65_536 // 8  # LIM-53: half of 131,072, of 128 bytes each
LINKED_HELLO = 4 * 128  # LIM-52: unlinked connections of one pin, payload of each


class Watch:
    """How far a daemon's memory rises from here, at its highest."""

    def __init__(self, daemon):
        self.daemon = daemon
        # The peak begins again at what there is. A daemon's files in /proc are root's, since it forbids dumps; another
        # user measures from the start's peak, which is a few MiB.
        with contextlib.suppress(PermissionError), open(f"/proc/{daemon.program.pid}/clear_refs", "w") as peak:
            peak.write("5")
        self.before = daemon.memory()

    def require(self, bound):
        grown = self.daemon.peak() - self.before
        require(grown <= bound, f"the memory grew by {mebibytes(grown)}, at most {mebibytes(bound)} are allowed")
        return f"peak +{mebibytes(grown)} of at most +{mebibytes(bound)}"

    def back(self, seconds=10, rest=8 * MIB):
        """Until the memory has come back to what it was, but for a rest."""
        began = time.monotonic()
        try:
            until(lambda: self.daemon.memory() <= self.before + rest, seconds, "")
        except CaseFailure:
            raise CaseFailure(
                f"{seconds} s after the burst the memory is {mebibytes(self.daemon.memory())}, "
                f"before it was {mebibytes(self.before)}") from None
        return f"back after {time.monotonic() - began:.1f} s"


def require_alive(*daemons):
    for daemon in daemons:
        require(daemon.runs, f"{daemon.name} is gone")
        daemon.done("status")


def unread(world):
    """Connections of one app that never read, and each new context is for all of them."""
    count, contexts = (300, 8) if world.short else (1000, 17)
    hub, kiosk, _ = world.pair()
    install(kiosk, APP)
    writer = App(hub, APP, capabilities=["message", "userInfo", "context"])
    writer.until_installed()
    reader = Counterpart(App(hub, APP))
    watch = Watch(hub)
    idle = []
    for _ in range(count):
        try:
            idle.append(App(hub, APP))
        except (Refused, OSError):
            break
    for _ in range(contexts):
        writer.accepted(writer.submit("context", body_of(250_000, world.random)))
    require_alive(hub)
    text = watch.require(SHARE_OF_UNREAD + len(idle) * CONNECTION + SLACK)
    until(lambda: reader.contexts and reader.contexts[-1][1] == contexts, 10, "the last context for who reads")
    require(reader.failure is None, f"the connection that reads was closed: {reader.failure}")
    reader.stop()
    return f"{len(idle)} connections, {contexts} contexts; {text}"


def announced(world):
    """Ten apps that announce files and never send their bytes."""
    files = 100 if world.short else 400
    hub, kiosk, _ = world.pair()
    install(kiosk, *(f"{APP}.{number}" for number in range(10)))
    watch = Watch(hub)
    connections, refused = [], set()
    for number in range(10):
        app = App(hub, f"{APP}.{number}")
        connections.append(app)
        app.until_installed()
        announce(world, app, app.pairing, files)
    for app in connections:
        app.query("outstanding", channel="file", pairing=app.pairing, body={"after": 0})
        failures = [envelope for envelope in app.kept if envelope["kind"] == "failure"]
        refused.update((each["code"], each.get("name"), facts_of(each).get("retry")) for each in failures)
    require(refused, "none of the files was refused")
    require(all(name == "queue-full" for _, name, _ in refused), f"refused as {sorted(refused, key=str)}")
    require_alive(hub)
    text = watch.require(SHARE_OF_ANNOUNCED + SLACK)
    return f"{10 * files} files of 60 kB announced; {text}"


def stuck_apps(world):
    """A broadcast to the apps of a simulator's secondaries, none of which reads."""
    count, messages = (60, 80) if world.short else (200, 120)
    hub, *secondaries = world.simulator(count)
    stuck = [App(secondary, APP, receives=True) for secondary in secondaries]
    sender = App(hub, APP, receives=True)
    watch = Watch(hub)
    sent = broadcast(world, sender, messages)
    require_alive(hub)
    text = watch.require(SHARE_OF_UNREAD + count * CONNECTION + SLACK)
    return f"{sent} messages of 64 kB to {len(stuck)} apps; {text}"


def broadcast(world, sender, messages):
    """So many broadcasts of nearly the largest body; the answer to a query behind them says that they were taken."""
    template = Template(kind="message", app=APP, pairing=ZERO, body=body_of(64_000, world.random))
    for _ in range(messages):
        sender.write(template.new())
        sender.rest()
        sender.kept.clear()
    sender.query("budget", seconds=30, pairing=ZERO)
    return messages


def stuck_devices(world):
    """The same to paired devices that stop reading their links."""
    count, messages = (24, 80) if world.short else (200, 120)
    hub = world.hub()
    peers = [Peer(hub, identity, f"peer-{n}").pair() for n, identity in enumerate(identities(world.workspace, count))]
    sender = App(hub, APP, receives=True)
    links = [peer.link([APP], receive_buffer=8192) for peer in peers]
    until(lambda: hub.linked() == count, 20, f"{count} links")
    watch = Watch(hub)
    sent = broadcast(world, sender, messages)
    require_alive(hub)
    text = watch.require(UNREAD_LINKS + count * (KEPT_OF_EACH_LINK + CONNECTION) + SLACK)
    for link in links:
        link.close()
    return f"{sent} messages of 64 kB to {count} devices; {text}"


def returned(world):
    """Memory of a burst comes back although nobody connects: after devices that did not read, and after files."""
    hub = world.hub()
    peers = [Peer(hub, identity, f"peer-{n}").pair() for n, identity in enumerate(identities(world.workspace, 24))]
    sender = App(hub, APP, receives=True)
    links = [peer.link([APP], receive_buffer=8192) for peer in peers]
    until(lambda: hub.linked() == len(peers), 20, "all links")
    watch, told = Watch(hub), []
    for burst in range(2):
        if burst == 0:
            broadcast(world, sender, 80)
            for link in links:
                link.close()
            name = "unread links"
        else:
            pairing = sender.until_installed(pairing=peers[0].pairing)
            for _ in range(2):
                apps = [App(hub, APP) for _ in range(4)]
                for app in apps:
                    announce(world, app, pairing, 60)
                    app.query("budget", pairing=pairing, seconds=30)
                for app in apps:
                    app.close()
            name = "announced files"
        peak = hub.peak() - watch.before
        require(peak > MIB, f"{name} took nothing, so nothing was shown")
        told.append(f"{name}: +{mebibytes(peak)}, {watch.back()}")
        watch = Watch(hub)
    return "; ".join(told)


def announce(world, app, pairing, files):
    """So many files of 60 kB of metadata, of which no byte follows."""
    template = Template(
        kind="submit", app=app.app, pairing=pairing, channel="file",
        body=encode({"name": "never.bin", "size": 1 << 20, "metadata": {"m": world.random.randbytes(60_000)}}))
    for _ in range(files):
        app.write(template.new())
        app.rest()


def crowd(daemon, uid, name=None):
    """All connections that one user gets, and the first answer that it gets instead."""
    connections = []
    while len(connections) < 1100:
        try:
            app = name and name.format(len(connections))
            connections.append(App(daemon, app, uid=uid))
        except Refused as refusal:
            return connections, str(refusal)
        except OSError as error:
            return connections, type(error).__name__
    return connections, "nothing"


def places(world):
    """One user takes all connections and all identifiers that it gets; others and the operator find room."""
    greedy, other = 65_001, 65_002
    hub = world.hub()
    first, refusal = crowd(hub, greedy)
    require("too-many-connections" in refusal, f"after {len(first)} connections the user got {refusal}")
    require(len(first) <= 512, f"one user got {len(first)} of 1,024 connections")
    second, _ = crowd(hub, other)
    require(len(second) >= 128, f"another user got {len(second)} connections")
    began = time.monotonic()
    require_alive(hub)
    status = time.monotonic() - began
    third = App(hub, f"{APP}.third", uid=65_003)
    require(third.registration["uid"] == 65_003, "the third user is another one")
    for connection in (*first, *second, third):
        connection.close()
    until(lambda: hub.descriptors() < 200, 10, "closing what has left")
    named, refusal = crowd(hub, greedy, APP + ".{}")
    require("too-many-applications" in refusal, f"after {len(named)} applications the user got {refusal}")
    require(len(named) <= 128, f"one user got {len(named)} of 256 application identifiers")
    App(hub, f"{APP}.fourth", uid=other).close()
    App(hub, f"{APP}.fifth").close()
    return (f"{len(first)} and {len(second)} connections, {len(named)} identifiers of one user; "
            f"status in {status * 1000:.0f} ms beside them")


def operator(world):
    """The daemon's own user takes every connection; a command still finds a place (LIM-5)."""
    hub = world.hub()
    taken, refusal = crowd(hub, None, APP)
    require("too-many-connections" in refusal, f"after {len(taken)} connections the user got {refusal}")
    began = time.monotonic()
    require_alive(hub)
    return f"{len(taken)} connections of the daemon's user; status in {(time.monotonic() - began) * 1000:.0f} ms"


def hellos(world):
    """One paired device opens connection after connection, each with most of a hello."""
    count = 150 if world.short else 1000
    hub, kiosk, _ = world.pair()
    peer = Peer(hub, Identity(world.workspace, 0), "greedy").pair()
    watch = Watch(hub)
    before = hub.descriptors()
    hello = struct.pack(">I", 127 * 1024) + bytes(126 * 1024)
    connections, most = [], 0
    for number in range(count):
        link = None
        try:
            link = Link(peer.identity, hub.ports[0])
            link.write(hello)
        except (OSError, ssl.SSLError):
            pass
        if link:
            connections.append(link)
        if number % 50 == 49:
            most = max(most, hub.descriptors() - before)
    require_alive(hub, kiosk)
    require(most <= 64, f"the daemon kept {most} connections of one device that are no links")
    require(hub.linked() >= 1, "the other device's link is gone")
    text = watch.require(LINKED_HELLO + 64 * CONNECTION + SLACK)
    for link in connections:
        link.close()
    return f"{count} connections, {most} open at most; {text}"


def unfinished(world):
    """One user's connections with frames that have begun and do not end."""
    count = 400
    hub = world.hub()
    watch = Watch(hub)
    part = struct.pack(">I", 512 * 1024) + bytes(500 * 1024)
    connections = []
    for _ in range(count):
        try:
            app = App(hub, APP, uid=65_001)
            connections.append(app)
            app.write(part)
        except (Refused, OSError):
            continue
    require_alive(hub)
    text = watch.require(SHARE_OF_BEGUN + count * (BEGUN_OF_EACH + CONNECTION) + SLACK)
    return f"{count} connections with 500 kB of a frame each; {text}"


def together(world):
    """One user's bytes of every kind at once: contexts that nobody reads, files that are announced, unfinished frames."""
    hub, kiosk, _ = world.pair()
    names = APP, f"{APP}.files"
    install(kiosk, *names)
    # Another app: this one would get the contexts, and not read them either.
    writer, announcer = (App(hub, name) for name in names)
    for app in (writer, announcer):
        app.until_installed()
    watch = Watch(hub)
    connections = [App(hub, APP) for _ in range(40)]
    for _ in range(17):
        writer.accepted(writer.submit("context", body_of(250_000, world.random)))
    announce(world, announcer, announcer.pairing, 400)
    for size in [15 * 1024] * 360 + [430 * 1024] * 80:
        try:
            connections.append(App(hub, APP))
            connections[-1].write(struct.pack(">I", 512 * 1024) + bytes(size))
        except (Refused, OSError):
            continue
    require_alive(hub, kiosk)
    # Twice the slack: at the peak some of it is on its way from one kind to the next.
    return f"{len(connections)} connections; {watch.require(OF_A_USER + len(connections) * CONNECTION + 2 * SLACK)}"


def named(world):
    """A paired device that names ever new apps in each kind of frame."""
    count = 300 if world.short else 5000
    hub, kiosk, _ = world.pair()
    peer = Peer(hub, Identity(world.workspace, 0), "greedy").pair()
    watch, before = Watch(hub), disk(hub)
    common = {"pairing": peer.pairing, "channel": "userInfo", "sequence": 1}
    frames = (
        {"kind": "item", "body": encode({"n": 1}), "remaining": 3_600_000, **common},
        {"kind": "gap", "name": "lost", **common}, {"kind": "outcomeAck", **common},
        {"kind": "item", "body": body_of(20_000, world.random), "revision": 1, **common, "channel": "context"},
        {"kind": "item", "body": encode({"name": "x", "size": 1 << 30, "digest": bytes(32)}), **common,
         "channel": "file"},
        {"kind": "fetch", "pairing": peer.pairing, "channel": "file", "offset": 0},
        {"kind": "message", "pairing": peer.pairing, "reply": True, "deadline": 600_000, "body": encode({"n": 1})},
        {"kind": "application", "body": encode({"installed": True, "connected": True, "anchored": False})})
    link = peer.link()
    for keys in frames:
        identified = keys["kind"] in ("item", "fetch", "message")
        try:
            for number in range(count):
                link.send(app=f"{APP}.{number}", **keys, **({"id": new_identifier()} if identified else {}))
                if number % 100 == 0:
                    link.rest()
                    link.kept.clear()
            link.send(kind="ping", id=new_identifier())
            link.next("pong")
        except (Refused, OSError):
            link.close()
            link = peer.link()
    require_alive(hub, kiosk)
    until(lambda: hub.linked() == 2, 10, "both devices' links")
    grown = (disk(hub) - before) // 1024
    require(grown <= DISK_OF_APPS, f"the state directory grew by {mebibytes(grown)}")
    text = watch.require(APPS_OF_A_DEVICE + SLACK)
    return f"{count} apps named in each of {len(frames)} frames; {text}, disk +{mebibytes(grown)}"


def disk(daemon):
    """Bytes in a daemon's state directory."""
    return sum(path.stat().st_size for path in daemon.state.rglob("*") if path.is_file())


def requested(world):
    """One user's requests that nobody answers, and another user's beside them (LIM-7, LIM-53)."""
    connections, each = 80, 1100
    greedy, other = 65_001, 65_002
    hub, kiosk, _ = world.pair()
    silent, echo = App(kiosk, APP, receives=True), Counterpart(App(kiosk, f"{APP}.other", receives=True))
    world.beside(swallow, silent.stream)
    app = App(hub, f"{APP}.other", receives=True, uid=other)
    first = App(hub, APP, uid=greedy)
    app.until_reachable()
    template = Template(kind="message", app=APP, pairing=first.until_reachable(), reply=True, deadline=600_000,
                        body=encode({"n": 1}))
    watch, refused, asking = Watch(hub), collections.Counter(), []
    for _ in range(connections):
        asker = App(hub, APP, uid=greedy)
        asking.append(asker)
        for _ in range(each // 50):
            asker.write(b"".join(template.new() for _ in range(50)))
        refused.update(envelope.get("name") for envelope in asker.rest() if envelope["kind"] == "failure")
    answer, seconds = app.ask(encode({"n": 1}))
    require(answer["kind"] == "reply", f"another user's request ended as {described(answer)}")
    require(echo.failure is None, f"the counterpart ended: {echo.failure}")
    # LIM-53: a request that waits takes some 128 bytes in either daemon.
    text = watch.require(REQUESTS_OF_A_USER + SLACK)
    return (f"{connections * each} requests, refused: {dict(refused)}; "
            f"another's answered in {seconds * 1000:.0f} ms; {text}")


def swallow(stream):
    """Reads all that comes and answers nothing."""
    stream.settimeout(None)
    while stream.recv(1 << 20):
        pass


CASES = (
    Case("1a", "connections that never read, and contexts for each", unread),
    Case("1b", "files announced and never sent", announced),
    Case("1c", "a broadcast to apps that do not read", stuck_apps),
    Case("1d", "a broadcast to devices that do not read", stuck_devices, is_short=False),
    Case("1e", "memory comes back after a burst", returned, is_short=False),
    Case("1f", "one user takes all connections and identifiers", places, needs_root=True),
    Case("1g", "the daemon's user takes all connections", operator),
    Case("1h", "one device's connections and unfinished hellos", hellos, needs_root=True),
    Case("1i", "one user's unfinished frames", unfinished, needs_root=True),
    Case("1j", "a device that names ever new apps", named),
    Case("1l", "one user's bytes of every kind at once", together),
    Case("1k", "one user's requests without an answer beside another's", requested, is_short=False, needs_root=True),
)
