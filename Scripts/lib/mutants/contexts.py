"""Mutants of contexts: old ones, others, none, and contexts that a restart has taken away."""
from mutant import SECONDARY, Invents, Mutant, ToApp, body_of, with_body

NEWEST = "SES-52: the newest context"
EMPTY = "SES-52: an empty context"


class ContextStale(Invents):
    """delivers the context before once more, after the newer one"""
    clause, judges, side = "DEL-20", NEWEST, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.last = None

    def to_app(self, frame, line):
        yield frame
        if frame["kind"] == "delivery" and frame["channel"] == "context":
            if self.last:
                yield self.invented(self.last)
            self.last = frame


class RevisionStands(Mutant):
    """accepts each context under the same revision"""
    clause, judges = "DEL-19", NEWEST

    def to_app(self, frame, line):
        yield frame | {"revision": 1} if frame["kind"] == "accepted" and "revision" in frame else frame


class SameContextSent(Mutant):
    """sends a context whose bytes are those of the last one"""
    clause, judges = "SES-48", "SES-48: a context with the bytes"

    def to_daemon(self, frame, line):
        is_context = frame["kind"] == "submit" and frame["channel"] == "context"
        yield frame | {"name": "always"} if is_context else frame


class ContextMisread(ToApp):
    """adds a key to a context"""
    clause, judges, side, is_short, kind = "DEL-20", EMPTY, SECONDARY, True, "context"

    def changed(self, frame):
        return with_body(frame, more=True)


class SentContextUntold(ToApp):
    """does not tell an app which context it has sent"""
    clause, judges, kind = "SES-52", EMPTY, "context"

    def changed(self, frame):
        return frame if frame["name"] != "sent" else None


class EmptyContextUntold(ToApp):
    """takes an empty context for none"""
    clause, judges, side, kind = "DEL-19", EMPTY, SECONDARY, "context"

    def changed(self, frame):
        return frame if body_of(frame) else None


class FailedContextAgain(Mutant):
    """gives a context again that its handler has failed at, although a newer one waits"""
    clause, judges, side = "DEL-20", "DEL-20: a context that its handler fails at", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.delivered = {}

    def to_app(self, frame, line):
        if frame["kind"] == "delivery":
            self.delivered[frame["id"]] = frame
        yield frame

    def to_daemon(self, frame, line):
        if frame["kind"] == "verdict" and frame["channel"] == "context" and frame["name"] == "failed":
            line.to_app(self.delivered[frame["id"]] | {"attempt": 2})
        else:
            yield frame


class RestartForgetsContexts(Mutant):
    """forgets at a restart which context it has received"""
    clause, judges, side = "SES-52", "SES-52: contexts are told again", SECONDARY

    def to_app(self, frame, line):
        if not self.place.is_restart or frame["kind"] != "context" or frame["name"] != "received":
            yield frame
