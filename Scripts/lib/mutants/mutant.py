"""The form of a mutant: a daemon that keeps every clause but one. It is a correct daemon behind proxy.py, which hands
the mutant each frame on the way.
"""
import uuid

from frames import decode, encode

PRIMARY, SECONDARY = "primary", "secondary"


class Mutant:
    """A subclass says what it breaks in its docstring; `clause` is where Protocol forbids it, `judges` the cases of the
    conformance suite that must notice: those whose description contains the text.

    Each proxy process has one object for all of its connections. A mutant MUST NOT change a frame in place: the proxy
    forwards the original bytes of a frame that comes back as the same object.
    """
    clause, judges = "", ""
    side = PRIMARY
    is_short = False

    def __init__(self, place):
        self.place = place

    def to_app(self, frame, line):
        """The frames that go to the app instead of this one of the daemon."""
        yield frame

    def to_daemon(self, frame, line):
        """The frames that go to the daemon instead of this one of the app."""
        yield frame

    def beyond(self, header):
        """The bytes that go to the daemon instead of a header whose length no frame may have (FRM-2)."""
        return header

    @classmethod
    def text(cls):
        return f"{cls.clause}: {' '.join(cls.__doc__.split())}"


class Faithful(Mutant):
    """changes nothing"""


# Forms of mutants.


class ToApp(Mutant):
    """A mutant that changes or drops some frames on the way to the app, usually those of one kind."""
    kind = ""

    def to_app(self, frame, line):
        if not self.is_meant(frame):
            yield frame
        elif changed := self.changed(frame):
            yield changed

    def is_meant(self, frame):
        return frame["kind"] == self.kind

    def changed(self, frame):
        """The frame that the app gets; None for none."""
        return None


class Misrouted(Mutant):
    """A mutant that sends frames of some kinds to the device after the one that their app has said."""
    kinds = ()

    def __init__(self, place):
        super().__init__(place)
        self.pairings, self.detours = [], Detours("pairing")

    def to_app(self, frame, line):
        if frame["kind"] in ("registered", "state"):
            self.pairings = [entry["pairing"] for entry in body_of(frame)["pairings"]]
        yield self.detours.undone(frame)

    def to_daemon(self, frame, line):
        if frame["kind"] in self.kinds and frame["pairing"] in self.pairings:
            following = self.pairings.index(frame["pairing"]) + 1
            frame = self.detours.detoured(frame, pairing=self.pairings[following % len(self.pairings)])
        yield frame


class Invents(Mutant):
    """A mutant with deliveries of its own, whose verdicts no daemon may see."""

    def __init__(self, place):
        super().__init__(place)
        self.made = set()

    def invented(self, frame, **values):
        """The delivery as another one, with these values."""
        again = frame | {"id": uuid.uuid4().bytes} | values
        self.made.add(again["id"])
        return again

    def to_daemon(self, frame, line):
        if frame["kind"] != "verdict" or frame["id"] not in self.made:
            yield frame


# Parts of mutants.


class Every:
    """True at each n-th call, the n-th first."""

    def __init__(self, count):
        self.count, self.seen = count, 0

    def __call__(self):
        self.seen += 1
        return self.seen % self.count == 0


class Held:
    """One frame that waits for another to pass it, and no longer than that if none comes."""
    LONGEST = 0.2  # seconds

    def __init__(self):
        self.frame = None

    def hold(self, frame, send, line):
        """Sends the frame by itself if nobody has taken it in time."""
        self.frame = frame
        line.later(self.LONGEST, lambda: send(self.take()) if self.frame is frame else None)

    def take(self):
        frame, self.frame = self.frame, None
        return frame


class Detours:
    """Keys of frames about an item or a request that an app and its daemon are to see differently, by its `id`."""

    def __init__(self, *keys):
        self.keys = keys
        self.originals = {}

    def detoured(self, frame, **values):
        self.originals[values.get("id", frame["id"])] = {key: frame[key] for key in ("id", *self.keys)}
        return frame | values

    def undone(self, frame):
        """The frame as the other end knows it."""
        original = self.originals.get(frame.get("id"))
        return frame | {key: value for key, value in original.items() if key in frame} if original else frame


def without(frame, *keys):
    return {key: value for key, value in frame.items() if key not in keys}


def body_of(frame):
    return decode(frame["body"])


def with_body(frame, **values):
    """The frame with these values in its body; None takes a key away."""
    body = body_of(frame) | values
    return frame | {"body": encode({key: value for key, value in body.items() if value is not None})}


def about(frame, kind, **values):
    """A frame of that kind about the item of another one."""
    subject = {key: frame[key] for key in ("app", "pairing", "id", "channel")}
    return {"kind": kind} | subject | values


def is_control(frame, command):
    return frame["kind"] == "control" and frame["command"] == command


def answered(frame, **body):
    """The result of a control request that no daemon has seen."""
    return {"kind": "result", "id": frame["id"], "command": frame["command"], "code": 0, "body": encode(body)}
