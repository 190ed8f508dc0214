"""Mutants of the verdict `later`: counted, final, at once, too early, or never again."""
from mutant import SECONDARY, Mutant

ACTIVE = "SES-88: an item of the active pairing"
ANOTHER = "SES-88: an item of another pairing"
CHOSEN = "SES-88: an item that its app puts off comes when"


class PutOffs(Mutant):
    """A mutant that remembers what it has delivered, and what the app has put off on which connection."""
    clause = "SES-88"

    def __init__(self, place):
        super().__init__(place)
        self.delivered, self.put_off = {}, {}

    def to_app(self, frame, line):
        if frame["kind"] != "delivery":
            yield frame
            return
        self.delivered[frame["id"]] = frame
        if (again := self.again(frame, line)) is not None:
            yield again

    def to_daemon(self, frame, line):
        if frame["kind"] != "verdict" or frame["name"] != "later":
            yield frame
            return
        self.put_off.setdefault(frame["id"], line)
        if (verdict := self.verdict(frame, line)) is not None:
            yield verdict

    def again(self, frame, line):
        """The delivery that the app gets; None for none."""
        return frame

    def verdict(self, frame, line):
        """The verdict that the daemon gets; None for none."""
        return frame


class LaterCounted(PutOffs):
    """counts an item that its app puts off as an attempt"""
    judges, side = ACTIVE, SECONDARY

    def verdict(self, frame, line):
        return frame | {"name": "failed"}


class LaterHandled(PutOffs):
    """takes an item that its app puts off for handled"""
    judges, side = ACTIVE, SECONDARY

    def verdict(self, frame, line):
        return frame | {"name": "handled"}


class LaterAtOnce(PutOffs):
    """delivers an item that its app puts off again at once"""
    clause, judges, side = "DEL-12", ACTIVE, SECONDARY

    def verdict(self, frame, line):
        line.to_app(self.delivered[frame["id"]])


class LaterTooEarly(PutOffs):
    """delivers an item that its app puts off again before its pairing is the active one"""
    judges = ANOTHER
    PAUSE = 0.5  # seconds

    def verdict(self, frame, line):
        line.later(self.PAUSE, lambda: line.to_app(self.delivered[frame["id"]]))


class LaterMarked(PutOffs):
    """marks an item that its app has put off as one that comes again"""
    judges = ANOTHER

    def again(self, frame, line):
        return frame | {"attempt": 2} if frame["id"] in self.put_off else frame


class LaterLost(PutOffs):
    """delivers to no later connection what its app has put off"""
    judges = ANOTHER

    def again(self, frame, line):
        return frame if self.put_off.get(frame["id"], line) is line else None


class LaterStays(PutOffs):
    """does not deliver what its app has put off when the pairing becomes the active one"""
    judges = CHOSEN

    def again(self, frame, line):
        return None if self.put_off.get(frame["id"]) is line else frame
