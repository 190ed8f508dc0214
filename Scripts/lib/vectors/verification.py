"""Signed configuration envelopes and what a verifier must answer (Protocol/SignedConfiguration.md, CFG-20)."""
import base64
import hashlib
import plistlib

from .envelopes import CONFIG, NOW, REPORT, TARGET, bplist, envelope, pae, payload
from .keys import keyid, public_pem, sign

DESCRIPTION = (
    "Each envelope (base64), verified with the anchor (PEM, or none) in the context, has the outcome: "
    "applicable, already-active, or a rejection's name. Clauses are those of Protocol/SignedConfiguration.md; "
    "a number after one is a step of CFG-20. Device and digests are hexadecimal, times are seconds since 1970. "
    "The profile is a row of CFG-21: full, all steps; forwarding, those of a primary; load, the load profile. clockFloor is "
    "the floor of CFG-33; without one it is the build's date, here 1795219200 (2026-11-21).")
DEVICE = bytes(range(16))
OTHER_DEVICE = bytes(range(1, 17))
ANCHORS = "ed25519", "p256", "rsa2048", "rsa1024", "rsa-e3", "secp256k1", "ed448"
CASES = []


def case(name, clause, outcome, data, anchor="ed25519", **context):
    measured = {"profile": "full", "app": "org.example.alarm", "role": "secondary", "target": TARGET,
                "device": DEVICE.hex(), "now": NOW}
    measured.update(context)
    CASES.append({"name": name, "clause": clause, "outcome": outcome, "anchor": anchor, "context": measured,
                  "envelope": base64.b64encode(data).decode()})


def signature_cases():
    good = envelope()
    case("good with Ed25519", "CFG-20", "applicable", good)
    case("good with P-256", "CFG-4", "applicable", envelope(keys=["p256"]), anchor="p256")
    case("good with RSA 2048", "CFG-4", "applicable", envelope(keys=["rsa2048"]), anchor="rsa2048")
    case("an extra signature by an unknown key is ignored", "CFG-20 6", "applicable", envelope(keys=["stranger", "ed25519"]))
    two = {"keyid": b"\x01\x02", "sig": b""}
    signed = {"keyid": keyid("ed25519"), "sig": sign("ed25519", pae(CONFIG, bplist(payload())))}
    case("unknown keys may repeat and have any form", "CFG-20 6", "applicable", envelope(signatures=[two, two, signed]))
    case("no signature", "CFG-20 8", "threshold", envelope(signatures=[]))
    case("another key under the right keyid", "CFG-20 8", "threshold",
         envelope(signatures=[{"keyid": keyid("ed25519"), "sig": sign("stranger", pae(CONFIG, bplist(payload())))}]))
    strange = {"an empty keyid": b"", "a short keyid": keyid("ed25519")[:31], "another key's keyid": keyid("stranger"),
               "a keyid of zeros": b"\0" * 32}
    for name, bad in strange.items():
        case(f"the right key under {name}", "CFG-4", "threshold",
             envelope(signatures=[{"keyid": bad, "sig": signed["sig"]}]))
    case("one keyid twice", "CFG-20 6", "dup-keyid", envelope(signatures=[signed, signed]))
    case("a byte after the signature", "CFG-20 8", "threshold",
         envelope(signatures=[{"keyid": signed["keyid"], "sig": signed["sig"] + b"\0"}]))
    case("payload changed after signing", "CFG-5", "threshold",
         envelope(body=bplist(payload(ver=8)), signatures=[signed]))
    case("signed without the encoding", "CFG-2", "threshold", envelope(message=lambda kind, body: body))
    case("a count with a leading zero", "CFG-2", "threshold",
         envelope(message=lambda kind, body: b"DSSEv1 0%d %s %d %s" % (len(kind), kind.encode(), len(body), body)))
    case("the boundary between type and payload moved", "CFG-2", "threshold",
         envelope(message=lambda kind, body: pae(kind + " ", body)))
    case("a report's type, well signed", "CFG-20 9", "wrong-type", envelope(kind=REPORT))
    case("signed as a report, labelled as a configuration", "CFG-2", "threshold",
         envelope(message=lambda kind, body: pae(REPORT, body)))
    case("a type that is not ASCII is counted in bytes", "CFG-2", "wrong-type", envelope(kind="application/é"))
    case("a type that is not ASCII is counted in characters", "CFG-2", "threshold",
         envelope(kind="application/é", message=lambda kind, body: b"DSSEv1 %d %s %d %s" % (
             len(kind), kind.encode(), len(body), body)))
    case("no anchor", "CFG-20 5", "no-key", good, anchor=None)
    case("RSA 1024", "CFG-16", "weak-key", good, anchor="rsa1024")
    case("RSA with exponent 3", "CFG-16", "weak-key", good, anchor="rsa-e3")
    case("secp256k1", "CFG-16", "weak-key", good, anchor="secp256k1")
    case("Ed448", "CFG-16", "unknown-alg", good, anchor="ed448")


def shape_cases():
    good = envelope()
    case("65,537 bytes", "CFG-20 1", "oversize", good + b"\0" * (65537 - len(good)))
    case("nothing", "CFG-20 2", "malformed", b"")
    case("a byte after the envelope", "CFG-20 2", "malformed", good + b"\0")
    case("a byte missing", "CFG-20 2", "malformed", good[:-1])
    case("XML", "CFG-20 2", "malformed", plistlib.dumps({"v": 1}))
    case("JSON", "CFG-20 2", "malformed", b'{"v": 1}')
    case("another version of the format", "CFG-20 2", "malformed", b"bplist15" + good[8:])
    case("an array at the root", "CFG-20 2", "malformed", bplist([1]))
    case("v is 2", "CFG-1", "shape", envelope(v=2))
    case("v is true", "CFG-1", "shape", envelope(v=True))
    case("an extra key", "CFG-1", "shape", envelope(alg="ed25519"))
    case("no payload", "CFG-1", "shape", envelope(payload=None))
    case("payload is a string", "CFG-1", "shape", envelope(payload="x"))
    case("payloadType is data", "CFG-1", "shape", envelope(payloadType=b"x"))
    case("signatures is a dictionary", "CFG-1", "shape", envelope(signatures={}))
    case("a signature with an extra key", "CFG-1", "shape", envelope(signatures=[{"keyid": b"", "sig": b"", "alg": "x"}]))
    case("a keyid as text", "CFG-1", "shape", envelope(signatures=[{"keyid": "x", "sig": b""}]))
    case("65 signatures", "CFG-1", "shape", envelope(signatures=[{"keyid": b"", "sig": b""}] * 65))


def payload_cases():
    def signed(**changes): return envelope(payload(**changes))
    bad = {
        "no target": {"target": None}, "a target without its kind": {"target": "hw-1"},
        "a vendor target in lower case": {"target": TARGET.lower()}, "an empty custom target": {"target": "custom:"},
        "a wildcard target": {"target": "*"}, "version 0": {"ver": 0}, "a negative version": {"ver": -1},
        "a real for a version": {"ver": 1.0}, "true for a version": {"ver": True}, "text for a version": {"ver": "7"},
        "a short txid": {"txid": b"x" * 15}, "no txid": {"txid": None}, "no iat": {"iat": None},
        "keyset 0": {"keyset": 0}, "values is an array": {"values": []}, "no values": {"values": None},
        "data among the values": {"values": {"a": b"x"}}, "an unknown role": {"role": "Secondary"},
        "an application with a slash": {"app": "../x"}, "no typ": {"typ": None}, "spec is a number": {"spec": 1},
        "only is empty": {"only": []}, "only has 65 entries": {"only": [bytes([n]) * 16 for n in range(65)]},
        "only names one twice": {"only": [DEVICE, DEVICE]}, "only holds text": {"only": ["x"]},
        "crit is empty": {"crit": []}, "expires is iat": {"expires": NOW - 60},
        "expires before iat": {"expires": NOW - 61}, "expires 400 days and 1 second after iat": {"expires": NOW - 60 + 34560001},
        "expires at 2^64-1": {"expires": 2**64 - 1}, "lifetime 0": {"lifetime": 0}, "floor 0": {"floor": 0},
        "nbf is negative": {"nbf": -1},
    }
    for name, changes in bad.items():
        case(name, "CFG-10", "payload-malformed", signed(**changes))
    case("a payload that is no property list", "CFG-20 10", "payload-malformed", envelope(body=b"bplist00"))
    case("a payload in XML", "CFG-20 10", "payload-malformed", envelope(body=plistlib.dumps(payload())))
    case("a payload in JSON", "CFG-20 10", "payload-malformed", envelope(body=b"{}"))
    case("an envelope in the payload", "CFG-20 10", "payload-malformed", envelope(body=envelope()))
    case("an unknown field is ignored", "CFG-11", "applicable", signed(colour="red"))
    case("an unknown critical field", "CFG-20 11", "crit", signed(colour="red", crit=["colour"]))
    case("a known critical field", "CFG-20 11", "applicable", signed(crit=["lifetime", "values"]))
    case("typ of a report", "CFG-20 11", "wrong-type", signed(typ="report"))
    case("spec 1.7", "CFG-10", "applicable", signed(spec="1.7"))
    case("spec 2.0", "CFG-20 11", "wrong-type", signed(spec="2.0"))
    case("spec 1.", "CFG-20 11", "wrong-type", signed(spec="1."))
    case("for the primary's app", "CFG-20 11", "wrong-role", signed(role="primary"))
    case("only with role primary", "CFG-10", "payload-malformed", signed(role="primary", only=[DEVICE]))
    case("for another application", "CFG-20 12", "wrong-app", signed(app="org.example.other"))
    case("expires exactly 400 days after iat", "CFG-10", "applicable", signed(expires=NOW - 60 + 34560000))
    case("the highest version", "CFG-10", "applicable", signed(ver=2**64 - 1))


def target_cases():
    def signed(**changes): return envelope(payload(**changes))
    case("another vendor", "CFG-20 13", "wrong-target", signed(target="vendor:0123ABCD-0000-8000-8000-0123456789AC"))
    case("custom text that spells the vendor", "CFG-20 13", "wrong-target", signed(target="custom:" + TARGET[7:]))
    case("a custom target", "CFG-20 13", "applicable", signed(target="custom:hw-1"), target="custom:hw-1")
    case("another case", "CFG-20 13", "wrong-target", signed(target="custom:HW-1"), target="custom:hw-1")
    case("equal only under normalisation", "CFG-20 13", "wrong-target", signed(target="custom:cafe\u0301"), target="custom:caf\u00e9")
    case("a NUL after it", "CFG-10", "payload-malformed", signed(target="custom:hw-1\0"), target="custom:hw-1")
    case("the device among others", "CFG-20 13", "applicable", signed(only=[OTHER_DEVICE, DEVICE]))
    case("other devices only", "CFG-20 13", "wrong-target", signed(only=[OTHER_DEVICE]))
    case("the primary does not look at the target", "CFG-21", "applicable", signed(target="custom:hw-1"), profile="forwarding")
    case("the primary looks at the role", "CFG-21", "applicable", signed(), profile="forwarding")


def freshness_cases():
    def signed(**changes): return envelope(payload(**changes))
    def mark(version, signed=b"\x11" * 32, floor=0, active=True, closed=False):
        return {"version": version, "signed": signed.hex(), "floor": floor, "active": active, "closed": closed}
    good = envelope()
    same = hashlib.sha256(pae(CONFIG, bplist(payload()))).digest()
    case("signed under another key set", "CFG-20 14", "old-keyset", signed(keyset=2))
    case("a lower version", "CFG-30 c", "rollback", good, mark=mark(8))
    case("the next version", "CFG-30 d", "applicable", good, mark=mark(6))
    case("the same bytes, active", "CFG-30 a", "already-active", good, mark=mark(7, same))
    case("another envelope around what is active", "CFG-30 a", "already-active", envelope(keys=["ed25519", "stranger"]),
         mark=mark(7, same))
    case("the same version, other bytes", "CFG-30 b", "equivocation", good, mark=mark(7))
    case("the same bytes, reverted", "CFG-30 c", "rollback", good, mark=mark(7, same, active=False))
    case("the same bytes after unpairing", "CFG-31", "rollback", good, mark=mark(7, same, active=False, closed=True))
    case("other bytes after unpairing", "CFG-31", "rollback", good, mark=mark(7, active=False, closed=True))
    case("a higher version after unpairing", "CFG-31", "applicable", good, mark=mark(6, active=False, closed=True))
    case("below the floor", "CFG-30 c", "rollback", good, mark=mark(6, floor=8))
    case("at the floor", "CFG-30 d", "applicable", good, mark=mark(6, floor=7))
    case("the primary does not look at versions", "CFG-21", "applicable", good, mark=mark(8), profile="forwarding")
    case("what is applied is loaded whatever its version", "CFG-21", "applicable", signed(keyset=2), mark=mark(8), profile="load")
    case("expires is now", "CFG-20 16", "expired", signed(expires=NOW))
    case("expired by a second", "CFG-20 16", "expired", signed(expires=NOW - 1, iat=NOW - 60))
    case("expires in a second", "CFG-20 16", "applicable", signed(expires=NOW + 1))
    case("what has expired is loaded all the same", "CFG-21", "applicable", signed(expires=NOW - 1), profile="load")
    case("iat 300 s ahead", "CFG-20 16", "applicable", signed(iat=NOW + 300))
    case("iat 301 s ahead", "CFG-20 16", "future", signed(iat=NOW + 301))
    case("iat at 2^64-1", "CFG-20 16", "future", signed(iat=2**64 - 1))
    case("nbf 301 s ahead", "CFG-20 16", "future", signed(nbf=NOW + 301))
    case("the clock at 1970", "CFG-33", "clock-unset", good, now=0)
    case("the clock below its floor", "CFG-33", "clock-unset", good, clockFloor=NOW + 1)
    case("the clock at its floor", "CFG-33", "applicable", good, clockFloor=NOW)
    case("the clock in 2106", "CFG-20 16", "applicable", good, now=4294967296)


def made():
    CASES.clear()
    for add in (signature_cases, shape_cases, payload_cases, target_cases, freshness_cases):
        add()
    return {"description": DESCRIPTION, "anchors": {name: public_pem(name) for name in ANCHORS}, "cases": CASES}
