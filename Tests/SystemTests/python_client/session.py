"""A host app's session with its daemon (Protocol/Session.md): hello, registration, messages and their replies."""
import socket
import time
import uuid

from frames import BODY_LIMIT, ProtocolError, decode, encode, frame, read_envelope

CAPABILITIES = ["message", "messageData", "configuration"]  # SES-3


class Refused(Exception):
    """The daemon refused this connection (SES-21)."""


class Failed(Exception):
    """A message failed (SES-20)."""

    def __init__(self, code, name, text):
        super().__init__(f"{code} {name or ''}: {text}")
        self.code = code


class Session:
    """One connection of one application. Everything that waits does so until a deadline in monotonic seconds."""

    def __init__(self, path, app, receives, timeout):
        self.app = app
        self.registration = {}  # SES-6: device, role, directory, uid
        self.situation = {}  # SES-7
        self.messages = []  # arrived and not yet taken
        self.deadline = time.monotonic() + timeout
        self.stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stream.settimeout(timeout)
        self.stream.connect(path)
        self._hello()
        self._register(receives)

    def _hello(self):  # SES-1, SES-2
        body = {"minimum": 1, "maximum": 1, "capabilities": CAPABILITIES, "software": "python-client 1"}
        self._send(kind="hello", body=encode(body))
        answer = decode(self._next("hello")["body"])
        if answer["version"] != 1:
            raise ProtocolError(f"version {answer['version']} was not offered")
        self.capabilities = [name for name in answer["capabilities"] if name in CAPABILITIES]

    def _register(self, receives):  # SES-5, SES-6
        self._send(kind="register", app=self.app, body=encode({"receives": receives}))
        self.registration = decode(self._next("registered")["body"])
        self.situation = self.registration  # it has the keys of a state, too

    def _send(self, **envelope):
        self.stream.sendall(frame(**envelope))

    def _read(self):
        """The next frame, after what every frame of its kind does here has been done."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time is over")
        self.stream.settimeout(left)
        envelope = read_envelope(self.stream)
        match envelope["kind"]:
            case "ping":  # SES-17
                self._send(kind="pong", id=envelope.get("id"))
            case "refusal":
                text = decode(envelope["body"]).get("text", "") if "body" in envelope else ""
                raise Refused(f"{envelope['name']}: {text}")
            case "bye":
                raise ConnectionError(f"the daemon said goodbye: {envelope.get('name', 'stopping')}")
            case "state":  # SES-7: replaces the one before, so that an absent key is known to be absent
                self.situation = decode(envelope["body"])
            case "message" | "messageData" | "configuration":
                self.messages.append(envelope)
        return envelope

    def _next(self, kind):
        """The frame that must come now, while nothing else may (SES-1, SES-5)."""
        while (envelope := self._read())["kind"] != kind:
            if envelope["kind"] != "ping":
                raise ProtocolError(f"{envelope['kind']} instead of {kind}")
        return envelope

    def active(self):
        """The active pairing, a dictionary as SES-7 describes; None if there is none."""
        identifier = self.situation.get("active")
        return next((entry for entry in self.situation["pairings"] if entry["pairing"] == identifier), None)

    def wait_until_reachable(self):
        while (pairing := self.active()) is None or pairing["level"] != "immediate":
            self._read()
        return pairing["pairing"]

    def ask(self, content):
        """Sends a message to the counterpart and returns its reply (SES-8, SES-9)."""
        body, identifier = encode(content), uuid.uuid4().bytes
        if len(body) > BODY_LIMIT:
            raise Failed(7009, "", f"a message of {len(body)} bytes is larger than {BODY_LIMIT}")
        pairing = self.wait_until_reachable()
        left = max(1, min(600_000, int((self.deadline - time.monotonic()) * 1000)))  # LIM-8
        self._send(
            kind="message", app=self.app, pairing=pairing, id=identifier, reply=True, deadline=left, body=body)
        while True:
            envelope = self._read()
            if envelope.get("id") != identifier:
                continue
            if envelope["kind"] == "failure":
                facts = decode(envelope["body"]) if "body" in envelope else {}
                raise Failed(envelope["code"], envelope.get("name"), facts.get("text", ""))
            if envelope["kind"] == "reply":
                return decode(envelope["body"])

    def receive(self, reply):
        """The next message's dictionary; answered with `reply` if an answer is wanted and there is one."""
        while True:
            while not self.messages:
                self._read()
            envelope = self.messages.pop(0)
            if envelope["kind"] == "message":
                self._answer(envelope, reply)
                return decode(envelope["body"])
            self._decline(envelope)

    def _answer(self, message, reply):
        if not message.get("reply", False):
            return
        if reply is None:
            self._decline(message)
        else:
            self._send(kind="reply", app=self.app, pairing=message["pairing"], id=message["id"], body=encode(reply))

    def _decline(self, message):  # SES-12: nothing here takes it
        self._send(
            kind="failure", app=self.app, pairing=message["pairing"], id=message["id"], code=7014, name="unhandled",
            body=encode({"text": "this client has no handler for it"}))

    def close(self):
        self._send(kind="bye")
        self.stream.close()
