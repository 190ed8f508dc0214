"""Cases of the bodies of `hello`, `register`, `application` and `state` (SES-2, SES-5, SES-7, SES-16, SES-36): what each says,
with what an absent key means, and what is refused. Every one reads as a property list; `error` is about what it means.
"""
from .raw import Cases
from .values import canonical, notation

UUID, PEER, OTHER = bytes(range(16)), bytes(range(16, 32)), bytes(range(32, 48))
TARGET = "vendor:10111213-1415-1617-1819-1A1B1C1D1E1F"
PAIRING = {"pairing": UUID, "peer": PEER, "name": "panel", "role": "primary", "target": TARGET, "installed": True,
           "level": "immediate", "reason": "none", "since": 0, "changes": 0}
STATE = {"revision": 1, "active": UUID, "pairings": [PAIRING]}
APPLICATION = {"installed": True, "connected": False, "anchored": False}
CLIENT = {"minimum": 1, "maximum": 1, "capabilities": ["message", "userInfo"], "software": "example 1.0"}
SERVER = {"version": 1, "capabilities": ["message"], "software": "example 1.0", "role": "secondary", "device": PEER}
MARK = {"app": "org.example.alarm", "channel": "userInfo", "sequence": 7}
LINK = {**CLIENT, "role": "secondary", "device": PEER, "name": "panel", "epoch": 1, "instance": OTHER, "received": [MARK],
        "sent": []}
ABSENT = object()


def made():
    cases = Cases("Bodies of hello, register, application and state (SES-2, SES-5, SES-7, SES-16, SES-36): value is what hex reads "
                  "as; means, where it differs, what a writer makes of the same; error the name of the refusal.")
    for part in (hellos, link_hellos, registrations, applications, features, states, pairings):
        part(cases)
    return cases.compared()


def says(cases, kind, clause, name, body, means=None):
    told = {} if means is None else {"means": notation(means)}
    cases.add(f"{kind}: {name}", clause, canonical(body), kind=kind, value=notation(body), **told)


def refuses(cases, kind, clause, name, body):
    cases.add(f"{kind}: {name}", clause, canonical(body), kind=kind, value=notation(body), error="envelope")


def changed(body, key, value):
    return {name: one for name, one in {**body, key: value}.items() if one is not ABSENT}


def hellos(cases):
    kind, clause = "hello", "SES-2"
    says(cases, kind, clause, "a client's", CLIENT)
    says(cases, kind, clause, "a client's, of many versions", {**CLIENT, "minimum": 2, "maximum": 2**32 - 1})
    says(cases, kind, clause, "a client's without capabilities", {**CLIENT, "capabilities": []})
    says(cases, kind, clause, "a server's on a local socket", SERVER)
    says(cases, kind, "SES-3", "a capability that nobody knows", {**CLIENT, "capabilities": ["telepathy", "message"]},
         {**CLIENT, "capabilities": ["message"]})
    says(cases, kind, "SES-24", "a key that nobody knows", {**CLIENT, "later": 1}, CLIENT)
    for key in CLIENT:
        refuses(cases, kind, clause, f"without {key}", changed(CLIENT, key, ABSENT))
    refuses(cases, kind, clause, "a minimum above the maximum", {**CLIENT, "minimum": 2})
    for key, value in (("minimum", 0), ("minimum", -1), ("minimum", "1"), ("maximum", 2**32), ("maximum", 1.0),
                       ("capabilities", "message"), ("capabilities", ["message", 1]), ("software", b"example")):
        refuses(cases, kind, clause, f"{key} as {value!r}", changed(CLIENT, key, value))
    for key, value in (("version", 0), ("version", "1"), ("role", "third"), ("device", b"short")):
        refuses(cases, kind, clause, f"{key} as {value!r}", changed(SERVER, key, value))


def link_hellos(cases):
    kind, clause = "hello", "SES-2"

    def received(key, value):
        return {**LINK, "received": [changed(MARK, key, value)]}

    says(cases, kind, clause, "a client's on a link", LINK)
    says(cases, kind, clause, "a server's on a link", {**{key: LINK[key] for key in LINK if key not in CLIENT}, **SERVER})
    says(cases, kind, clause, "everything on a link", {
        **LINK, "name": "\u00fc" * 32, "epoch": 2**32 - 1, "clock": 1_800_000_000_000, "sent": [MARK],
        "received": [MARK, {**MARK, "channel": "configuration"}]})
    says(cases, kind, clause, "a sequence of 0", received("sequence", 0))
    says(cases, kind, "SES-3", "a channel that nobody knows", received("channel", "telepathy"), {**LINK, "received": []})
    for key in ("name", "epoch", "received", "sent"):
        refuses(cases, kind, clause, f"on a link without {key}", changed(LINK, key, ABSENT))
    for key, value in (("name", ""), ("name", "x" * 65), ("epoch", 0), ("epoch", 2**32), ("instance", b"short"),
                       ("received", MARK), ("received", [1]), ("sent", [[]]), ("clock", "noon")):
        refuses(cases, kind, clause, f"on a link with {key} as {value!r}", changed(LINK, key, value))
    for key in MARK:
        refuses(cases, kind, clause, f"an entry of received without {key}", received(key, ABSENT))
    for key, value in (("app", ".."), ("app", "x" * 129), ("app", b"app"), ("channel", 1), ("sequence", -1),
                       ("sequence", "7")):
        refuses(cases, kind, clause, f"an entry of received with {key} as {value!r}", received(key, value))


def registrations(cases):
    kind, clause = "register", "SES-5"
    says(cases, kind, clause, "nothing said", {}, {"receives": True})
    says(cases, kind, clause, "a key that nobody knows", {"receives": True, "later": 1}, {"receives": True})
    says(cases, kind, clause, "one that only sends", {"receives": False})
    says(cases, kind, clause, "everything", {
        "receives": True, "anchor": b"-----BEGIN PUBLIC KEY-----\n", "identifier": "room 7", "complication": True,
        "allowsInvalidSignatures": True, "provides": ["audio", "video"]})
    says(cases, kind, clause, "what is said to be absent", {
        "receives": True, "allowsInvalidSignatures": False, "complication": False, "provides": []}, {"receives": True})
    says(cases, kind, clause, "an identifier of 256 bytes", {"receives": True, "identifier": "\u00fc" * 128})
    says(cases, kind, "SES-71", "a schema", {"receives": True, "schema": bytes(range(32))})
    for name, value in (("31 bytes", bytes(31)), ("a text", "x" * 32)):
        refuses(cases, kind, "SES-71", f"a schema of {name}", {"schema": value})
    for name, text in (("no bytes", ""), ("257 bytes", "x" * 257), ("a NUL", "a\0b")):
        refuses(cases, kind, clause, f"an identifier of {name}", {"identifier": text})
    for key, value in (("receives", 1), ("anchor", "text"), ("anchor", b"\xff"), ("identifier", b"room"),
                       ("allowsInvalidSignatures", 0)):
        refuses(cases, kind, clause, f"{key} as {value!r}", {key: value})


def applications(cases):
    kind, clause = "application", "SES-16"
    says(cases, kind, clause, "one that was installed", APPLICATION)
    says(cases, kind, clause, "everything", {
        "installed": True, "connected": True, "anchored": True, "identifier": "room 7", "seen": "background",
        "complication": True, "provides": ["audio"]})
    for level in ("unreachable", "background", "immediate"):
        says(cases, kind, clause, f"seen {level}", {**APPLICATION, "seen": level})
    for key in APPLICATION:
        refuses(cases, kind, clause, f"without {key}", changed(APPLICATION, key, ABSENT))
        refuses(cases, kind, clause, f"{key} as a number", changed(APPLICATION, key, 1))
    refuses(cases, kind, clause, "a level that is none", {**APPLICATION, "seen": "near"})


def features(cases):
    kind, clause = "register", "SES-36"
    said = {"receives": True}
    says(cases, kind, clause, "16 names of 64 bytes", {**said, "provides": [f"{n:064}" for n in range(16)]})
    for name, value in (("17 names", [f"{n:02}" for n in range(17)]), ("a name of 65 bytes", ["x" * 65]),
                        ("a name of no bytes", [""]), ("a name with a NUL", ["a\0"]), ("a name that is a number", [1]),
                        ("one name and no array", "audio")):
        refuses(cases, kind, clause, name, {**said, "provides": value})
    refuses(cases, kind, clause, "a complication that is a number", {**said, "complication": 1})


def states(cases):
    kind, clause = "state", "SES-7"
    says(cases, kind, clause, "no pairing", {"revision": 0, "pairings": []})
    says(cases, kind, clause, "one pairing", STATE)
    says(cases, kind, clause, "two pairings, and neither active", {
        "revision": 2**63 - 1, "pairings": [PAIRING, {**PAIRING, "pairing": OTHER, "level": "unreachable",
                                                      "reason": "pending"}]})
    for key in ("revision", "pairings"):
        refuses(cases, kind, clause, f"without {key}", changed(STATE, key, ABSENT))
    for key, value in (("revision", -1), ("revision", 1.0), ("active", b"short"), ("active", "text"), ("pairings", {}),
                       ("pairings", [1])):
        refuses(cases, kind, clause, f"{key} as {value!r}", changed(STATE, key, value))


def pairings(cases):
    kind, clause = "state", "SES-7"

    def one(key, value):
        return {**STATE, "pairings": [changed(PAIRING, key, value)]}

    says(cases, kind, clause, "a pairing with everything", {**STATE, "pairings": [{
        **PAIRING, "changes": 7, "since": 1500, "seen": "unreachable", "directory": "/var/lib/tandem/apps/x/p",
        "complication": True, "provides": ["audio"]}]})
    says(cases, kind, clause, "changes absent", one("changes", ABSENT), one("changes", 0))
    for reason in ("no-link", "no-heartbeat", "pending", "version", "stopping", "not-installed", "counterpart-absent"):
        level = "background" if reason in ("not-installed", "counterpart-absent") else "unreachable"
        says(cases, kind, clause, f"{level} for {reason}", {
            **STATE, "pairings": [{**PAIRING, "level": level, "reason": reason}]})
    for key in ("pairing", "peer", "name", "role", "target", "installed", "level", "reason", "since"):
        refuses(cases, kind, clause, f"a pairing without {key}", one(key, ABSENT))
    for key, value in (("pairing", b"short"), ("peer", "text"), ("role", "third"), ("target", "nobody:x"),
                       ("installed", 1), ("level", "near"), ("reason", "rain"), ("since", -1), ("changes", -1),
                       ("seen", "near"), ("directory", 1), ("complication", "yes")):
        refuses(cases, kind, clause, f"a pairing with {key} as {value!r}", one(key, value))
