"""Mutants of messages: lost, repeated, out of order, to another app, and answered by something else."""
from mutant import SECONDARY, Every, Held, Misrouted, Mutant, ToApp, with_body, without

MESSAGES = ("message", "messageData")
ANSWERED = "SES-9: a message is answered"
IN_ORDER = "messages arrive in the order"
FAILED = "SES-12"


def is_failure_of_message(frame):
    return frame["kind"] == "failure" and "channel" not in frame


class ReplyDropped(ToApp):
    """drops each reply"""
    clause, judges, kind = "SES-9", ANSWERED, "reply"


class MessageTwice(Mutant):
    """delivers each message twice"""
    clause, judges, side, is_short = "SES-8", ANSWERED, SECONDARY, True

    def to_app(self, frame, line):
        yield frame
        if frame["kind"] in MESSAGES:
            yield frame


class MessagesSwapped(Mutant):
    """lets a message pass the one before it now and then"""
    clause, judges, side = "SES-14", IN_ORDER, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.held, self.is_due = Held(), Every(10)

    def to_app(self, frame, line):
        if frame["kind"] in MESSAGES and not self.held.frame and self.is_due():
            self.held.hold(frame, line.to_app, line)
            return
        yield frame
        if frame["kind"] in MESSAGES and self.held.frame:
            yield self.held.take()


class RepliesCrossed(Mutant):
    """gives two requests that are open at once each the other's reply"""
    clause, judges = "SES-9", IN_ORDER

    def __init__(self, place):
        super().__init__(place)
        self.held = Held()

    def to_app(self, frame, line):
        if frame["kind"] != "reply":
            yield frame
        elif not self.held.frame:
            self.held.hold(frame, line.to_app, line)
        else:
            other = self.held.take()
            yield other | {"id": frame["id"]}
            yield frame | {"id": other["id"]}


class ReplyTwice(Mutant):
    """gives a request its reply twice"""
    clause, judges = "SES-9", "SES-9: of two replies"

    def to_app(self, frame, line):
        yield frame
        if frame["kind"] == "reply":
            yield frame


class ReplyFromAnyone(Mutant):
    """takes a reply from any connection of the app"""
    clause, judges, side = "SES-10", "SES-10: only the connection", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.receivers = {}

    def to_app(self, frame, line):
        if frame["kind"] in MESSAGES:
            self.receivers[frame["id"]] = line
        yield frame

    def to_daemon(self, frame, line):
        receiver = self.receivers.get(frame.get("id"), line) if frame["kind"] in ("reply", "failure") else line
        if receiver is line:
            yield frame
        else:
            receiver.to_daemon(frame)


class FailureAfterReply(Mutant):
    """passes on a failure of a request that has its reply"""
    clause, judges = "SES-9", "SES-10: only the connection"

    def to_app(self, frame, line):
        yield frame
        if frame["kind"] == "reply":
            yield without(frame, "body") | {"kind": "failure", "code": 7014, "name": "late"}


class DuplicateDropped(Mutant):
    """says nothing of a request under the identifier of an open one"""
    clause, judges = "SES-10", "SES-10: a request under"

    def __init__(self, place):
        super().__init__(place)
        self.open = set()

    def to_daemon(self, frame, line):
        is_request = frame["kind"] in MESSAGES and frame.get("reply")
        if not is_request or frame["id"] not in self.open:
            yield frame
        if is_request:
            self.open.add(frame["id"])


class ReplyElsewhere(Mutant):
    """names another pairing in a reply than its request does"""
    clause, judges = "SES-10", ANSWERED

    def to_app(self, frame, line):
        yield frame | {"pairing": b"another pairing!"} if frame["kind"] == "reply" else frame


class DataFlipped(Mutant):
    """changes a byte of a reply"""
    clause, judges, is_short = "FRM-12", "SES-9: data is answered", True

    def to_app(self, frame, line):
        if frame["kind"] == "reply" and frame["body"]:
            place = len(frame["body"]) // 2
            changed = bytearray(frame["body"])
            changed[place] ^= 1
            frame = frame | {"body": bytes(changed)}
        yield frame


class DataTruncated(Mutant):
    """loses the last byte of data"""
    clause, judges, side = "FRM-12", "SES-9: data is answered", SECONDARY

    def to_app(self, frame, line):
        yield frame | {"body": frame["body"][:-1]} if frame["kind"] == "messageData" else frame


class Failures(ToApp):
    """A mutant of the failures of messages, which it drops unless it changes them."""
    clause = "SES-12"

    def is_meant(self, frame):
        return is_failure_of_message(frame)


class UnhandledUnreachable(Failures):
    """says 7007 for a message that no handler took"""
    judges = FAILED

    def changed(self, frame):
        return frame | {"code": 7007} if frame["code"] == 7014 else frame


class DroppedUndelivered(Failures):
    """says 7014 for a reply that was dropped"""
    judges = FAILED

    def changed(self, frame):
        return frame | {"code": 7014} if frame["code"] == 7011 else frame


class FailureNameless(Failures):
    """loses the name of a failure"""
    judges = FAILED

    def changed(self, frame):
        return without(frame, "name")


class FailureWithoutSubject(Failures):
    """does not say which message has failed"""
    clause, judges = "FRM-10", FAILED

    def changed(self, frame):
        return without(frame, "id")


class FailureSwallowed(Failures):
    """says nothing of a request whose counterpart has left"""
    clause, judges = "SES-11", "SES-11: when the counterpart leaves"


class Retries(Mutant):
    """A mutant of what failures say of a retry."""
    clause, retry = "SES-90", None

    def to_app(self, frame, line):
        yield with_body(frame, retry=self.retry) if frame["kind"] == "failure" and "body" in frame else frame


class RetryDenied(Retries):
    """says of each failure that no retry cures it"""
    judges, retry = "SES-90: a message without a way", False


class RetryPromised(Retries):
    """says of each failure that a retry may cure it"""
    judges, retry = "SES-90: a failure that no retry", True


class RetryUntold(Retries):
    """says of no failure whether a retry may cure it"""
    judges = "SES-90: a request whose counterpart"


class ExcessSwallowed(Mutant):
    """says nothing of a request that is one too many"""
    clause, judges = "LIM-7", "LIM-7: one open request"

    def to_app(self, frame, line):
        if frame["kind"] != "failure" or frame.get("name") != "too-many-requests":
            yield frame


class ExcessForEver(Mutant):
    """takes no further request after one that was one too many"""
    clause, judges = "LIM-7", "LIM-7: one open request"

    def __init__(self, place):
        super().__init__(place)
        self.failure = None

    def to_app(self, frame, line):
        if frame["kind"] == "failure" and frame.get("name") == "too-many-requests":
            self.failure = frame
        yield frame

    def to_daemon(self, frame, line):
        if self.failure and frame["kind"] in MESSAGES:
            line.to_app(self.failure | {"id": frame["id"]})
        else:
            yield frame


class FailureFactsLost(Failures):
    """loses what the failure of a counterpart's app says"""
    clause, judges = "FRM-12", "FRM-12: a failure of"

    def changed(self, frame):
        return with_body(frame, actual=None, limit=None, retry=None) if "body" in frame else frame


class MessageMisrouted(Misrouted):
    """sends a message to another device than its app has said"""
    clause, judges, kinds = "SES-8", "SES-8: a message to one device", MESSAGES


class BroadcastShort(Mutant):
    """loses each broadcast for one of the devices"""
    clause, judges, side = "SES-30", "SES-30: a broadcast reaches", SECONDARY

    def to_app(self, frame, line):
        if self.place.name != "secondary-1" or frame["kind"] not in MESSAGES or frame.get("reply"):
            yield frame


class BroadcastSilent(Failures):
    """does not say which device a broadcast could not reach"""
    clause, judges = "SES-30", "SES-30"


class PingUnanswered(ToApp):
    """does not answer a ping"""
    clause, judges, kind = "SES-17", "SES-30: a broadcast reaches", "pong"
