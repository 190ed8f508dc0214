"""Traffic of the soak: what each side sends, and whether all of it arrived."""
import hashlib
import pathlib
import signal
import sys
import threading
import time

from apps import App, Refused, described, facts_of, new_identifier, sent_file
from daemons import CaseFailure, Program
from frames import ProtocolError, encode

APP = "org.example.soak"
ROUND = 0.1  # seconds
CONTEXT_EVERY, FILE_EVERY = 10, 50  # rounds
SMALL, FILE = 200, 20_000  # bytes
AT_ONCE = 512  # items of one question (LIM-40)
AWAY = 120  # seconds after which a daemon that takes no connection counts as lost
LOST = (OSError, Refused, ProtocolError, CaseFailure)
CHANNELS = ("userInfo", "context", "file")


class Disturbances:
    """Disturbances that the soak makes: `with` one while it lasts. A failure counts only in a quiet time."""

    SETTLING = 10  # seconds

    def __init__(self):
        self.running, self.ended = 0, time.monotonic()

    def __enter__(self):
        self.running += 1

    def __exit__(self, *_):
        self.ended = time.monotonic()
        self.running -= 1

    def quiet_since(self, began):
        return not self.running and began - self.ended > self.SETTLING


class Sender(threading.Thread):
    """The sending half of one side's app. An item that was not answered is submitted again under its identifier, so
    that the numbers of each channel are those of accepted items, without a hole."""

    def __init__(self, daemon, pairing, disturbances, random):
        super().__init__(daemon=True)
        self.daemon_of, self.pairing, self.disturbances, self.random = daemon, pairing, disturbances, random
        self.connection, self.failure = None, None
        self.sent = dict.fromkeys(CHANNELS, 0)
        self.due, self.ends = {}, {}  # channels of the items whose end is due, by identifier; their ends
        self.elsewhere = set()  # items whose end another connection of the app has acknowledged
        self.rounds = self.replies = self.failures = self.unreachable = self.repeated = 0
        self.problems = []
        self.pauses = self.rests = self.finishes = False

    def run(self):
        try:
            while not self.finishes:
                began = time.monotonic()
                if not self.pauses:
                    self.play()
                self.listen()
                self.rests = self.pauses
                time.sleep(max(0, began + ROUND - time.monotonic()))
        except Exception as error:  # a thread's failure has to reach the verdict
            self.failure = f"{type(error).__name__}: {error}"

    def play(self):
        self.rounds += 1
        self.place("userInfo")
        if self.rounds % CONTEXT_EVERY == 0:
            self.place("context")
        if self.rounds % FILE_EVERY == 0:
            self.place("file")
        self.ask()

    def connected(self):
        deadline = time.monotonic() + AWAY
        while self.connection is None:
            try:
                connection = App(self.daemon_of, APP)
                self.subscribe(connection)
                self.connection = connection
            except LOST as error:
                if time.monotonic() > deadline:
                    raise CaseFailure(f"{self.daemon_of.name} takes no app: {error}") from error
                time.sleep(0.2)
        return self.connection

    def subscribe(self, connection):
        """A process names on each new connection what it waits for (SES-56)."""
        known = self.ends.keys() | self.elsewhere
        for channel in ("userInfo", "file"):
            waiting = [bytes.fromhex(one) for one, of in self.due.items() if of == channel and one not in known]
            for start in range(0, len(waiting), AT_ONCE):
                body = {"items": waiting[start:start + AT_ONCE]}
                answer = connection.query("subscribe", body=body, pairing=self.pairing, channel=channel)
                self.elsewhere |= {unknown.hex() for unknown in facts_of(answer).get("unknown", [])}

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def place(self, channel):
        """Submits the channel's next item until it is accepted."""
        self.sent[channel] += 1
        identifier, number, data = new_identifier(), self.sent[channel], self.random.randbytes(SMALL)
        if channel != "context":
            self.due[identifier.hex()] = channel
        if channel == "file":
            data = self.random.randbytes(FILE)
        while not self.is_accepted(channel, identifier, number, data):
            self.repeated += 1
            self.leave()
            time.sleep(0.2)

    def is_accepted(self, channel, identifier, number, data):
        began = time.monotonic()
        connection = self.connected()
        try:
            if channel == "file":
                metadata = {"n": number, "digest": hashlib.sha256(data).digest()}
                sent_file(connection, data, "soak.bin", self.pairing, identifier, metadata)
            else:
                body = encode({"n": number, "d": data})
                connection.accepted(connection.submit(channel, body, self.pairing, identifier))
            return True
        except LOST as error:
            if self.disturbances.quiet_since(began):
                self.problems.append(f"{channel} {number} of {self.daemon_of.name}: {error}")
            return False

    def ask(self):
        """A message, if its counterpart is reachable; the answer has the message's number."""
        began = time.monotonic()
        try:
            connection = self.connected()
            entry = connection.entry(self.pairing)
            if not entry or entry["level"] != "immediate":
                self.unreachable += 1
                return
            answer, _ = connection.ask(encode({"n": self.rounds}), 10, self.pairing)
        except LOST as error:
            self.fail(began, f"{type(error).__name__} {error}")
            self.leave()
            return
        if answer["kind"] != "reply":
            self.fail(began, described(answer))
        elif facts_of(answer) != {"n": self.rounds}:
            self.problems.append(f"message {self.rounds} of {self.daemon_of.name}: another one's reply")
        else:
            self.replies += 1

    def fail(self, began, text):
        self.failures += 1
        if self.disturbances.quiet_since(began):
            self.problems.append(f"message {self.rounds} of {self.daemon_of.name}: {text}")

    def listen(self):
        """Acknowledges the outcomes that have come; of the rest only the last state matters."""
        try:
            connection = self.connected()
            for envelope in connection.rest():
                if envelope["kind"] == "finished":
                    self.ends[envelope["id"].hex()] = envelope["name"]
                    connection.send(kind="finishedAck", app=APP, pairing=envelope["pairing"], id=envelope["id"],
                                    channel=envelope["channel"])
            connection.kept = [envelope for envelope in connection.kept if envelope["kind"] == "state"][-1:]
        except LOST:
            self.leave()


class Receiver:
    """The receiving half: receiver.py and its journal, which outlives its processes."""

    def __init__(self, world, daemon):
        self.world, self.daemon_of = world, daemon
        self.journal = world.workspace / f"{daemon.name}.journal"
        self.starts = 0
        self.start()

    def start(self):
        self.starts += 1
        self.program = self.world.starts(Program(
            [sys.executable, pathlib.Path(__file__).with_name("receiver.py"), self.daemon_of.socket, APP, self.journal],
            self.world.workspace / f"{self.daemon_of.name}-app.log"))

    def kill(self):
        self.program.end(signal.SIGKILL)

    def rows(self):
        text = self.journal.read_text() if self.journal.exists() else ""
        return [line.split() for line in text.splitlines()]

    def ends(self):
        return {words[1]: words[2] for words in self.rows() if words[0] == "end"}


def missing(sender, receiver, own):
    """What this sender's counterpart has not got yet, and outcomes that are due; empty if nothing is."""
    last = dict.fromkeys(CHANNELS, 0)
    for channel, number, *_ in receiver.rows():
        if channel in last:
            last[channel] = int(number)
    ends = own.ends() | sender.ends
    lacking = [f"{channel} {last[channel]} of {count}" for channel, count in sender.sent.items()
               if last[channel] != count]
    open_ends = len(sender.due.keys() - ends.keys())
    return lacking + ([f"{open_ends} ends"] if open_ends else [])


def disorder(sender, receiver, own, restarts):
    """Each way in which items came otherwise than once and in order. A repetition is allowed of the last item only, if
    it is marked as one: its handler may have been killed before its verdict (DEL-11)."""
    last, again, found = dict.fromkeys(CHANNELS, 0), dict.fromkeys(CHANNELS, 0), []
    name = receiver.daemon_of.name
    for channel, *words in receiver.rows():
        if channel == "end":
            continue
        number, attempt = map(int, words)
        if number == last[channel] and attempt > 1:
            again[channel] += 1
        elif number == last[channel] + 1 or (channel == "context" and number > last[channel]):
            last[channel] = number
        else:
            found.append(f"{name} got {channel} {number} (attempt {attempt}) behind {last[channel]}")
            last[channel] = max(number, last[channel])
    found += [f"{name} got {channel} again {count} times in {receiver.starts} starts of its app and {restarts} restarts"
              for channel, count in again.items() if count > receiver.starts + restarts]
    ends = own.ends() | sender.ends
    others = {end for identifier, end in ends.items() if identifier in sender.due} - {"handled"}
    return found + [f"items of {sender.daemon_of.name} ended as {end}" for end in sorted(others)]
