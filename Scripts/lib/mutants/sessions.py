"""Mutants of the session itself: greeting, registration, and what an app is told of its counterpart."""
from frames import KINDS
from mutant import Mutant, body_of, with_body

ANSWERED = "SES-9: a message is answered"
GREETED = "SES-2: a hello is answered"
STATES = ("registered", "state")


class Greetings(Mutant):
    """A mutant of the daemon's `hello`."""
    judges = ANSWERED

    def to_app(self, frame, line):
        if frame["kind"] != "hello":
            yield frame
        elif changed := self.changed(frame):
            yield changed

    def changed(self, frame):
        return None


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


class RegisteredAnother(Mutant):
    """registers another app than the one that asks"""
    clause, judges = "SES-6", ANSWERED

    def to_app(self, frame, line):
        yield frame | {"app": "org.example.another"} if frame["kind"] == "registered" else frame


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


class FarewellOmitted(Mutant):
    """stops without a word"""
    clause, judges = "SES-18", "SES-18: a daemon that stops"

    def to_app(self, frame, line):
        if frame["kind"] != "bye":
            yield frame


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


class StateStands(Mutant):
    """tells an app nothing new after its registration"""
    clause, judges = "SES-7", ANSWERED

    def to_app(self, frame, line):
        if frame["kind"] != "state":
            yield frame


MUTANTS = (
    HelloUnanswered, HelloNotExpected, VersionUnknown, CapabilityUnnamed, CapabilityInvented, RegisteredAnother,
    SecondReceiver, AnotherAppTaken, UnknownKindIgnored, FarewellOmitted, CounterpartUntold, AlwaysReachable,
    NeverInstalled, StateStands,
)
