"""Mutants of durable items: forgotten, repeated, out of order, told wrongly, never ended, and lost at a restart."""
import pathlib
import uuid

from mutant import (
    SECONDARY, Detours, Every, Held, Invents, Misrouted, Mutant, ToApp, about, answered, body_of, is_control, with_body,
    without)

STEPS = "SES-50: an item is accepted"
WITHDRAWN = "DEL-6: an item that was never sent"
MANY = "DEL-2: 200 items"
HANDED = ("userInfo", "urgent")
REJECTED = "DEL-5: an item that its handler rejects"
WAITS = "SES-48: an item waits for the end"
AGED = "DEL-15: a handler is told the age"
KEPT = "CTL-16: an item that failed too often"


def is_delivery(frame, channels=HANDED):
    return frame["kind"] == "delivery" and frame["channel"] in channels


class Submits(Mutant):
    """A mutant that loses a key of each submission."""
    key = ""

    def to_daemon(self, frame, line):
        yield without(frame, self.key) if frame["kind"] == "submit" else frame


# Reports to the sender's app.


class SubmissionSwallowed(Mutant):
    """acknowledges an item now and then that it does not have"""
    clause, judges = "DEL-1", MANY

    def __init__(self, place):
        super().__init__(place)
        self.is_due = Every(7)

    def to_daemon(self, frame, line):
        if frame["kind"] == "submit" and frame["channel"] == "userInfo" and self.is_due():
            line.to_app(about(frame, "accepted"))
        else:
            yield frame


class AcceptanceDropped(ToApp):
    """never says that an item is accepted"""
    clause, judges, kind = "SES-49", WITHDRAWN, "accepted"


class StoredDropped(ToApp):
    """never says that an item is stored"""
    clause, judges, kind = "SES-50", STEPS, "progress"

    def changed(self, frame):
        return frame if frame["name"] != "stored" else None


class StoredEarly(Mutant):
    """says that an item is stored at the counterpart as soon as it is accepted"""
    clause, judges = "SES-50", WAITS

    def to_app(self, frame, line):
        yield frame
        if frame["kind"] == "accepted" and frame["channel"] in HANDED:
            yield about(frame, "progress", name="stored")


class EndDropped(ToApp):
    """never says how an item ended"""
    clause, judges, kind = "SES-50", STEPS, "finished"


class EndAlwaysHandled(ToApp):
    """says of each item that it was handled"""
    clause, judges, kind = "DEL-5", REJECTED, "finished"

    def changed(self, frame):
        return without(frame, "code", "body") | {"name": "handled"}


class EndCodeless(ToApp):
    """does not say why an item was rejected"""
    clause, judges, kind = "SES-50", REJECTED, "finished"

    def changed(self, frame):
        return without(frame, "code")


class EndRepeated(Mutant):
    """repeats an end to the next process of an app that has acknowledged it"""
    clause, judges = "SES-50", "SES-50: ends that no process"

    def to_daemon(self, frame, line):
        if frame["kind"] != "finishedAck":
            yield frame


class IdentifierForgotten(Mutant):
    """takes an item that is submitted again for another one"""
    clause, judges = "DEL-33", "DEL-1: the same identifier"

    def __init__(self, place):
        super().__init__(place)
        self.seen, self.detours = set(), Detours()

    def to_daemon(self, frame, line):
        if frame["kind"] == "submit":
            if frame["id"] in self.seen:
                frame = self.detours.detoured(frame, id=uuid.uuid4().bytes)
            self.seen.add(frame["id"])
        yield frame

    def to_app(self, frame, line):
        yield self.detours.undone(frame)


class ItemMisrouted(Misrouted):
    """sends each item to the device after the one that its app has said"""
    clause, judges, kinds = "DEL-2", "DEL-2: each of three", ("submit",)


class SubscriptionUnknown(ToApp):
    """knows no item of its app after the connection was lost"""
    clause, judges, kind = "SES-56", "items that wait while the primary's", "answer"

    def __init__(self, place):
        super().__init__(place)
        self.asked = {}

    def to_daemon(self, frame, line):
        if frame["kind"] == "query" and frame["command"] == "subscribe":
            self.asked[frame["id"]] = body_of(frame)["items"]
        yield frame

    def changed(self, frame):
        items = self.asked.pop(frame["id"], None)
        return with_body(frame, unknown=items) if items else frame


class OutstandingEmpty(ToApp):
    """lists no items that have not ended"""
    clause, judges, kind = "SES-54", "SES-54", "answer"

    def changed(self, frame):
        if frame["command"] != "outstanding" or "body" not in frame:
            return frame
        return with_body(frame, items=None, more=None)


class MoreUntold(ToApp):
    """does not say where the next part of a list begins"""
    clause, judges, kind = "SES-54", "SES-54: items that have not ended", "answer"

    def changed(self, frame):
        return with_body(frame, more=None) if frame["command"] == "outstanding" and "body" in frame else frame


# Early ends, and precedence.


class CancelIgnored(Mutant):
    """answers a cancel and goes on"""
    clause, judges = "DEL-6", WITHDRAWN

    def to_daemon(self, frame, line):
        if frame["kind"] == "query" and frame["command"] == "cancel":
            answer = {key: frame[key] for key in ("app", "id", "command", "pairing") if key in frame}
            line.to_app({"kind": "answer", "code": 0, "name": "cancelled"} | answer)
        else:
            yield frame


class CancelForgotten(CancelIgnored):
    """forgets a cancel of an item that the other handler has"""
    clause, judges = "DEL-6", "DEL-6: an item that is taken back while its handler has it"


class CancelTooKind(ToApp):
    """calls an item cancelled that has ended"""
    clause, judges, kind = "SES-54", "SES-54: an item that has ended", "answer"

    def changed(self, frame):
        return without(frame, "body") | {"name": "cancelled"} if frame.get("name") == "too-late" else frame


class LifeForgotten(Submits):
    """expires nothing"""
    clause, judges, key = "DEL-8", "DEL-8: an item expires that is not sent", "remaining"


class KeyForgotten(Submits):
    """supersedes nothing"""
    clause, judges, key = "SES-48", "SES-48: of items with one key", "key"


class BarrierForgotten(Submits):
    """sends an item before the one that it comes after has ended"""
    clause, judges, key = "DEL-22", WAITS, "after"


class BudgetEndless(ToApp):
    """never takes an urgent item from the budget that it tells"""
    clause, judges, kind = "SES-54", "SES-48: beyond its budget", "answer"

    def changed(self, frame):
        return with_body(frame, remaining=body_of(frame)["limit"]) if frame["command"] == "budget" else frame


class DemotionUntold(ToApp):
    """does not say that an urgent item was demoted"""
    clause, judges, kind = "SES-48", "SES-48: beyond its budget", "accepted"

    def changed(self, frame):
        return without(frame, "name") if frame.get("name") == "demoted" else frame


class UrgentNeverPasses(Mutant):
    """sends urgent items as user infos"""
    clause, judges = "SES-48", "SES-48: an urgent item passes"

    def __init__(self, place):
        super().__init__(place)
        self.detours = Detours("channel")

    def to_app(self, frame, line):
        yield self.detours.undone(frame)

    def to_daemon(self, frame, line):
        if frame["kind"] == "submit" and frame["channel"] == "urgent":
            frame = self.detours.detoured(frame, channel="userInfo")
        elif frame["kind"] == "finishedAck" and frame["id"] in self.detours.originals:
            frame = frame | {"channel": "userInfo"}
        yield frame


# Deliveries to the receiver's app.


class DeliveryTwice(Invents):
    """delivers an item twice, the second time under another identifier"""
    clause, judges, side, is_short = "DEL-3", MANY, SECONDARY, True

    def to_app(self, frame, line):
        yield frame
        if is_delivery(frame):
            yield self.invented(frame)


class DeliverySwallowed(Mutant):
    """says now and then that an item was handled that no app has seen"""
    clause, judges, side = "DEL-5", MANY, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.is_due = Every(7)

    def to_app(self, frame, line):
        if is_delivery(frame) and self.is_due():
            line.to_daemon(about(frame, "verdict", name="handled"))
        else:
            yield frame


class DeliveriesSwapped(Mutant):
    """delivers an item after the next one of its queue now and then"""
    clause, judges, side = "DEL-2", MANY, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.held, self.is_due, self.judged = Held(), Every(5), set()

    def to_app(self, frame, line):
        if is_delivery(frame) and not self.held.frame and self.is_due():
            self.held.hold(frame, line.to_app, line)
            self.judged.add(frame["id"])
            line.to_daemon(about(frame, "verdict", name="handled"))
            return
        yield frame
        if is_delivery(frame) and self.held.frame:
            yield self.held.take()

    def to_daemon(self, frame, line):
        if frame["kind"] != "verdict" or frame["id"] not in self.judged:
            yield frame


class DeliveryElsewhere(Mutant):
    """names another pairing in a delivery than the one that it came through"""
    clause, judges, side = "SES-51", MANY, SECONDARY
    OTHER = b"another pairing!"

    def to_app(self, frame, line):
        if is_delivery(frame):
            self.pairing = frame["pairing"]
            frame = frame | {"pairing": self.OTHER}
        yield frame

    def to_daemon(self, frame, line):
        yield frame | {"pairing": self.pairing} if frame.get("pairing") == self.OTHER else frame


class AttemptForgotten(ToApp):
    """does not mark an item that comes again"""
    clause, judges, side, kind = "DEL-11", "DEL-11: an item whose handler throws", SECONDARY, "delivery"

    def changed(self, frame):
        return frame | {"attempt": 1}


class FailureTakenForHandled(Mutant):
    """does not give an item again that its handler has failed at"""
    clause, judges, side = "DEL-11", "DEL-11: an item whose handler throws", SECONDARY

    def to_daemon(self, frame, line):
        if frame["kind"] == "verdict" and frame["name"] == "failed":
            frame = without(frame, "body") | {"name": "handled"}
        yield frame


class DeadTakenForExpired(ToApp):
    """says of a dead letter that it expired"""
    clause, judges, kind = "DEL-5", "DEL-11: an item that fails five times", "finished"

    def changed(self, frame):
        return without(frame, "code") | {"name": "expired"} if frame["name"] == "dead" else frame


class TopicForgotten(Submits):
    """loses an item's topic"""
    clause, judges, key = "SES-53", "SES-53: a topic's handler", "topic"


class UnregisteredForgotten(Mutant):
    """keeps no item that came while its app was not registered"""
    clause, judges, side = "DEL-17", "DEL-17: an item for an app", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.is_removed = False

    def to_daemon(self, frame, line):
        self.is_removed = self.is_removed or frame.get("command") == "app-remove"
        yield frame

    def to_app(self, frame, line):
        if self.is_removed and is_delivery(frame):
            line.to_daemon(about(frame, "verdict", name="handled"))
        else:
            yield frame


class AgeUntold(ToApp):
    """does not say how old an item is"""
    clause, judges, side, kind = "DEL-15", AGED, SECONDARY, "delivery"

    def changed(self, frame):
        return without(frame, "age")


class AgeStands(ToApp):
    """says of each item that it is new"""
    clause, judges, side, kind = "DEL-15", AGED, SECONDARY, "delivery"

    def changed(self, frame):
        return frame | {"age": 0}


class LifeStands(ToApp):
    """takes the time that an item has waited not from its life"""
    clause, judges, side, kind = "DEL-15", AGED, SECONDARY, "delivery"

    def changed(self, frame):
        return frame | {"remaining": frame["remaining"] + frame["age"]}


class DeadLettersDropped(ToApp):
    """keeps no item that failed too often"""
    clause, judges, side, kind = "DEL-11", KEPT, SECONDARY, "result"

    def changed(self, frame):
        return with_body(frame, letters=[]) if frame["command"] == "dead-letters" else frame


class DeadLetterStays(Mutant):
    """says that it gives a dead letter again, and does not"""
    clause, judges, side = "CTL-16", KEPT, SECONDARY

    def to_daemon(self, frame, line):
        if is_control(frame, "dead-letter-retry"):
            line.to_app(answered(frame, count=1))
        else:
            yield frame


# Restarts, and stores that were put back.


class RestartForgets(Mutant):
    """loses two items at each restart"""
    clause, judges, side = "DEL-1", "items that wait while the secondary 0's", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.left = 2 if place.is_restart else 0

    def to_app(self, frame, line):
        if self.left and is_delivery(frame):
            self.left -= 1
            line.to_daemon(about(frame, "verdict", name="handled"))
        else:
            yield frame


class RestoreUnnoticed(Mutant):
    """takes the items that follow a restored store for repetitions"""
    clause, judges, side = "DEL-10", "DEL-10: items flow on after the secondary 0's", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        # One byte for each start; the case puts the store back before the third.
        note = pathlib.Path(f"{place.socket}.starts")
        starts = (note.read_bytes() if note.exists() else b"") + b"."
        note.write_bytes(starts)
        self.is_restored = len(starts) > 2

    def to_app(self, frame, line):
        if self.is_restored and is_delivery(frame):
            line.to_daemon(about(frame, "verdict", name="handled"))
        else:
            yield frame


class LostTakenForHandled(ToApp):
    """says of an item that was lost with a restored store that it was handled"""
    clause, judges, kind = "DEL-10", "DEL-10: items that a device had stored", "finished"

    def changed(self, frame):
        return without(frame, "code", "body") | {"name": "handled"} if frame["name"] == "lost" else frame


class TimeOffUncounted(Mutant):
    """does not take the time that it was away from the life of an item"""
    clause, judges = "DEL-8", "DEL-8: an item expires while its sender's daemon"
    LATE = 15  # seconds

    def to_app(self, frame, line):
        is_late = self.place.is_restart and frame["kind"] == "finished" and frame["name"] == "expired"
        if is_late:
            line.later(self.LATE, lambda: line.to_app(frame))
        else:
            yield frame


class RestartRepeats(Invents):
    """delivers an item once more after a restart, although it was handled"""
    clause, judges, side = "DEL-7", "DEL-1: items that wait while the secondary 0's daemon", SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.note = pathlib.Path(f"{place.socket}.last")
        self.last = self.note.read_bytes() if self.note.exists() else None

    def to_app(self, frame, line):
        if is_delivery(frame):
            if self.place.is_restart and self.last and not self.made:
                yield self.invented(frame, body=self.last)
            self.last = frame["body"]
            self.note.write_bytes(self.last)
        yield frame
