"""Mutants of lengths: what is too long for a frame, a body, a text or a list is awaited, cut, taken, or ends too much."""
from frames import BODY_LIMIT, FRAME_LIMIT
from mutant import SECONDARY, Mutant, about, body_of, with_body

HEADERS = "FRM-2: a length that no frame"
MESSAGE = "LIM-2: a message that is too large"
REPLY = "SES-68: a reply that is too large"
DESCRIPTION = "SES-27: texts and lists"
MESSAGES = ("message", "messageData")
TEXT_LIMIT, LIST_LIMIT = 128, 512  # LIM-37, LIM-40


class LongFrameAwaited(Mutant):
    """waits for the payload of a frame that is too long"""
    clause, judges = "FRM-2", HEADERS

    def beyond(self, header):
        return b""


class LongFrameMisnamed(Mutant):
    """calls a length that no frame may have malformed"""
    clause, judges = "SES-21", HEADERS

    def to_app(self, frame, line):
        is_meant = frame["kind"] == "refusal" and frame["name"] == "too-large"
        yield frame | {"name": "malformed"} if is_meant else frame


class LargestFrameRefused(Mutant):
    """refuses a frame of the largest size"""
    clause, judges = "LIM-1", "LIM-1: a frame of the largest"

    def to_daemon(self, frame, line):
        if sum(len(value) for value in frame.values() if isinstance(value, bytes)) > FRAME_LIMIT - 1024:
            line.to_app({"kind": "refusal", "name": "too-large"})
        else:
            yield frame


class BodiesCut(Mutant):
    """A mutant that cuts what is too long to the limit."""
    kinds = ()

    def to_daemon(self, frame, line):
        is_long = frame["kind"] in self.kinds and len(frame["body"]) > BODY_LIMIT
        yield frame | {"body": frame["body"][:BODY_LIMIT]} if is_long else frame


class LongMessageCut(BodiesCut):
    """cuts a message that is too large"""
    clause, judges, kinds = "LIM-2", MESSAGE, MESSAGES


class LongReplyCut(BodiesCut):
    """cuts a reply that is too large"""
    clause, judges, side, kinds = "SES-68", REPLY, SECONDARY, ("reply",)


class LongMessageEndsConnection(Mutant):
    """refuses the connection of an app whose message is too large"""
    clause, judges = "SES-68", MESSAGE

    def to_app(self, frame, line):
        if frame["kind"] == "failure" and frame.get("name") == "too-large":
            yield {"kind": "refusal", "name": "too-large"}
            line.end()
        else:
            yield frame


class LongMessageUnsized(Mutant):
    """does not say how large a message was that is too large"""
    clause, judges = "SES-68", MESSAGE

    def to_app(self, frame, line):
        is_meant = frame["kind"] == "failure" and frame.get("name") == "too-large"
        yield with_body(frame, actual=None, limit=None) if is_meant else frame


class LongReplyUnreachable(Mutant):
    """says of a reply that is too large that its sender cannot be reached"""
    clause, judges = "SES-68", REPLY

    def to_app(self, frame, line):
        is_meant = frame["kind"] == "failure" and frame.get("name") == "reply-too-large"
        yield frame | {"code": 7007, "name": "no-link"} if is_meant else frame


class PaddingUncounted(Mutant):
    """takes a message whose keys that nobody reads are too long, and loses them"""
    clause, judges = "SES-68", "SES-68: keys that nobody reads"

    def to_daemon(self, frame, line):
        changed = {key: value for key, value in frame.items() if not key.startswith("x-")}
        yield frame if len(changed) == len(frame) else changed


class LongItemAccepted(Mutant):
    """accepts an item that is too large"""
    clause, judges = "LIM-2", "LIM-2: an item that is too large"

    def to_daemon(self, frame, line):
        is_long = frame["kind"] == "submit" and frame["channel"] != "context" and len(frame["body"]) > BODY_LIMIT
        if is_long:
            line.to_app(about(frame, "accepted"))
        else:
            yield frame


class LongKindCut(Mutant):
    """cuts an urgent item's kind that is too long"""
    clause, judges = "SES-48", DESCRIPTION

    def to_daemon(self, frame, line):
        is_long = frame["kind"] == "submit" and len(frame.get("name", "")) > TEXT_LIMIT
        yield frame | {"name": frame["name"][:TEXT_LIMIT]} if is_long else frame


class LongListCut(Mutant):
    """subscribes to the first items of a list that is too long"""
    clause, judges = "LIM-40", DESCRIPTION

    def to_daemon(self, frame, line):
        if frame["kind"] == "query" and frame["command"] == "subscribe":
            items = body_of(frame)["items"]
            if len(items) > LIST_LIMIT:
                frame = with_body(frame, items=items[:LIST_LIMIT])
        yield frame


class LongTopicCut(Mutant):
    """cuts a topic that is too long"""
    clause, judges = "LIM-37", "SES-21: a key of an envelope"

    def to_daemon(self, frame, line):
        is_long = len(frame.get("topic", "")) > TEXT_LIMIT
        yield frame | {"topic": frame["topic"][:TEXT_LIMIT]} if is_long else frame
