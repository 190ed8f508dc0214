"""Mutants of signed configuration: false offers, verdicts, versions, desired states and keys."""
import hashlib
import uuid

from frames import decode, encode
from mutant import PRIMARY, SECONDARY, Mutant, answered, body_of, is_control, with_body, without

OFFERED = "CFG-40: an applied configuration"
JUDGED = "CFG-35: a configuration is reported"
WAITS = "CFG-43: a configuration waits"
UNREGISTERED = "CFG-74: a configuration that came"
FILES = "CFG-36: the offered and the applied"
RESTORED = "CFG-116: a file of the configuration"
OTHERS = "CFG-40: no other app"
NARROWED = "CFG-70: a configuration that names"
HANDED = "SES-54: a configuration that an app"
AWAY = "CFG-72: of the versions"
PRIMARY_KILLED = "CFG-70: a desired configuration outlives"
SECONDARY_KILLED = "CFG-35: applied, waiting"
UNPAIRED = "CFG-31: the end of a pairing"
WITHDRAWN = "CFG-77: a withdrawn configuration"
ROLLOUT = "CFG-79: the others get"
LIFETIME = "CFG-34: a configuration whose lifetime"
REFUSED = "CFG-20: a secondary refuses"
CARRIED = "CTL-5: a copy"
MALFORMED = "CTL-5: bytes that are no"
VERSIONS = "CFG-30: no version goes back"
WAITING = "CFG-32: of the versions that wait"
OLDER = "CFG-71: a primary refuses"
CHECKED = "CFG-21: a primary that trusts"
OVERRULED = "CFG-35: a configuration that its app"
CRASHES = "CFG-63: a configuration with which"
FIRST_KEY = "CFG-17: the first key"
ROTATION = "CFG-92: a key set"
REVOCATION = "CFG-89: a revocation"
ENVELOPE_LIMIT = 65_536  # LIM-2


def is_offer(frame):
    return frame["kind"] == "configuration" and "tandem.configuration" in body_of(frame)


def is_reload(frame):
    return frame["kind"] == "configuration" and "tandem.reload" in body_of(frame)


def is_result(frame, command):
    return frame["kind"] == "result" and frame["command"] == command and frame["code"] == 0


def version_of(envelope):
    """Of a configuration; 0 if it is none."""
    try:
        return decode(decode(envelope)["payload"])["ver"]
    except (ValueError, KeyError, TypeError):
        return 0


def applied(frame):
    """The envelope of an `apply`."""
    return body_of(frame).get("envelope", b"")


class Apart(Mutant):
    """A mutant with requests of its own to an app, whose replies no daemon may see."""
    side = SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.made = set()

    def again(self, frame, **values):
        """The frame as another request, with these values in its body."""
        copy = with_body(frame, **values) | {"id": uuid.uuid4().bytes}
        self.made.add(copy["id"])
        return copy

    def to_daemon(self, frame, line):
        if frame["kind"] != "reply" or frame["id"] not in self.made:
            yield frame


class Results(Mutant):
    """A mutant of the results of `apply`: it says that it has applied what it refuses by this name."""
    side, refusal = SECONDARY, ""

    def to_app(self, frame, line):
        if self.is_meant() and frame["kind"] == "result" and frame["command"] == "apply":
            if frame.get("name") == self.refusal:
                frame = without(frame, "name") | {"code": 0, "body": encode({"results": []})}
            elif frame["code"] == 0 and body_of(frame)["results"]:
                rows = [row | {"verdict": "applied"} if row.get("verdict") == self.refusal else row
                        for row in body_of(frame)["results"]]
                frame = with_body(frame, results=rows)
        yield frame

    def is_meant(self):
        return True


class Rows(Mutant):
    """A mutant of the rows of an array in `status`."""
    rows = "desired"

    def to_app(self, frame, line):
        if is_result(frame, "status") and self.rows in body_of(frame):
            frame = with_body(frame, **{self.rows: list(self.changed(body_of(frame)[self.rows]))})
        yield frame

    def changed(self, rows):
        return rows


class Misjudged(Rows):
    """A mutant that tells another verdict than the one that was reported."""
    verdict, told = "", ""

    def changed(self, rows):
        return [row | {"verdict": self.told} if row.get("verdict") == self.verdict else row for row in rows]


class OfferRewrapped(Mutant):
    """writes the envelope of an offer anew, with a signature by nobody"""
    clause, judges, side = "CFG-5", OFFERED, SECONDARY

    def to_app(self, frame, line):
        if is_offer(frame):
            envelope = decode(body_of(frame)["tandem.configuration"])
            signatures = [*envelope["signatures"], {"keyid": bytes(32), "sig": bytes(64)}]
            frame = with_body(frame, **{"tandem.configuration": encode(envelope | {"signatures": signatures})})
        yield frame


class OfferForAnotherTarget(Mutant):
    """tells an app another target than its own"""
    clause, judges, side = "CFG-40", OFFERED, SECONDARY

    def to_app(self, frame, line):
        yield with_body(frame, **{"tandem.target": "custom:another"}) if is_offer(frame) else frame


class OfferRepeated(Apart):
    """offers a configuration again that its app has judged"""
    clause, judges, is_short = "CFG-35", OFFERED, True

    def to_app(self, frame, line):
        yield frame
        if is_offer(frame):
            yield self.again(frame)


class MarkUntold(Mutant):
    """does not tell an app which versions are refused"""
    clause, judges, side = "CFG-40", OFFERED, SECONDARY

    def to_app(self, frame, line):
        yield with_body(frame, **{"tandem.mark": None}) if is_offer(frame) else frame


class ReportUntold(Rows):
    """does not say what a secondary has reported"""
    clause, judges = "CTL-23", OFFERED

    def changed(self, rows):
        return [without(row, "verdict", "reported") for row in rows]


class AppliedUnjudged(Apart):
    """applies a configuration before its app has judged it"""
    clause, judges = "CFG-35", JUDGED

    def to_app(self, frame, line):
        if is_offer(frame):
            self.made.add(frame["id"])
            digest = hashlib.sha256(body_of(frame)["tandem.configuration"]).digest()
            verdict = {"tandem.verdict": "applied", "tandem.digest": digest}
            reply = {key: frame[key] for key in ("app", "pairing", "id")}
            line.to_daemon({"kind": "reply", "body": encode(verdict)} | reply)
        yield frame


class OfferedOnce(Mutant):
    """never offers a configuration again to whose offer there was no answer"""
    clause, judges, side = "CFG-43", WAITS, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.offered = set()

    def to_app(self, frame, line):
        if is_offer(frame):
            envelope = body_of(frame)["tandem.configuration"]
            if envelope in self.offered:
                return
            self.offered.add(envelope)
        yield frame


class WaitingUntold(Misjudged):
    """says of a configuration that waits for its app that it is applied"""
    clause, judges, verdict, told = "CFG-25", WAITS, "waiting-for-app", "applied"


class AnchorUnread(Mutant):
    """does not learn the key that an app registers with"""
    clause, judges, side = "CFG-17", UNREGISTERED, SECONDARY

    def to_daemon(self, frame, line):
        yield with_body(frame, anchor=None) if frame["kind"] == "register" else frame


class DirectoryElsewhere(Mutant):
    """names another directory than the one with the app's files"""
    clause, judges, side = "SES-6", FILES, SECONDARY

    def to_app(self, frame, line):
        if frame["kind"] == "registered" and "directory" in body_of(frame):
            frame = with_body(frame, directory=f"{body_of(frame)['directory']}/elsewhere")
        yield frame


class ReloadUntold(Mutant):
    """does not tell an app that its files have changed"""
    clause, judges, side = "CFG-116", RESTORED, SECONDARY

    def to_app(self, frame, line):
        if not is_reload(frame):
            yield frame


class OfferForEveryApp(Apart):
    """offers each app the configuration of any"""
    clause, judges = "CFG-40", OTHERS

    def __init__(self, place):
        super().__init__(place)
        self.apps = {}

    def to_app(self, frame, line):
        if frame["kind"] == "registered":
            self.apps[line] = frame["app"]
        yield frame
        if is_offer(frame):
            for other, app in self.apps.items():
                if other is not line:
                    other.to_app(self.again(frame) | {"app": app})


class DesiredOfAll(Rows):
    """desires of every secondary what names some"""
    clause, judges = "CFG-70", NARROWED

    def to_app(self, frame, line):
        if is_result(frame, "status"):
            body = body_of(frame)
            pairings = [pairing["pairing"] for pairing in body["pairings"]]
            rows = body["desired"] and [body["desired"][0] | {"pairing": pairing} for pairing in pairings]
            frame = with_body(frame, desired=rows)
        yield frame


class HandedOverUnjudged(Mutant):
    """says of whatever an app hands over that it is applied"""
    clause, judges, side = "SES-54", HANDED, SECONDARY

    def to_app(self, frame, line):
        is_meant = frame["kind"] == "answer" and frame["command"] == "apply"
        yield with_body(frame, verdict="applied") if is_meant else frame


class FirstDesired(Mutant):
    """goes on with the first version, although a newer one is applied"""
    clause, judges = "CFG-70", AWAY

    def __init__(self, place):
        super().__init__(place)
        self.first = None

    def to_daemon(self, frame, line):
        if is_control(frame, "apply"):
            self.first = self.first or applied(frame)
            frame = with_body(frame, envelope=self.first)
        yield frame


class StaleUntold(Rows):
    """does not say that a secondary lacks what is desired of it"""
    clause, judges = "CFG-76", AWAY

    def changed(self, rows):
        return [without(row, "stale") for row in rows]


class RestartForgetsDesired(Rows):
    """forgets at a restart what is desired of its secondaries"""
    clause, judges = "CFG-70", PRIMARY_KILLED

    def changed(self, rows):
        return [] if self.place.is_restart else rows


class RestartForgetsMarks(Results):
    """forgets at a restart which versions it refuses"""
    clause, judges, refusal = "CFG-30", SECONDARY_KILLED, "rollback"

    def is_meant(self):
        return self.place.is_restart


class RestartForgetsOffer(Mutant):
    """forgets at a restart what waits for an app"""
    clause, judges, side = "CFG-35", SECONDARY_KILLED, SECONDARY

    def to_app(self, frame, line):
        if not self.place.is_restart or not is_offer(frame):
            yield frame


class AppliedStays(Rows):
    """goes on with what it has once applied"""
    clause, judges, side, rows = "CFG-31", UNPAIRED, SECONDARY, "configurations"

    def __init__(self, place):
        super().__init__(place)
        self.applied = None

    def changed(self, rows):
        self.applied = next((row for row in rows if row["state"] == "applied"), self.applied)
        return [self.applied] if self.applied else rows


class RevokedStays(AppliedStays):
    """goes on with what a withdrawn key has signed"""
    clause, judges = "CFG-89", REVOCATION


class UnpairForgetsMarks(Results):
    """forgets with a pairing which versions it refuses"""
    clause, judges, refusal = "CFG-31", UNPAIRED, "rollback"


class WithdrawIgnored(Mutant):
    """says that it has withdrawn a configuration, and goes on with it"""
    clause, judges = "CFG-77", WITHDRAWN

    def to_daemon(self, frame, line):
        if is_control(frame, "configuration-withdraw"):
            line.to_app(answered(frame, versions=[5], target="", applied=["a secondary"]))
        else:
            yield frame


class RolloutUnstaged(Mutant):
    """brings a configuration to all at once, although some are to get it first"""
    clause, judges = "CFG-79", ROLLOUT

    def to_daemon(self, frame, line):
        yield with_body(frame, only=None, first=None) if is_control(frame, "apply") else frame


class RolloutGoesOn(Mutant):
    """says that a rollout goes on that has stopped"""
    clause, judges = "CTL-25", ROLLOUT

    def to_app(self, frame, line):
        if is_result(frame, "apply"):
            rows = [row | {"state": "held-back"} if row["state"] == "stopped" else row
                    for row in body_of(frame)["results"]]
            frame = with_body(frame, results=rows)
        yield frame


class LifetimeBeginsAgain(Results):
    """applies the same bytes again after their lifetime"""
    clause, judges, refusal = "CFG-34", LIFETIME, "rollback"


class RefusalMisnamed(Misjudged):
    """says of a configuration that has expired that it failed"""
    clause, judges, verdict, told = "CFG-24", REFUSED, "expired", "failed"


class CarriedUnchecked(Apart):
    """offers an app what it is given before it has checked it"""
    clause, judges, is_short = "CTL-5", CARRIED, True

    def __init__(self, place):
        super().__init__(place)
        self.offer = None

    def to_app(self, frame, line):
        if frame["kind"] == "registered":
            self.offer = line, {"kind": "configuration", "app": frame["app"], "pairing": bytes(16), "reply": True}
        yield frame

    def to_daemon(self, frame, line):
        if is_control(frame, "apply"):
            app, offer = self.offer
            body = {"tandem.configuration": applied(frame), "tandem.target": "", "tandem.device": bytes(16)}
            app.to_app(self.again(offer | {"body": encode(body)}))
        yield from super().to_daemon(frame, line)


class ForeignTargetTaken(Results):
    """applies a configuration for another target"""
    clause, judges, refusal = "CFG-20", CARRIED, "wrong-target"


class MalformedUnnamed(Mutant):
    """calls an envelope that cannot be read a bad request"""
    clause, judges = "CTL-5", MALFORMED

    def to_app(self, frame, line):
        yield frame | {"name": "bad-request"} if frame.get("name") == "malformed" else frame


class MalformedEndsConnection(Mutant):
    """closes the connection of an operator for an envelope that cannot be read"""
    clause, judges, side = "CTL-1", MALFORMED, SECONDARY

    def to_app(self, frame, line):
        if frame.get("name") == "malformed":
            line.end()
        else:
            yield frame


class LongEnvelopeCut(Mutant):
    """cuts an envelope that is too large"""
    clause, judges = "CFG-1", MALFORMED

    def to_daemon(self, frame, line):
        is_long = is_control(frame, "apply") and len(applied(frame)) > ENVELOPE_LIMIT
        yield with_body(frame, envelope=applied(frame)[:ENVELOPE_LIMIT]) if is_long else frame


class LowerVersionApplied(Results):
    """applies a version below the one that is applied"""
    clause, judges, refusal = "CFG-30", VERSIONS, "rollback"


class SecondContentApplied(Results):
    """applies other bytes of a version"""
    clause, judges, refusal = "CFG-30", VERSIONS, "equivocation"


class SameBytesOffered(Apart):
    """offers an app again what it has applied"""
    clause, judges = "CFG-30", VERSIONS

    def __init__(self, place):
        super().__init__(place)
        self.app = self.offer = None

    def to_app(self, frame, line):
        if frame["kind"] == "registered":
            self.app = line
        if is_offer(frame):
            self.offer = frame
        yield frame

    def to_daemon(self, frame, line):
        if is_control(frame, "apply") and self.offer:
            if applied(frame) == body_of(self.offer)["tandem.configuration"]:
                self.app.to_app(self.again(self.offer))
        yield from super().to_daemon(frame, line)


class LowestOffered(Apart):
    """offers an app the lowest of the versions that have waited, too"""
    clause, judges = "CFG-32", WAITING

    def __init__(self, place):
        super().__init__(place)
        self.envelopes = []

    def to_app(self, frame, line):
        if is_offer(frame):
            lowest = min(self.envelopes, key=version_of)
            yield self.again(frame, **{"tandem.configuration": lowest})
        yield frame

    def to_daemon(self, frame, line):
        if is_control(frame, "apply"):
            self.envelopes.append(applied(frame))
        yield from super().to_daemon(frame, line)


class LowerVersionWaits(Results):
    """lets a lower version wait for the app"""
    clause, judges, refusal = "CFG-32", WAITING, "rollback"


class TargetOfNobodyTaken(Results):
    """takes a configuration that no secondary can apply"""
    clause, judges, side, refusal = "CFG-71", OLDER, PRIMARY, "wrong-target"


class OlderDesired(Results):
    """takes a version below the desired one"""
    clause, judges, side, refusal = "CFG-71", OLDER, PRIMARY, "rollback"


class UncheckedUntold(Mutant):
    """does not say that it forwards what it cannot check"""
    clause, judges = "CTL-25", CHECKED

    def to_app(self, frame, line):
        yield with_body(frame, unchecked=None) if is_result(frame, "apply") else frame


class ForwardedUnchecked(Results):
    """forwards a configuration without good signatures, although it trusts the app's key"""
    clause, judges, side, refusal = "CFG-21", CHECKED, PRIMARY, "threshold"


class AppOverruled(Mutant):
    """applies a configuration that its app refuses"""
    clause, judges, side = "CFG-35", OVERRULED, SECONDARY

    def to_daemon(self, frame, line):
        is_refusal = frame["kind"] == "reply" and body_of(frame).get("tandem.verdict") == "schema"
        yield with_body(frame, **{"tandem.verdict": "applied"}) if is_refusal else frame


class FailureUntold(Misjudged):
    """says of a configuration with which its app ended that it is applied"""
    clause, judges, verdict, told = "CFG-63", CRASHES, "failed", "applied"


class BurntApplied(Results):
    """applies a version again with which its app ended"""
    clause, judges, refusal = "CFG-63", CRASHES, "rollback"


class ConflictUntold(Mutant):
    """does not say that an app has another key than the trusted one"""
    clause, judges, side = "CTL-27", FIRST_KEY, SECONDARY

    def to_app(self, frame, line):
        if is_result(frame, "trust-list"):
            frame = with_body(frame, anchors=[without(row, "conflict") for row in body_of(frame)["anchors"]])
        yield frame


class TrustStays(Mutant):
    """says that it has ended the trust in a key, and goes on with it"""
    clause, judges, side = "CTL-33", FIRST_KEY, SECONDARY

    def to_daemon(self, frame, line):
        if is_control(frame, "trust-remove") and body_of(frame).get("yes"):
            line.to_app(answered(frame, done=True, configurations=1))
        else:
            yield frame


class KeySetKept(Mutant):
    """keeps a key set to itself instead of bringing it to its secondaries"""
    clause, judges = "CFG-92", ROTATION

    def __init__(self, place):
        super().__init__(place)
        self.has_refused = False

    def to_app(self, frame, line):
        self.has_refused |= frame.get("name") == "keyset-gap"
        yield frame

    def to_daemon(self, frame, line):
        is_meant = self.has_refused and is_control(frame, "apply") and b"keyset.v1" in applied(frame)
        yield with_body(frame, follow=True) if is_meant else frame


class GapTaken(Results):
    """takes a key set of which it lacks the one before"""
    clause, judges, side, refusal = "CFG-84", ROTATION, PRIMARY, "keyset-gap"
