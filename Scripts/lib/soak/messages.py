"""A count of messages over many pairs: one hub and so many secondaries, each linked over TLS, with one app on all of
them. Half of the messages go from the hub to the secondaries and half the other way. Each carries its way, its pair and
its number, both in its identifier and in its body. It must arrive once, at the app of its own pair, and be answered
once.
"""
import collections
import multiprocessing
import os
import select
import struct
import time

from apps import App, described
from case import Case
from daemons import join, link_of, require, until
from frames import decode, encode, frame

APP = "org.example.count"
OPEN, OPEN_AT_ONE_APP = 16, 1000  # requests of one connection without an answer; of all at the hub's app (LIM-7)
DEADLINE = 600_000  # milliseconds
SILENCE = 60  # seconds without an answer, after which all others count as lost
QUIET = 0.5  # seconds in which a second copy would have come: a link's round trip is far below
READY = 60
DOWN, UP = 0, 1  # from the hub to a secondary; from a secondary to the hub
PIECE = 1 << 18
MARK, NUMBERED = b"\x7fidentifier-mark", b"\x7fthe-number-mark"
NUMBER = struct.Struct(">IIQ")  # way, pair, number
IDENTIFIER = struct.Struct(">QII")  # number, pair, way


class Form:
    """Frames that differ in their identifier and in the number in their body only: a million of them are made and read
    without a property list. All other bytes must be as they were sent (SES-1)."""

    def __init__(self, kind, pairing, **keys):
        data = frame(kind=kind, app=APP, pairing=pairing, id=MARK, body=encode({"is": NUMBERED}), **keys)
        self.size, self.id, self.body = len(data), data.index(MARK), data.index(NUMBERED)
        one, two = sorted((self.id, self.body))
        self.head, self.between, self.tail = data[:one], data[one + 16:two], data[two + 16:]
        self.one, self.two = one, two

    def new(self, way, pair, number):
        one, two = IDENTIFIER.pack(number, pair, way), NUMBER.pack(way, pair, number)
        if self.body < self.id:
            one, two = two, one
        return b"".join((self.head, one, self.between, two, self.tail))

    def read(self, data):
        """Way, pair and number of a frame of this form; None of every other frame."""
        one, two = self.one, self.two
        if len(data) != self.size or data[:one] != self.head or data[one + 16:two] != self.between \
                or data[two + 16:] != self.tail:
            return None
        way, pair, number = NUMBER.unpack_from(data, self.body)
        return (way, pair, number) if data[self.id:self.id + 16] == IDENTIFIER.pack(number, pair, way) else None


class Tally:
    """How often each number was seen, by way and pair; and what should not have been seen."""

    def __init__(self):
        self.seen = collections.defaultdict(bytearray)
        self.strange = collections.Counter()

    def add(self, way, pair, number):
        """Whether it is the first of its number."""
        seen = self.seen[way, pair]
        if number >= len(seen):
            seen.extend(bytes(number + 1024 - len(seen)))
        seen[number] = min(255, seen[number] + 1)
        return seen[number] == 1

    def told(self, wanted):
        """How many of the wanted numbers never came, how many came more than once, and a count of everything else.
        `wanted` has the count for each way and pair.
        """
        lost = sum(count - sum(map(bool, self.seen[key][:count])) for key, count in wanted.items())
        doubled = sum(number > 1 for seen in self.seen.values() for number in seen)
        beyond = sum(sum(map(bool, seen[wanted.get(key, 0):])) for key, seen in self.seen.items())
        return lost, doubled, collections.Counter({"of no request": beyond}) + self.strange


class Connection:
    """One app's connection: whole frames of what has come, and their answers in one write."""

    def __init__(self, app):
        self.app, self.stream, self.came = app, app.stream, b""
        app.kept.clear()

    def read(self):
        """The frames that have come whole."""
        data = self.came + self.stream.recv(PIECE)
        require(len(data) > len(self.came), "a daemon closed an app's connection")
        place, end = 0, len(data)
        while end - place >= 4 and end - place - 4 >= (size := int.from_bytes(data[place:place + 4], "big")):
            yield data[place:place + 4 + size]
            place += 4 + size
        self.came = data[place:]

    def take(self, data, tally):
        """A frame of another form. Beside news of the daemon there should be none."""
        envelope = decode(data[4:])
        if envelope["kind"] == "ping":
            self.app.send(kind="pong", id=envelope.get("id"))
        elif envelope["kind"] not in ("state", "pong"):
            tally.strange[described(envelope)] += 1


class Asker(Connection):
    """Sends the messages of one way of one pair, and counts their answers."""

    def __init__(self, app, way, pair, pairing, count, window):
        super().__init__(app)
        self.way, self.pair, self.count, self.window, self.sent, self.open = way, pair, count, window, 0, 0
        self.asks = Form("message", pairing, reply=True, deadline=DEADLINE)
        self.replies = Form("reply", pairing)

    def serve(self, tally):
        for data in self.read():
            if (found := self.replies.read(data)) is None:
                self.take(data, tally)
            elif found[:2] != (self.way, self.pair):
                tally.strange["answers of another pair"] += 1
            elif tally.add(*found):
                self.open -= 1
        self.fill()

    def fill(self):
        more = min(self.window - self.open, self.count - self.sent)
        if more >= self.window / 2 or more == self.count - self.sent > 0:
            numbers = range(self.sent, self.sent + more)
            self.app.write(b"".join(self.asks.new(self.way, self.pair, number) for number in numbers))
            self.sent += more
            self.open += more

    @property
    def is_done(self):
        return self.sent == self.count and not self.open


class Answerer(Connection):
    """The receiving app of one daemon, whose pairs these are: answers each message with the pair it came by."""

    def __init__(self, app, way, pairings):
        super().__init__(app)
        self.way, self.pairings = way, pairings
        self.asks = {pair: Form("message", pairing, reply=True, deadline=DEADLINE)
                     for pair, pairing in pairings.items()}
        self.replies = {pair: Form("reply", pairing) for pair, pairing in pairings.items()}
        # All forms have their number at the same place.
        self.body = next(iter(self.asks.values())).body

    def serve(self, tally):
        answers = []
        for data in self.read():
            pair = int.from_bytes(data[self.body + 4:self.body + 8], "big")
            found = self.asks[pair].read(data) if pair in self.asks else None
            if found is None:
                self.take(data, tally)
            elif found[0] != self.way:
                tally.strange["messages of another app"] += 1
            else:
                tally.add(*found)
                answers.append(self.replies[pair].new(*found))
        if answers:
            self.app.write(b"".join(answers))


def ask(connections, answer):
    """Serves until each message is answered and no second answer follows for QUIET, or nothing comes for SILENCE.
    Sends its tally and when the last frame came."""
    tally, poll, last = Tally(), select.epoll(), time.monotonic()
    streams = {connection.stream.fileno(): connection for connection in connections if not connection.is_done}
    for descriptor, connection in streams.items():
        poll.register(descriptor, select.EPOLLIN)
        connection.fill()
    waiting = set(streams)
    while events := poll.poll(SILENCE if waiting else QUIET):
        last = time.monotonic()
        for descriptor, _ in events:
            streams[descriptor].serve(tally)
            if streams[descriptor].is_done:
                waiting.discard(descriptor)
    answer.send((tally, last))


def reply(connections, stop, answer):
    """Serves until it is told to stop, and nothing comes for QUIET."""
    tally, poll, ends = Tally(), select.epoll(), False
    poll.register(stop.fileno(), select.EPOLLIN)
    streams = {connection.stream.fileno(): connection for connection in connections}
    for descriptor in streams:
        poll.register(descriptor, select.EPOLLIN)
    while (events := poll.poll(QUIET if ends else None)) or not ends:
        for descriptor, _ in events:
            if descriptor in streams:
                streams[descriptor].serve(tally)
            else:
                poll.unregister(stop.fileno())
                ends = True
    answer.send(tally)


class Scene:
    """A hub and its secondaries, with an app on each; the first half of the connections asks, the other answers."""

    def __init__(self, world, pairs, count):
        self.hub = world.hub()
        self.kiosks = [world.kiosk(f"kiosk-{number}") for number in range(pairs)]
        for kiosk in self.kiosks:
            join(kiosk, link_of(self.hub))
        until(lambda: self.hub.linked() == pairs, READY, f"{pairs} links")
        names = {row["name"]: row["pairing"] for row in self.hub.status()["pairings"]}
        pairings = {pair: names[kiosk.name] for pair, kiosk in enumerate(self.kiosks)}
        receivers = [App(daemon, APP, receives=True) for daemon in (self.hub, *self.kiosks)]
        ways = [(way, pair) for way in (DOWN, UP) for pair in pairings]
        self.wanted = {key: count // len(ways) + (place < count % len(ways)) for place, key in enumerate(ways)}
        self.askers, window = [], max(1, min(OPEN, OPEN_AT_ONE_APP // pairs))
        for (way, pair), each in self.wanted.items():
            app = App(self.hub if way == DOWN else self.kiosks[pair], APP)
            app.until_reachable(READY, pairings[pair])
            self.askers.append(Asker(app, way, pair, pairings[pair], each, window))
        self.answerers = [Answerer(receivers[0], UP, pairings)]
        self.answerers += [Answerer(receivers[pair + 1], DOWN, {pair: pairings[pair]}) for pair in pairings]


def exchange(world, pairs, count):
    scene = Scene(world, pairs, count)
    (asked, asked_end), (replied, replied_end), (stop, stop_end) = (multiprocessing.Pipe() for _ in range(3))
    answering = world.beside(reply, scene.answerers, stop_end, replied_end)
    began = time.monotonic()
    asking = world.beside(ask, scene.askers, asked_end)
    answered, ended = received(asked, asking)
    stop.send(None)
    return {"arrived": received(replied, answering), "answered": answered}, scene.wanted, ended - began


def received(end, beside):
    """The tally that a process sends when it ends."""
    while not end.poll(1):
        # It may have sent and ended since.
        require(beside.process.is_alive() or end.poll(), "a process that counts has failed")
    return end.recv()


def run(world):
    """Plays SOAK_COUNT messages over SOAK_PAIRS pairs; the outcome in one line."""
    count, pairs = int(os.environ["SOAK_COUNT"]), int(os.environ["SOAK_PAIRS"])
    tallies, wanted, seconds = exchange(world, pairs, count)
    told, holds = [], True
    for name in ("arrived", "answered"):
        lost, doubled, strange = tallies[name].told(wanted)
        told.append(f"{name}: {count - lost:,} of {count:,} there, {lost} lost, {doubled} doubled, "
                    f"{strange.total()} elsewhere")
        if strange:
            told[-1] += f" ({', '.join(f'{number} {text}' for text, number in strange.most_common(5))})"
        holds = holds and not (lost or doubled or strange)
    text = f"{count:,} messages over {pairs} pairs, both ways; {'; '.join(told)}; {count / seconds:,.0f} a second"
    require(holds, text)
    return text


CASES = [Case("K2", "each message arrives at its own counterpart and is answered, once", run)]
