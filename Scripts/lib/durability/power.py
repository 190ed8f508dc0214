"""The power fails between any two syncs of a daemon's files: its store, its spool and its apps' inboxes. The next start
has each item and file that had been acknowledged, in order and whole, and nothing half (DEL-1, DEL-3, FIL-4).
"""
import hashlib
import signal
import time
import uuid

from apps import App, Refused, digest_of, new_identifier, sent_file
from case import Case
from daemons import CaseFailure, Daemon, require
from disk import EVERYTHING, NOTHING, SOME, Disk, recorder
from frames import decode, encode

APP = "org.example.power"
CHANNELS = ("userInfo", "context", "file")
BURSTS, FEW = 40, 6
PATIENCE = 20  # seconds
QUIET = 0.3  # seconds in which a second delivery of an item would have come


class Submitted:
    """The items of a run in their order, and when each was acknowledged."""

    def __init__(self):
        self.bodies = {}  # of each item, by its identifier: its channel and its body, of a file its digest
        self.times = {}

    def add(self, identifier, channel, body):
        self.bodies[identifier] = channel, body

    def acknowledge(self, identifier):
        self.times.setdefault(identifier, time.time())

    def before(self, moment, channel):
        """The items of a channel that had been acknowledged then, in their order."""
        return [identifier for identifier, (of, _) in self.bodies.items()
                if of == channel and self.times.get(identifier, moment + 1) < moment]

    def check(self, found, moment):
        """`found` has what is there: channel, identifier and body, in the order in which it came."""
        for channel, identifier, body in found:
            is_whole = self.bodies.get(identifier) == (channel, body)
            require(is_whole, f"{channel} {identifier.hex()} is not what was sent")
        order = list(self.bodies)
        for channel in CHANNELS:
            there = [identifier for of, identifier, _ in found if of == channel]
            places = [order.index(identifier) for identifier in there]
            require(places == sorted(set(places)), f"{channel}s came in another order, or twice")
            wanted = self.before(moment, channel)
            if channel == "context":
                # A newer one takes its place, acknowledged or not.
                lost = wanted and (not places or places[-1] < order.index(wanted[-1]))
                require(not lost, "an acknowledged context is lost, and all newer ones")
            else:
                lost = [identifier.hex() for identifier in wanted if identifier not in there]
                require(not lost, f"{len(lost)} of {len(wanted)} acknowledged {channel}s are lost: {lost[:3]}")


def submit(world, app, pairing, heard):
    """Bursts of user infos, as a busy app makes them, with a context and a file between them. `heard` is called for
    each with its identifier once the app has its `accepted`."""
    random, submitted = world.random, Submitted()
    for number in range(FEW if world.short else BURSTS):
        burst = []
        for _ in range(random.randint(1, 5)):
            body = encode({"n": number, "d": random.randbytes(random.choice((100, 3000, 9000)))})
            identifier = new_identifier()
            submitted.add(identifier, "userInfo", body)
            burst.append(app.submit("userInfo", body, pairing, identifier))
        if number % 3 == 1:
            body, identifier = encode({"n": number, "d": random.randbytes(2000)}), new_identifier()
            submitted.add(identifier, "context", body)
            burst.append(app.submit("context", body, pairing, identifier))
        for identifier in burst:
            app.accepted(identifier)
            heard(submitted, identifier)
        if number % 4 == 2:
            data, identifier = random.randbytes(random.choice((2_000, 70_000, 300_000))), new_identifier()
            submitted.add(identifier, "file", hashlib.sha256(data).digest())
            sent_file(app, data, f"file-{number}", pairing, identifier)
            heard(submitted, identifier)
    return submitted


class Recording:
    """A daemon whose calls are recorded, from a start of its own on."""

    def __init__(self, world, daemon):
        daemon.stop()
        self.world, self.daemon, self.prefix = world, daemon, world.workspace / f"{daemon.name}.trace"
        self.disk = Disk(daemon.state)
        daemon.wrapper = recorder(self.prefix)
        daemon.start()

    def stop(self):
        self.daemon.stop(signal.SIGKILL)
        self.daemon.wrapper = ()

    def check_points(self, submitted, contents):
        """Lets the power fail once between any two syncs, and at the end; starts a daemon on what is left, and
        compares. A sync's beginning and its end are two events: what it covers is not there between them."""
        events, random = self.disk.events(self.prefix), self.world.random
        syncs = [place for place, event in enumerate(events) if event.is_sync]
        points = {random.randint(one + 1, two) for one, two in zip(syncs, syncs[1:])}
        counts = dict.fromkeys((NOTHING, SOME, EVERYTHING), 0)
        items = 0
        for place, event in enumerate(events):
            if place in points:
                survival = random.choice(list(counts))
                counts[survival] += 1
                items += self.check(submitted, contents, event.moment, survival, f"event {place} of {len(events)}")
            event.play()
        items += self.check(submitted, contents, time.time(), NOTHING, "the end")
        told = ", ".join(f"{name} left in {count}" for name, count in counts.items())
        return (f"{len(points) + 1} power failures around {len(syncs) // 2} syncs; changes that no sync covered: "
                f"{told}; {items:,} acknowledged items: all there, in order, whole")

    def check(self, submitted, contents, moment, survival, where):
        daemon = Daemon(self.world, "image", self.daemon.role, *self.daemon.options)
        self.disk.lay(daemon.state, survival, self.world.random)
        daemon.log.unlink(missing_ok=True)
        try:
            daemon.start()
            submitted.check(contents(daemon, submitted, moment), moment)
        except (CaseFailure, OSError, Refused) as error:
            raise CaseFailure(f"{where}, {survival} of what no sync had covered: {error}") from error
        finally:
            daemon.stop(signal.SIGKILL)
            self.world.programs.remove(daemon.program)
        return sum(len(submitted.before(moment, channel)) for channel in CHANNELS)


def scene(world):
    """A pair whose apps know each other, with the app that submits."""
    hub, kiosk, _ = world.pair()
    hub.keep_port()
    App(kiosk, APP, receives=True).close()
    app = App(hub, APP)
    pairing = app.until_installed()
    app.close()
    return hub, kiosk, pairing


def sender(world):
    """The primary, whose secondary is away: each accepted item waits."""
    hub, kiosk, pairing = scene(world)
    kiosk.stop()
    recording = Recording(world, hub)
    app = App(hub, APP)
    submitted = submit(world, app, pairing, Submitted.acknowledge)
    recording.stop()

    def waiting(daemon, *_):
        found, connection = [], App(daemon, APP)
        try:
            for channel in CHANNELS:
                found += outstanding(daemon, connection, pairing, channel)
        finally:
            connection.close()
        return found
    return recording.check_points(submitted, waiting)


def outstanding(daemon, connection, pairing, channel):
    found, after = [], 0
    while True:
        envelope = connection.query("outstanding", channel=channel, pairing=pairing, body={"after": after})
        answer = decode(envelope["body"])
        found += [(channel, item["id"], item["body"]) for item in answer["items"]]
        if "more" not in answer or not answer["items"]:
            break
        after = answer["more"]
    return [(channel, item, spooled(daemon, item)) for _, item, _ in found] if channel == "file" else found


def spooled(daemon, identifier):
    """The digest of an item's file on the spool."""
    name = str(uuid.UUID(bytes=identifier)).upper()
    files = list((daemon.state / "spool").rglob(name))
    require(len(files) == 1, f"file {name} is {len(files)} times on the spool")
    return digest_of(files[0])


def receiver(world):
    """The secondary, whose app is away: each item that its primary knows as stored waits. No context
    counts as stored here: contexts are tested to be whole and in order, and the loss of one is not seen."""
    hub, kiosk, pairing = scene(world)
    recording = Recording(world, kiosk)
    app = App(hub, APP)
    app.until_installed()

    def stored(submitted, identifier):
        channel, _ = submitted.bodies[identifier]
        if channel != "context":
            app.next("progress", PATIENCE, id=identifier, name="stored")
            submitted.acknowledge(identifier)
    submitted = submit(world, app, pairing, stored)
    recording.stop()
    hub.stop()

    def delivered(daemon, submitted, moment):
        wanted = {item for channel in CHANNELS for item in submitted.before(moment, channel)}
        found, connection, deadline = [], App(daemon, APP, receives=True), time.monotonic() + PATIENCE
        early, connection.kept = connection.kept, []
        try:
            # All of them, and what comes behind them.
            while True:
                try:
                    envelope = early.pop(0) if early else connection.read(
                        deadline - time.monotonic() if wanted else QUIET)
                except TimeoutError:
                    return found
                if envelope["kind"] == "delivery":
                    found.append(taken(connection, envelope))
                    wanted.discard(envelope["id"])
        finally:
            connection.close()
    return recording.check_points(submitted, delivered)


def taken(connection, envelope):
    """A delivery, which is answered."""
    channel, body = envelope["channel"], envelope["body"]
    if channel == "file":
        body = digest_of(decode(body)["path"])
    connection.handle(envelope)
    return channel, envelope["id"], body


CASES = (
    Case("P1", "the power of a device fails that has accepted items and files", sender, needs_root=True),
    Case("P2", "the power of a device fails that has stored items and files for an app", receiver, needs_root=True),
)
