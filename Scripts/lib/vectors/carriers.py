"""Statements of carriers and what a primary must answer (Protocol/SignedConfiguration.md CFG-101, CFG-102)."""
import base64
import uuid

from .envelopes import bplist
from .formats import APP, Signer, pem
from .reports import enveloped

ABOUT = (
    "Each statement (base64) comes from the secondary `device` through `pairing`, whose report key is `key`, on the queue of `app`, "
    "to the primary `primary`, which has no other pairing than `direct`. Those in `before` have been accepted. `outcome` is accepted "
    "or the failure's name. Of an accepted one `far` are the far pairings that it leads to, in their order, `contested` those "
    "that stay another device, and `passedOver` the names of the faults of parts of it, in their order.")
PRIMARY, CARRIER, FAR, OTHER, LAST = (bytes([first] * 16) for first in (1, 2, 3, 4, 5))
UPPER, LOWER, BESIDE, NEXT = (bytes([first] * 16) for first in (0x21, 0x22, 0x23, 0x24))


def vendor(device):
    return f"vendor:{str(uuid.UUID(bytes=device)).upper()}"


class Makers:
    def __init__(self):
        self.carrier, self.far, self.other, self.last = (Signer(name) for name in ("ed25519", "root1", "root2", "root3"))
        self.stranger = Signer("stranger")

    def secondary(self, **changes):
        told = {"pairing": LOWER, "device": FAR, "name": "panel", "reportKey": self.far.public, "epoch": 1,
                "target": vendor(CARRIER), "installed": True}
        told.update(changes)
        return {key: value for key, value in told.items() if value is not None}

    def beside(self, **changes):
        return self.secondary(**{"pairing": BESIDE, "device": OTHER, "reportKey": self.other.public, **changes})

    def next(self, **changes):
        """A secondary of the far one."""
        return self.secondary(**{"pairing": NEXT, "device": LAST, "reportKey": self.last.public, "target": vendor(FAR),
                                 **changes})

    def statement(self, named, inner=(), by=None, kind="carrier", signed=None, **changes):
        told = {"typ": "carrier", "spec": "1.0", "device": CARRIER, "pairing": UPPER, "app": APP, "counter": 9,
                "secondaries": list(named), "below": list(inner)}
        told.update(changes)
        told = {key: value for key, value in told.items() if value is not None}
        return bplist(enveloped(told, kind, (self.carrier,) if by is None else by, signed))

    def below(self, named, inner=(), by=None, **changes):
        """The statement of the far secondary to the carrier."""
        return self.statement(named, inner, (self.far,) if by is None else by, **{"device": FAR, "pairing": LOWER, "counter": 3,
                                                                        **changes})


def made():
    makers, cases = Makers(), []

    def add(name, outcome, data, far=None, before=(), passed=(), contested=()):
        case = {"name": name, "clause": "CFG-102", "statement": base64.b64encode(data).decode(), "outcome": outcome}
        if before:
            case["before"] = [base64.b64encode(one).decode() for one in before]
        if far is not None:
            case |= {"far": [one.hex() for one in far], "contested": [one.hex() for one in contested],
                     "passedOver": list(passed)}
        cases.append(case)

    accepted_statements(add, makers)
    refused_statements(add, makers)
    faulty_secondaries(add, makers)
    malformed_statements(add, makers)
    statements_below(add, makers)
    return {"about": ABOUT, "key": pem("PUBLIC KEY", makers.carrier.public).decode(), "device": CARRIER.hex(),
            "pairing": UPPER.hex(), "primary": PRIMARY.hex(), "direct": [UPPER.hex()], "app": APP, "cases": cases}


def accepted_statements(add, makers):
    add("one far secondary", "accepted", makers.statement([makers.secondary()]), [LOWER])
    add("none", "accepted", makers.statement([]), [])
    add("two", "accepted", makers.statement([makers.beside(), makers.secondary()]), [LOWER, BESIDE])
    add("one that only carries", "accepted", makers.statement([makers.secondary(installed=False)]), [])
    add("a custom target", "accepted", makers.statement([makers.secondary(target="custom:house-7")]), [LOWER])
    add("one after another", "accepted", makers.statement([makers.secondary()]), [LOWER],
        before=[makers.statement([], counter=8)])
    add("a device with its key through another pairing", "accepted",
        makers.statement([makers.secondary(), makers.secondary(pairing=BESIDE)]), [LOWER, BESIDE])
    add("a longer name in two alphabets", "accepted", makers.statement([makers.secondary(name="Tür 7 \u2603 " * 5)]), [LOWER])


def refused_statements(add, makers):
    good = makers.statement([makers.secondary()])
    add("cut", "malformed", good[:-1])
    add("by a stranger", "threshold", makers.statement([], by=(makers.stranger,)))
    add("signed by a device below it", "threshold", makers.statement([], by=(makers.far,)))
    add("two signatures", "threshold", makers.statement([], by=(makers.carrier, makers.stranger)))
    add("no signature", "threshold", makers.statement([], by=[]))
    add("signed as a report", "threshold", makers.statement([], signed="report"))
    add("a report's type, well signed", "wrong-type", makers.statement([], kind="report"))
    add("of another device", "wrong-device", makers.statement([], device=OTHER))
    add("of another pairing", "wrong-device", makers.statement([], pairing=LOWER))
    add("about another app", "wrong-app", makers.statement([], app="org.example.other"))
    add("the last counter again", "replayed", makers.statement([]), before=[makers.statement([])])
    add("a lower counter", "replayed", makers.statement([], counter=8), before=[makers.statement([])])
    add("65 statements", "too-many", makers.statement(
        [makers.secondary()], [makers.below([], counter=number) for number in range(1, 65)]))


def faulty_secondaries(add, makers):
    """Each costs itself only."""
    good = makers.secondary()
    faults = {
        "it names its reader": ("wrong-device", makers.beside(device=PRIMARY)),
        "it names its maker": ("wrong-device", makers.beside(device=CARRIER)),
        "a pairing of the reader": ("wrong-device", makers.beside(pairing=UPPER)),
        "another's vendor target": ("wrong-target", makers.beside(target=vendor(PRIMARY))),
        "two keys for a device": ("key-changed", makers.beside(device=FAR)),
    }
    for name, (fault, bad) in faults.items():
        add(name, "accepted", makers.statement([good, bad]), [LOWER], passed=[fault])
    before = makers.statement([good], counter=7)
    swapped, other = makers.secondary(reportKey=makers.stranger.public), makers.beside(pairing=LOWER)
    for name, fault, bad in (("another key for a device", "key-changed", swapped),
                             ("another device for a pairing", "wrong-device", other)):
        add(name, "accepted", makers.statement([bad]), [], before=[before], passed=[fault])
        add(f"{name}, which was gone", "accepted", makers.statement([bad]), [],
            before=[before, makers.statement([], counter=8)], passed=[fault])


def malformed_statements(add, makers):
    """Every breach of CFG-101."""
    bad = {f"no {name}": {name: None} for name in ("typ", "spec", "device", "pairing", "app", "counter")}
    bad |= {
        "typ of a report": {"typ": "report"}, "spec 1.1": {"spec": "1.1"}, "an unknown field": {"colour": "red"},
        "counter 0": {"counter": 0}, "a counter as text": {"counter": "9"}, "a short device": {"device": b"x"},
        "an application with a slash": {"app": "../x"}, "secondaries as a dictionary": {"secondaries": {}},
        "below as a text": {"below": "x"}, "a number below": {"below": [1]}, "no secondaries": {"secondaries": None},
        "no below": {"below": None},
    }
    for name, changes in bad.items():
        add(name, "payload-malformed", makers.statement([], **changes))
    parts = {f"a secondary without {name}": {name: None}
             for name in ("pairing", "device", "name", "reportKey", "epoch", "target", "installed")}
    parts |= {
        "a secondary with an unknown field": {"colour": "red"}, "an empty name": {"name": ""},
        "65 bytes of name": {"name": "x" * 65}, "epoch 0": {"epoch": 0}, "an epoch of 2^32": {"epoch": 1 << 32},
        "an epoch of 2^63": {"epoch": 1 << 63}, "a report key that is none": {"reportKey": b"key"},
        "installed as a number": {"installed": 1}, "a target without its kind": {"target": "house-7"},
    }
    for name, changes in parts.items():
        add(name, "accepted", makers.statement([makers.secondary(**changes), makers.beside()]), [BESIDE],
            passed=["payload-malformed"])
    add("a secondary that is a number", "accepted", makers.statement([7, makers.secondary()]), [LOWER],
        passed=["payload-malformed"])
    add("one pairing twice", "accepted", makers.statement([makers.secondary(), makers.secondary(), makers.beside()]),
        [LOWER, BESIDE], passed=["payload-malformed"])
    add("below: a secondary that does not read", "accepted",
        makers.statement([makers.secondary()], [makers.below([makers.secondary(epoch=1 << 32), makers.next()])]),
        [LOWER, NEXT], passed=["payload-malformed"])
    add("129 secondaries", "payload-malformed", makers.statement(
        [makers.secondary(pairing=bytes([number] * 16), device=bytes([number] * 16)) for number in range(30, 159)]))


def statements_below(add, makers):
    honest = makers.below([makers.next()])
    both = [makers.secondary(), makers.beside()]
    add("one below", "accepted", makers.statement(both, [honest]), [LOWER, BESIDE, NEXT])
    add("the same one again", "accepted", makers.statement(both, [honest], counter=10), [LOWER, BESIDE, NEXT],
        before=[makers.statement(both, [honest])])
    add("one below is gone", "accepted", makers.statement(both, counter=10), [LOWER, BESIDE],
        before=[makers.statement(both, [honest])])
    faults = {
        "signed by the carrier above": ("threshold", makers.below([], by=(makers.carrier,))),
        "by none of the secondaries": ("wrong-device", makers.below([], device=LAST)),
        "about another app": ("wrong-app", makers.below([], app="org.example.other")),
        "it names the reader": ("wrong-device", makers.below([makers.next(device=PRIMARY)])),
        "it names the carrier above": ("wrong-device", makers.below([makers.next(device=CARRIER)])),
        "a target of the carrier above": ("wrong-target", makers.below([makers.next(target=vendor(CARRIER))])),
        "no statement at all": ("wrong-device", b"x"),
        "another key for its maker": ("threshold", makers.below([], by=(makers.last,))),
    }
    for name, (fault, below) in faults.items():
        add(f"below: {name}", "accepted", makers.statement(both, [below]), [LOWER, BESIDE], passed=[fault])
    add("below: a lower counter", "accepted", makers.statement(both, [makers.below([makers.next()], counter=2)], counter=10),
        [LOWER, BESIDE], before=[makers.statement(both, [honest])], passed=["replayed"])
    add("below: a lower counter after a restored store", "accepted",
        makers.statement([makers.secondary(epoch=2)], [makers.below([makers.next()], counter=1)], counter=10), [LOWER, NEXT],
        before=[makers.statement([makers.secondary()], [honest])])
    add("below: two of one maker", "accepted", makers.statement(both, [honest, makers.below([], counter=4)]),
        [LOWER, BESIDE, NEXT], passed=["wrong-device"])
    thief = makers.beside(pairing=NEXT, device=LAST, target=vendor(OTHER))
    theft = makers.below([thief], by=(makers.other,), device=OTHER, pairing=BESIDE)
    add("below: the pairing of a sibling's secondary, with another key", "accepted",
        makers.statement(both, [theft, honest], counter=10), [LOWER, BESIDE, NEXT], contested=[NEXT],
        before=[makers.statement(both, [honest])])
    add("below: a pairing that the carrier above names, too", "accepted",
        makers.statement(both, [makers.below([makers.next(pairing=BESIDE)])]), [LOWER, BESIDE], contested=[BESIDE])
    row(add, makers)


def row(add, makers):
    """Carriers in a row: four are followed."""
    signers = [makers.far, *(Signer(f"root{number}") for number in range(4, 8))]
    devices, pairings = ([bytes([first + number] * 16) for number in range(5)] for first in (0x60, 0x70))
    devices[0], pairings[0] = FAR, LOWER
    below = ()
    for number in reversed(range(4)):
        named = makers.secondary(pairing=pairings[number + 1], device=devices[number + 1],
                                 reportKey=signers[number + 1].public, target=vendor(devices[number]))
        below = [makers.below([named], below, by=(signers[number],), device=devices[number], pairing=pairings[number])]
    add("below: five carriers in a row", "accepted", makers.statement([makers.secondary()], below), pairings[:4],
        passed=["too-many"])
