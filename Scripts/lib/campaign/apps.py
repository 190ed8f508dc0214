"""Host apps that may do everything wrong: they speak Protocol/Frames.md and Session.md on a local socket, no faster,
slower or more politely than a case wants. The frames are those of the system tests' Python client.
"""
import contextlib
import grp
import hashlib
import os
import select
import socket
import threading
import time
import uuid

from daemons import GROUP, CaseFailure, require
from frames import decode, encode, frame, read_envelope

CAPABILITIES = ["message", "messageData", "configuration", "context", "userInfo", "urgent", "file", "topic"]
CHUNK, CHUNKS_AHEAD = 65_536, 8  # LIM-28, LIM-39
ZERO = bytes(16)
ANSWERS = ("reply", "failure", "accepted", "answer", "result")


class Refused(Exception):
    """The daemon refused this connection."""


@contextlib.contextmanager
def user(uid):
    """Within, sockets that this process dials are this user's."""
    if uid is None:
        yield
        return
    os.setegid(grp.getgrnam(GROUP).gr_gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def new_identifier():
    return uuid.uuid4().bytes


def body_of(count, random):
    """A dictionary whose property list has about so many bytes."""
    return encode({"n": random.getrandbits(60), "d": random.randbytes(max(0, count - 60))})


class Template:
    """A frame that is written once and sent with ever new identifiers."""

    MARK = b"\x7ftandem-hostile\x7f"

    def __init__(self, **envelope):
        self.head, self.tail = frame(id=self.MARK, **envelope).split(self.MARK)

    def new(self, identifier=None):
        return self.head + (identifier or new_identifier()) + self.tail


class Stream:
    """Frames over a connected socket. `kept` has those that were read on the way to another."""

    def __init__(self, stream):
        self.stream = stream
        self.kept = []
        self.sending = threading.Lock()

    def send(self, **envelope):
        self.write(frame(**envelope))

    def write(self, data):
        with self.sending:
            self.stream.settimeout(30)
            self.stream.sendall(data)

    def read(self, seconds=10):
        """The next frame; a `ping` is answered, a `refusal` is raised."""
        deadline = time.monotonic() + seconds
        while True:
            self.await_bytes(deadline)
            envelope = read_envelope(self.stream)
            if envelope["kind"] == "ping":
                self.send(kind="pong", id=envelope.get("id"))
            elif envelope["kind"] == "refusal":
                facts = decode(envelope["body"]) if "body" in envelope else {}
                raise Refused(f"{envelope['name']}: {facts.get('text', '')}")
            else:
                return envelope

    def await_bytes(self, deadline):
        pending = getattr(self.stream, "pending", None)
        if not (pending and pending()):
            poll = select.poll()
            poll.register(self.stream, select.POLLIN)
            if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
                raise TimeoutError("no frame came in time")
        self.stream.settimeout(max(1, deadline - time.monotonic()))

    def next(self, kind, seconds=10, **wanted):
        """The next frame of a kind with these values; others are kept."""
        def fits(envelope):
            return envelope["kind"] == kind and all(envelope.get(key) == value for key, value in wanted.items())
        for index, envelope in enumerate(self.kept):
            if fits(envelope):
                return self.kept.pop(index)
        deadline = time.monotonic() + seconds
        try:
            while not fits(envelope := self.read(deadline - time.monotonic())):
                self.kept.append(envelope)
        except TimeoutError as error:
            raise CaseFailure(f"no {kind} came within {seconds} s") from error
        return envelope

    def answer_to(self, identifier, seconds=10):
        """The frame that ends a request or a submission."""
        deadline = time.monotonic() + seconds
        def ends(envelope):
            return envelope.get("id") == identifier and envelope["kind"] in ANSWERS
        while True:
            for index, envelope in enumerate(self.kept):
                if ends(envelope):
                    return self.kept.pop(index)
            try:
                self.kept.append(self.read(deadline - time.monotonic()))
            except TimeoutError as error:
                raise CaseFailure(f"no answer came within {seconds} s") from error

    def rest(self):
        """All that has arrived."""
        try:
            while True:
                self.kept.append(self.read(0))
        except TimeoutError:
            return self.kept

    def close(self):
        self.stream.close()


class App(Stream):
    """A registered connection of a host app; without an app one for control requests."""

    def __init__(self, daemon, app, receives=False, uid=None, capabilities=None, **declared):
        with user(uid):
            stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                stream.settimeout(10)
                stream.connect(daemon.socket)
            except BaseException:
                stream.close()
                raise
        super().__init__(stream)
        self.app = app
        self.capabilities = CAPABILITIES if capabilities is None else capabilities
        try:
            hello = {"minimum": 1, "maximum": 1, "capabilities": self.capabilities, "software": "hostile 1"}
            self.send(kind="hello", body=encode(hello))
            if app:
                self.send(kind="register", app=app, body=encode({"receives": receives, **declared}))
            self.greeting = decode(self.next("hello")["body"])
            self.registration = decode(self.next("registered")["body"]) if app else None
        except BaseException:
            self.close()
            raise

    @property
    def pairing(self):
        """The identifier of the active pairing."""
        return self.situation()["active"]

    def situation(self):
        states = [decode(envelope["body"]) for envelope in self.kept if envelope["kind"] == "state"]
        return states[-1] if states else self.registration

    def entry(self, pairing=None):
        situation = self.situation()
        wanted = pairing or situation.get("active")
        return next((entry for entry in situation["pairings"] if entry["pairing"] == wanted), None)

    def until_reachable(self, seconds=20, pairing=None):
        self.rest()
        deadline = time.monotonic() + seconds
        while (entry := self.entry(pairing)) is None or entry["level"] != "immediate":
            self.await_state(deadline, "the counterpart is not reachable")
        return entry["pairing"]

    def until_installed(self, seconds=20, pairing=None):
        deadline = time.monotonic() + seconds
        while (entry := self.entry(pairing)) is None or not entry.get("installed"):
            self.await_state(deadline, "the counterpart is not installed")
        return entry["pairing"]

    def await_state(self, deadline, text):
        try:
            self.kept.append(self.read(deadline - time.monotonic()))
        except TimeoutError as error:
            raise CaseFailure(f"{text} in time: {self.entry()}") from error

    def ask(self, body, seconds=30, pairing=None, kind="message"):
        """Sends a request; its answer and the seconds that it took."""
        identifier = new_identifier()
        began = time.monotonic()
        self.send(kind=kind, app=self.app, pairing=pairing or self.pairing, id=identifier, reply=True,
                  deadline=int(seconds * 1000), body=body)
        return self.answer_to(identifier, seconds + 5), time.monotonic() - began

    def submit(self, channel, body, pairing=None, identifier=None, **keys):
        """Submits an item; its identifier."""
        identifier = identifier or new_identifier()
        self.send(kind="submit", app=self.app, pairing=pairing or self.pairing, id=identifier, channel=channel,
                  body=body, **keys)
        return identifier

    def accepted(self, identifier, seconds=30):
        answer = self.answer_to(identifier, seconds)
        require(answer["kind"] == "accepted", f"a submission ended as {described(answer)}")
        return answer

    def handle(self, delivery, name="handled"):
        """Answers a delivery with its verdict."""
        keys = {key: delivery[key] for key in ("app", "pairing", "id", "channel")}
        self.send(kind="verdict", name=name, **keys)

    def query(self, command, seconds=10, body=None, **keys):
        identifier = new_identifier()
        self.send(kind="query", app=self.app, id=identifier, command=command, body=encode(body or {}), **keys)
        return self.answer_to(identifier, seconds)


def install(daemon, *names, uid=None):
    """Registers apps with a daemon, so that their counterparts know that they are there."""
    for name in names:
        App(daemon, name, receives=True, uid=uid).close()


def sent_file(app, data, name="hostile.bin", pairing=None, identifier=None, metadata=None):
    """Hands a file over by the rules of Protocol/Files.md, up to `accepted`; its identifier."""
    body = {"name": name, "size": len(data)} | ({"metadata": metadata} if metadata else {})
    pairing = pairing or app.pairing
    identifier = app.submit("file", encode(body), pairing, identifier)
    sent = 0
    while True:
        envelope = app.read(30)
        if envelope.get("id") != identifier:
            app.kept.append(envelope)
        elif envelope["kind"] == "accepted":
            return identifier
        elif envelope["kind"] == "failure":
            raise CaseFailure(f"the file ended as {described(envelope)}")
        elif envelope["kind"] == "progress" and envelope["name"] == "taking":
            while sent < len(data) and sent < envelope["offset"] + CHUNKS_AHEAD * CHUNK:
                app.send(kind="chunk", app=app.app, pairing=pairing, id=identifier, channel="file", offset=sent,
                         body=data[sent:sent + CHUNK])
                sent += CHUNK
        else:
            app.kept.append(envelope)


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def described(envelope):
    """One short text of a failure or another answer."""
    facts = {}
    with contextlib.suppress(Exception):
        facts = decode(envelope["body"])
    facts = {key: value for key, value in facts.items() if not isinstance(value, bytes)}
    parts = (envelope["kind"], envelope.get("code"), envelope.get("name"), facts)
    return " ".join(str(part) for part in parts if part)


def facts_of(envelope):
    return decode(envelope["body"]) if "body" in envelope else {}


class Counterpart(threading.Thread):
    """An app that receives: it answers each request, handles each item, and remembers the identifiers of both."""

    def __init__(self, connection, replies=True, verdict="handled"):
        super().__init__(daemon=True)
        self.connection, self.replies, self.verdict = connection, replies, verdict
        self.requests, self.items, self.contexts, self.attempts = [], [], [], []
        self.failure = None
        self.ends = False
        self.start()

    def run(self):
        try:
            while not self.ends:
                with contextlib.suppress(TimeoutError):
                    self.take(self.connection.read(0.2))
        except (OSError, ValueError, Refused) as error:
            self.failure = None if self.ends else f"{type(error).__name__} {error}"

    def take(self, envelope):
        app, pairing, identifier = (envelope.get(key) for key in ("app", "pairing", "id"))
        match envelope["kind"]:
            case "message" | "messageData":
                self.requests.append(identifier)
                if envelope.get("reply") and self.replies:
                    self.connection.send(
                        kind="reply", app=app, pairing=pairing, id=identifier, body=encode({"is": "here"}))
            case "delivery":
                self.items.append(identifier)
                self.attempts.append(envelope["attempt"])
                self.connection.handle(envelope, self.verdict)
            case "context":
                self.contexts.append((envelope["name"], envelope["revision"], len(envelope["body"])))

    def stop(self):
        self.ends = True
        self.join(5)
        self.connection.close()
