"""Mutants of pairings: join links that open more than they may, links that a join replaces, and pairings that stay."""
import pathlib

from daemons import control
from mutant import PRIMARY, SECONDARY, Mutant, answered, body_of, is_control, with_body

USED = "PAR-8: a used join link"
MISREAD = "PAR-7: a join link with a changed"
EXPIRED = "PAR-5: an expired join link"
ATTEMPTS = "LIM-10: after five wrong proofs"
AGAIN = "PAR-16: a device that joins again"
ENDED = "PAR-13: what waits in a pairing"


class Joins(Mutant):
    """A mutant that joins by a fresh link of the primary instead of the one that it is given, so that any will do."""
    side = SECONDARY

    def to_daemon(self, frame, line):
        yield with_body(frame, link=self.fresh()) if is_control(frame, "join") and self.is_meant() else frame

    def is_meant(self):
        return True

    def fresh(self):
        return control(f"{pathlib.Path(self.place.socket).with_name('primary.sock')}.inner", "pair")["link"]


class UsedLinkTaken(Joins):
    """joins by a link that another device has used"""
    clause, judges = "PAR-8", USED


class LinkMisread(Joins):
    """joins by a link with a wrong token or secret"""
    clause, judges = "PAR-7", MISREAD


class AttemptsUncounted(Joins):
    """joins by a link after five wrong proofs"""
    clause, judges = "PAR-8", ATTEMPTS

    def __init__(self, place):
        super().__init__(place)
        self.refusals = 0

    def to_app(self, frame, line):
        if frame["kind"] == "result" and frame.get("name") == "join-refused":
            self.refusals += 1
        yield frame

    def is_meant(self):
        return self.refusals >= 5


class LinkLivesLonger(Mutant):
    """gives each join link the usual life, whatever its operator has said"""
    clause, judges, side = "PAR-5", EXPIRED, PRIMARY

    def to_daemon(self, frame, line):
        is_meant = is_control(frame, "pair") and "body" in frame
        yield with_body(frame, seconds=None) if is_meant else frame


class JoinReplacesLink(Mutant):
    """loses its link for a moment when it joins again"""
    clause, judges, side = "PAR-16", AGAIN, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.states, self.losses = {}, 0

    def to_app(self, frame, line):
        if frame["kind"] in ("registered", "state"):
            self.states[line] = frame
            yield self.counted(frame)
            return
        yield frame
        if frame["kind"] == "result" and frame["command"] == "join":
            self.losses += 1
            for other, state in self.states.items():
                other.to_app(self.counted(state | {"kind": "state"}))

    def counted(self, state):
        """The state with each loss and return among its changes."""
        entries = body_of(state)["pairings"]
        return with_body(state, pairings=[entry | {"changes": entry["changes"] + 2 * self.losses} for entry in entries])


class UnpairIgnored(Mutant):
    """says that a pairing has ended, and goes on with it"""
    clause, judges = "PAR-13", ENDED

    def to_daemon(self, frame, line):
        if is_control(frame, "unpair"):
            line.to_app(answered(frame, done=True))
        else:
            yield frame


class PairingComesBack(Mutant):
    """joins under the pairing that both devices have ended"""
    clause, judges, side = "PAR-13", ENDED, SECONDARY

    def __init__(self, place):
        super().__init__(place)
        self.first = None

    def to_app(self, frame, line):
        if frame["kind"] == "result" and frame["command"] == "join" and "body" in frame:
            self.first = self.first or body_of(frame).get("pairing")
            if self.first:
                frame = with_body(frame, pairing=self.first)
        yield frame
