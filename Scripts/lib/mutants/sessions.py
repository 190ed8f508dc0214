"""Mutants of the session itself: greeting, registration, and what an app is told of its counterpart."""
import uuid

from frames import ENVELOPE_TYPES, KINDS
from mutant import SECONDARY, Mutant, ToApp, answered, body_of, with_body, without

ANSWERED = "SES-9: a message is answered"
GREETED = "SES-2: a hello is answered"
STATES = ("registered", "state")
KEYS = "FRM-9: a key that is not known"
SEALED = "FRM-14: a sealed body"
MISPLACED = "SES-6: a registered connection"
TIMES = "SES-35: a state says"
TARGET = "SES-7: the target of configuration"


class Greetings(ToApp):
    """A mutant of the daemon's `hello`."""
    judges, kind = ANSWERED, "hello"


class HelloUnanswered(Greetings):
    """does not answer a hello"""
    clause = "SES-1"


class VersionUnknown(Greetings):
    """chooses a version that its client does not speak"""
    clause = "SES-2"

    def changed(self, frame):
        return with_body(frame, version=2)


class CapabilityUnnamed(Greetings):
    """does not name messages among its capabilities"""
    clause, judges = "SES-2", GREETED

    def changed(self, frame):
        return with_body(frame, capabilities=[name for name in body_of(frame)["capabilities"] if name != "message"])


class CapabilityInvented(Greetings):
    """names a capability that its client does not know"""
    clause, judges = "SES-2", GREETED

    def changed(self, frame):
        return with_body(frame, capabilities=[*body_of(frame)["capabilities"], "clairvoyance"])


class HelloNotExpected(Mutant):
    """passes over frames that come before hello"""
    clause, judges = "SES-1", "SES-1: a frame before hello"

    def __init__(self, place):
        super().__init__(place)
        self.greeted = set()

    def to_daemon(self, frame, line):
        if frame["kind"] == "hello":
            self.greeted.add(line)
        if line in self.greeted:
            yield frame


class RegisteredAnother(ToApp):
    """registers another app than the one that asks"""
    clause, judges, kind = "SES-6", ANSWERED, "registered"

    def changed(self, frame):
        return frame | {"app": "org.example.another"}


class SecondReceiver(Mutant):
    """lets a second connection receive for an app"""
    clause, judges = "SES-5", "SES-5: a second connection"

    def __init__(self, place):
        super().__init__(place)
        self.is_taken = False

    def to_daemon(self, frame, line):
        if frame["kind"] == "register":
            if self.is_taken:
                frame = with_body(frame, receives=False)
            self.is_taken = True
        yield frame


class AnotherAppTaken(Mutant):
    """takes the frame of another app for one of the app that has registered"""
    clause, judges = "FRM-13", "FRM-13: a frame that names"

    def __init__(self, place):
        super().__init__(place)
        self.apps = {}

    def to_daemon(self, frame, line):
        if frame["kind"] == "register":
            self.apps[line] = frame["app"]
        yield frame | {"app": self.apps[line]} if "app" in frame else frame


class UnknownKindIgnored(Mutant):
    """passes over a frame of an unknown kind"""
    clause, judges = "FRM-11", "FRM-11: a frame of an unknown kind"

    def to_daemon(self, frame, line):
        if frame["kind"] in KINDS:
            yield frame


class UnknownKeyTaken(Mutant):
    """passes over a key that it does not know"""
    clause, judges = "FRM-9", KEYS

    def to_daemon(self, frame, line):
        unknown = [key for key in frame if key not in ENVELOPE_TYPES and not key.startswith("x-")]
        yield without(frame, *unknown) if unknown else frame


class KeyWithoutPlaceTaken(Mutant):
    """passes over a key that has no place in its frame"""
    clause, judges = "FRM-9", KEYS

    def to_daemon(self, frame, line):
        yield without(frame, "channel") if frame["kind"] == "ping" and "channel" in frame else frame


class SealingTaken(Mutant):
    """takes a sealed body for a plain one"""
    clause, judges = "FRM-14", SEALED

    def to_daemon(self, frame, line):
        yield without(frame, "sealing") if frame.get("sealing") else frame


class VerdictNameTaken(Mutant):
    """passes over a verdict of a name that does not exist"""
    clause, judges = "FRM-10", "FRM-10: a verdict of an invented name"
    NAMES = ("handled", "failed", "later", "rejected")

    def to_daemon(self, frame, line):
        if frame["kind"] != "verdict" or frame["name"] in self.NAMES:
            yield frame


class ControlAnywhere(Mutant):
    """answers control requests on a registered connection"""
    clause, judges = "SES-6", MISPLACED

    def __init__(self, place):
        super().__init__(place)
        self.registered = set()

    def to_app(self, frame, line):
        if frame["kind"] == "registered":
            self.registered.add(line)
        yield frame

    def to_daemon(self, frame, line):
        if frame["kind"] == "control" and line in self.registered:
            line.to_app(answered(frame))
        else:
            yield frame


class RegistersTwice(Mutant):
    """passes over a second registration"""
    clause, judges = "SES-6", MISPLACED

    def __init__(self, place):
        super().__init__(place)
        self.registered = set()

    def to_daemon(self, frame, line):
        if frame["kind"] == "register" and line in self.registered:
            return
        if frame["kind"] == "register":
            self.registered.add(line)
        yield frame


class SenderInstalled(Mutant):
    """takes an app that only sends for an installed one"""
    clause, judges, side = "SES-75", "SES-75: an app that only sends", SECONDARY

    def to_daemon(self, frame, line):
        yield with_body(frame, receives=True) if frame["kind"] == "register" else frame


class FarewellOmitted(ToApp):
    """stops without a word"""
    clause, judges, kind = "SES-18", "SES-18: a daemon that stops", "bye"


class States(Mutant):
    """A mutant of what an app is told of its pairings."""
    clause = "SES-7"

    def to_app(self, frame, line):
        if frame["kind"] in STATES:
            frame = with_body(frame, pairings=self.changed(body_of(frame)["pairings"]))
        yield frame


class CounterpartUntold(States):
    """tells an app of no pairing"""
    judges = ANSWERED

    def changed(self, pairings):
        return []


class AlwaysReachable(States):
    """calls a counterpart reachable that is not"""
    judges = "SES-13: without a link"

    def changed(self, pairings):
        return [entry | {"level": "immediate", "reason": "none"} for entry in pairings]


class NeverInstalled(States):
    """does not say that the counterpart is installed"""
    judges = "SES-51: items wait on the other device"

    def changed(self, pairings):
        return [entry | {"installed": False} for entry in pairings]


class SinceStands(States):
    """says of each level that it has just begun"""
    judges = TIMES

    def changed(self, pairings):
        return [entry | {"since": 0} for entry in pairings]


class SinceForgotten(States):
    """counts the time of a level from the first one on"""
    judges = TIMES

    def changed(self, pairings):
        return [entry | {"since": entry["since"] + 60_000} for entry in pairings]


class ChangesUncounted(States):
    """does not count how often a level has changed"""
    clause, judges = "SES-35", TIMES

    def changed(self, pairings):
        return [without(entry, "changes") for entry in pairings]


class StateRevisionStands(Mutant):
    """tells each state under the same revision"""
    clause, judges = "SES-7", TIMES

    def to_app(self, frame, line):
        yield with_body(frame, revision=1) if frame["kind"] in STATES else frame


class TargetOfAnother(States):
    """tells the target of the other device's own apps"""
    judges = TARGET

    def changed(self, pairings):
        return [entry | {"target": f"vendor:{str(uuid.UUID(bytes=entry['peer'])).upper()}"} for entry in pairings]


class TargetStands(States):
    """tells no target that an app has declared"""
    judges = TARGET

    def __init__(self, place):
        super().__init__(place)
        self.targets = {}

    def changed(self, pairings):
        return [entry | {"target": self.targets.setdefault(entry["pairing"], entry["target"])} for entry in pairings]


class StateStands(ToApp):
    """tells an app nothing new after its registration"""
    clause, judges, kind = "SES-7", ANSWERED, "state"
