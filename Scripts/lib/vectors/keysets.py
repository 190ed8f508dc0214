"""Sequences of key sets, rotations, revocations and configurations under them (Protocol/SignedConfiguration.md, CFG-80
to CFG-95), and anchors that follow each other (CFG-17).
"""
import base64
import hashlib
import plistlib

from .envelopes import CONFIG, KEYSET, NOW, REVOCATION, TARGET, bplist, envelope, pae, payload, without_none
from .keys import keyid, public_pem, sign, spki

DESCRIPTION = (
    "Each sequence starts with a trusted anchor: a signed key set (base64) or a bare public key (PEM). Each step is an "
    "envelope (base64): a statement about keys, whose outcome is accepted, known or a rejection's name; a "
    "configuration for the target, judged as new, whose outcome is applicable or a rejection's name; or one that is "
    "loaded again (load), which can also be applicable-signer-revoked. A rejection changes nothing. A step may "
    "have its own time (now) and version mark. In the end this version of the key set is in force. Each succession is an "
    "anchor that is trusted and one that is learned later (CFG-17): replaces, known, or a rejection's name.")
ROOTS = tuple(f"root{number}" for number in range(1, 6))
SEQUENCES, SUCCESSIONS = [], []


def sequence(name, clause, anchor, *steps, version=None):
    """A case: what is trusted at first, and what comes then. A step is (kind, bytes, outcome) and fields of its context."""
    listed = [dict(kind=step[0], envelope=base64.b64encode(step[1]).decode(), outcome=step[2], **(step[3] if step[3:] else {}))
              for step in steps]
    trusted = {"pem": anchor} if isinstance(anchor, str) else {"keyset": base64.b64encode(anchor).decode()}
    SEQUENCES.append({"name": name, "clause": clause, "anchor": trusted, "steps": listed, "version": version})


def role(*names, threshold=1): return {"keyids": [keyid(name) for name in names], "threshold": threshold}


def keyset(ver=1, root=("root1",), need=1, config=("config1",), config_need=1, revoker=("revoker",), **changes):
    names = dict.fromkeys([*root, *config, *revoker])
    fields = {
        "typ": "keyset", "spec": "1.0", "app": "org.example.alarm", "role": "secondary", "ver": ver, "iat": NOW - 60,
        "keys": {keyid(name).hex(): spki(name) for name in names},
        "roles": {"config": role(*config, threshold=config_need), "keyset": role(*root, threshold=need),
                  "revocation": role(*revoker)},
    }
    fields.update(changes)
    return without_none(fields)


def signed_set(*signers, kind=KEYSET, **fields): return envelope(keyset(**fields), keys=signers, kind=kind)


def revocation(*revoked, keyset=1, signers=("revoker",), **changes):
    fields = {"typ": "revocation", "spec": "1.0", "app": "org.example.alarm", "role": "secondary", "keyset": keyset,
              "iat": NOW - 60, "revoked": [keyid(name) for name in revoked]}
    fields.update(changes)
    return envelope(without_none(fields), keys=signers, kind=REVOCATION)


def config(*signers, ver=7, keyset=1, **changes): return envelope(payload(ver=ver, keyset=keyset, **changes), keys=signers)


def rotation_cases():
    first = signed_set("root1")
    def two(*signers, **fields): return signed_set(*signers, **{"ver": 2, "root": ("root2",), **fields})
    sequence("one key replaced, signed by both", "CFG-84", first, ("statement", two("root1", "root2"), "accepted"), version=2)
    sequence("no signature of the old key", "CFG-84", first, ("statement", two("root2"), "threshold"), version=1)
    sequence("no signature of the new key", "CFG-84", first, ("statement", two("root1"), "threshold"), version=1)
    sequence("the same keys again", "CFG-84", first, ("statement", signed_set("root1", ver=2), "accepted"), version=2)
    sequence("signed by a stranger", "CFG-84", first, ("statement", two("stranger", "root2"), "threshold"), version=1)
    sequence("signed by the configuration's key", "CFG-84", first, ("statement", two("config1", "root2"), "threshold"), version=1)
    sequence("signed as a configuration", "CFG-84", first,
             ("statement", two("root1", "root2", kind=CONFIG), "wrong-type"), version=1)
    sequence("unsigned", "CFG-84", first, ("statement", two(), "threshold"), version=1)
    twice = {"keyid": keyid("root1"), "sig": sign("root1", pae(KEYSET, bplist(keyset(ver=2))))}
    sequence("one key signs twice", "CFG-84", first,
             ("statement", envelope(keyset(ver=2), kind=KEYSET, signatures=[twice, twice]), "accepted"), version=2)
    bad = {"keyid": keyid("root3"), "sig": b"x"}
    good = [{"keyid": keyid(name), "sig": sign(name, pae(KEYSET, bplist(keyset(ver=2, root=("root2", "root3")))))}
            for name in ("root1", "root2")]
    sequence("a bad signature among enough good ones", "CFG-84", first,
             ("statement", envelope(keyset(ver=2, root=("root2", "root3")), kind=KEYSET, signatures=[bad] + good), "accepted"),
             version=2)
    sequence("a version skipped", "CFG-84", first,
             ("statement", signed_set("root1", "root2", ver=3, root=("root2",)), "keyset-gap"), version=1)
    second = two("root1", "root2")
    third = signed_set("root2", "root3", ver=3, root=("root3",))
    fourth = signed_set("root3", ver=4, root=("root3",))
    sequence("two rotations while away, in order", "CFG-84", first,
             ("statement", second, "accepted"), ("statement", third, "accepted"), ("statement", fourth, "accepted"), version=4)
    sequence("the second of two rotations only", "CFG-84", first, ("statement", third, "threshold"), version=1)
    sequence("the same bytes again", "CFG-84", first, ("statement", second, "accepted"), ("statement", second, "known"),
             ("statement", first, "known"), version=2)
    sequence("an older step again", "CFG-84", first, ("statement", second, "accepted"), ("statement", third, "accepted"),
             ("statement", second, "known"), version=3)
    sequence("the version in force in another envelope", "CFG-84", first, ("statement", other_envelope(second), "accepted"),
             ("statement", second, "known"), ("statement", other_envelope(first), "known"), ("statement", third, "accepted"), version=3)
    sequence("256 revoked keys", "CFG-80", first, ("statement", two("root1", "root2", revoked=numbered(256)), "accepted"), version=2)
    sequence("the version in force with other bytes", "CFG-84", first, ("statement", second, "accepted"),
             ("statement", signed_set("root2", ver=2, root=("root2",), iat=NOW - 59), "equivocation"), version=2)
    sequence("a lower version with other bytes", "CFG-84", first, ("statement", second, "accepted"),
             ("statement", signed_set("root1", "root2", ver=1, iat=NOW - 59), "rollback"), version=2)
    sequence("another app's set", "CFG-84", first, ("statement", two("root1", "root2", app="org.example.other"), "wrong-app"),
             version=1)
    sequence("the primary's set", "CFG-84", first, ("statement", two("root1", "root2", role="primary"), "wrong-role"), version=1)
    sequence("a bare key as anchor", "CFG-15", public_pem("root1"), ("statement", signed_set("root1", ver=2), "no-key"), version=1)
    sequence("a statement that is none", "CFG-84", first, ("statement", envelope(kind="application/x"), "wrong-type"), version=1)
    sequence("16,385 bytes", "CFG-83", first, ("statement", second + b"\0" * (16385 - len(second)), "oversize"), version=1)
    sequence("an unknown critical field", "CFG-80", first,
             ("statement", two("root1", "root2", crit=["colour"], colour="red"), "crit"), version=1)
    sequence("an unknown field", "CFG-80", first, ("statement", two("root1", "root2", colour="red"), "accepted"), version=2)
    sequence("spec 2.0", "CFG-80", first, ("statement", two("root1", "root2", spec="2.0"), "wrong-type"), version=1)


def threshold_cases():
    five = signed_set(*ROOTS[:3], root=ROOTS, need=3)
    one_new = ROOTS[:4] + ("root6",)
    other = ("root6", "root7", "root8", "root9", "root10")
    def step(*signers, root=one_new, need=3): return signed_set(*signers, ver=2, root=root, need=need)
    cases = {
        "3 of 5, one replaced, signed by three that stay": (step("root1", "root2", "root3"), "accepted"),
        "3 of 5, one replaced, signed by two that stay and the new one": (step("root1", "root2", "root6"), "threshold"),
        "3 of 5, one replaced, signed by two that stay, the one that goes and the new one":
            (step("root1", "root2", "root5", "root6"), "accepted"),
        "3 of 5, one replaced, the new side one short": (step("root1", "root2", "root5"), "threshold"),
        "3 of 5, all replaced": (step(*ROOTS[:3], *other[:3], root=other), "accepted"),
        "3 of 5, all replaced, the old side one short": (step(*ROOTS[:2], *other, root=other), "threshold"),
        "3 of 5, all replaced, the new side one short": (step(*ROOTS, *other[:2], root=other), "threshold"),
        "3 of 5 to 1 of 5, signed by one": (step("root1", root=ROOTS, need=1), "threshold"),
        "3 of 5 to 1 of 5, signed by three": (step(*ROOTS[:3], root=ROOTS, need=1), "accepted"),
        "3 of 5 to 5 of 5, signed by three": (step(*ROOTS[:3], root=ROOTS, need=5), "threshold"),
        "3 of 5 to 5 of 5, signed by all": (step(*ROOTS, root=ROOTS, need=5), "accepted"),
        "3 of 5 to 1 of 1 that stays": (step(*ROOTS[:3], root=("root1",), need=1), "accepted"),
    }
    for name, (data, outcome) in cases.items():
        sequence(name, "CFG-84", five, ("statement", data, outcome), version=2 if outcome == "accepted" else 1)
    anchor = signed_set("root1", config=("config1", "config2"), config_need=2)
    configs = {
        "2 of 2 configuration keys": (("config1", "config2"), "applicable"),
        "1 of 2 configuration keys": (("config1",), "threshold"),
        "1 of 2 configuration keys and the root": (("config1", "root1"), "threshold"),
        "1 of 2 configuration keys and the revoker": (("config1", "revoker"), "threshold"),
        "2 of 2 configuration keys and a stranger": (("stranger", "config1", "config2"), "applicable"),
    }
    for name, (signers, outcome) in configs.items():
        sequence(name, "CFG-20 8", anchor, ("configuration", config(*signers), outcome), version=1)


def legality_cases():
    first = signed_set("root1")
    nine = {"keyids": [keyid("config1")] * 9, "threshold": 6}
    def roles(**changes):
        made = keyset()["roles"]
        made.update(changes)
        return {name: value for name, value in made.items() if value is not None}
    keys = keyset()["keys"]
    wrong = dict(keys)
    wrong["00" * 32] = wrong.pop(keyid("config1").hex())
    upper = {name.upper(): key for name, key in keys.items()}
    second_spelling = dict(keys)
    second_spelling[hashlib.sha256(spki("config1") + b"\0").hexdigest()] = spki("config1") + b"\0"
    twice = dict(keys)
    twice["11" * 32] = spki("config1")
    def with_key(name): return {**keys, keyid(name).hex(): spki(name)}
    bad = {
        "threshold 0": {"roles": roles(config=role("config1", threshold=0))},
        "a negative threshold": {"roles": roles(config=role("config1", threshold=-1))},
        "a threshold of 2 for one key": {"roles": roles(config=role("config1", threshold=2))},
        "a threshold of 2^64-1": {"roles": roles(config=role("config1", threshold=2**64 - 1))},
        "one key nine times with threshold 6": {"roles": roles(config=nine)},
        "a role without keys": {"roles": roles(config={"keyids": [], "threshold": 1})},
        "a role with a key that is not there": {"roles": roles(config=role("stranger"))},
        "a role with a short key identifier": {"roles": roles(config={"keyids": [b"x"], "threshold": 1})},
        "an unknown role": {"roles": roles(report=role("config1"))},
        "no role config": {"roles": roles(config=None)},
        "no role keyset": {"roles": roles(keyset=None)},
        "no role revocation": {"roles": roles(revocation=None)},
        "a key under another identifier": {"keys": wrong},
        "one key under two identifiers": {"keys": twice},
        "one key in two spellings": {"keys": second_spelling},
        "key identifiers in capitals": {"keys": upper},
        "a listed key that is revoked": {"revoked": [keyid("config1")]},
        "a key that is withdrawn and not revoked": {"revoked": [keyid("config2")], "withdrawn": [keyid("stranger")]},
    }
    for name, changes in bad.items():
        sequence(name, "CFG-81", first, ("statement", signed_set("root1", ver=2, **changes), "keyset-illegal"), version=1)
    for name in ("rsa1024", "rsa-e3", "secp256k1"):
        sequence(f"a set with {name}", "CFG-81", first,
                 ("statement", signed_set("root1", ver=2, keys=with_key(name)), "weak-key"), version=1)
    sequence("a set with ed448", "CFG-81", first,
             ("statement", signed_set("root1", ver=2, keys=with_key("ed448")), "unknown-alg"), version=1)
    sequence("a set with P-256 and RSA", "CFG-81", first,
             ("statement", signed_set("root1", ver=2, config=("p256", "rsa2048"), config_need=2), "accepted"),
             ("configuration", config("p256", "rsa2048", keyset=2), "applicable"), version=2)
    malformed = {
        "version 0": {"ver": 0}, "a version as text": {"ver": "2"}, "no keys": {"keys": {}}, "keys is an array": {"keys": []},
        "a key as text": {"keys": {"00": "x"}}, "no roles": {"roles": None}, "roles is an array": {"roles": []},
        "a role with an extra field": {"roles": roles(config={**role("config1"), "alg": "x"})},
        "a threshold as text": {"roles": roles(config={"keyids": [keyid("config1")], "threshold": "1"})},
        "a threshold that is true": {"roles": roles(config={"keyids": [keyid("config1")], "threshold": True})},
        "a real threshold": {"roles": roles(config={"keyids": [keyid("config1")], "threshold": 1.0})},
        "revoked is empty": {"revoked": []}, "revoked names one twice": {"revoked": [keyid("stranger")] * 2},
        "a short revoked identifier": {"revoked": [b"x"]},
        "257 revoked keys": {"revoked": numbered(257)}, "withdrawn is empty": {"withdrawn": []},
        "no app": {"app": None}, "an unknown role's app": {"role": "x"},
        "no iat": {"iat": None}, "expires at iat": {"expires": NOW - 60}, "expires in 21 years": {"expires": NOW + 21 * 31557600},
        "minVer is empty": {"minVer": []}, "minVer is 0": {"minVer": [{"target": TARGET, "ver": 0}]},
        "minVer names a target twice": {"minVer": [{"target": TARGET, "ver": 1}] * 2},
    }
    for name, changes in malformed.items():
        outcome = "payload-malformed"
        fields = keyset(ver=2)
        fields.update(changes)
        sequence(f"a set with {name}", "CFG-80", first,
                 ("statement", envelope(without_none(fields), keys=["root1"], kind=KEYSET), outcome), version=1)


def numbered(count): return [hashlib.sha256(b"%d" % number).digest() for number in range(count)]


def other_envelope(data):
    """The same statement in an envelope that a carrier has changed: one more signature, by nobody's key."""
    fields = plistlib.loads(data)
    fields["signatures"].append({"keyid": b"\x01", "sig": b"\x02"})
    return bplist(fields)


def expiry_cases():
    first = signed_set("root1", expires=NOW + 100)
    ended = signed_set("root1", ver=2, expires=NOW - 1)
    third = signed_set("root1", ver=3)
    sequence("a set that has not expired", "CFG-86", first, ("configuration", config("config1"), "applicable"), version=1)
    sequence("a set that expires now", "CFG-86", first,
             ("configuration", config("config1"), "keyset-expired", {"now": NOW + 100}), version=1)
    sequence("an expired set in between", "CFG-86", first, ("statement", ended, "accepted"), ("statement", third, "accepted"),
             ("configuration", config("config1", keyset=3), "applicable"), version=3)
    sequence("an expired set at the end", "CFG-86", first, ("statement", ended, "accepted"),
             ("configuration", config("config1", keyset=2), "keyset-expired"),
             ("load", config("config1", keyset=2), "applicable"), version=2)
    sequence("a revocation under an expired set", "CFG-86", first, ("statement", ended, "accepted"),
             ("statement", revocation("config1", keyset=2), "accepted"), version=2)


def revocation_cases():
    anchor = signed_set("root1", config=("config1", "config2"))
    revoked = revocation("config1")
    held = config("config1")
    sequence("a key is revoked", "CFG-85", anchor, ("configuration", held, "applicable"), ("statement", revoked, "accepted"),
             ("configuration", held, "threshold"), ("configuration", config("config2"), "applicable"),
             ("load", held, "applicable-signer-revoked"), version=1)
    sequence("a key is revoked and withdrawn", "CFG-89", anchor,
             ("statement", revocation("config1", withdraw=True), "accepted"), ("load", held, "signer-revoked"),
             ("load", config("config2"), "applicable"), ("load", config("config1", "config2"), "applicable"), version=1)
    sequence("withdrawn later", "CFG-89", anchor, ("statement", revoked, "accepted"),
             ("statement", revocation("config1", withdraw=True), "accepted"), ("load", held, "signer-revoked"), version=1)
    sequence("the same key revoked again", "CFG-85", anchor, ("statement", revoked, "accepted"), ("statement", revoked, "known"),
             ("statement", revocation("config1", iat=NOW - 59), "known"), version=1)
    for name, signers in {"the root": ("root1",), "the revoked key": ("config1",), "a stranger": ("stranger",), "nobody": ()}.items():
        sequence(f"revoked by {name}", "CFG-85", anchor, ("statement", revocation("config1", signers=signers), "threshold"),
                 version=1)
    sequence("revoked under another set", "CFG-85", anchor, ("statement", revocation("config1", keyset=2), "old-keyset"), version=1)
    sequence("a key of no set", "CFG-85", anchor, ("statement", revocation("stranger"), "known"), version=1)
    sequence("a key of no set beside one of the set", "CFG-85", anchor, ("statement", revocation("stranger", "config1"), "accepted"),
             ("configuration", held, "threshold"), version=1)
    sequence("the last root key", "CFG-85", anchor, ("statement", revocation("root1"), "keyset-illegal"), version=1)
    sequence("a root key beside another", "CFG-85", anchor, ("statement", revocation("config1", "root1"), "keyset-illegal"),
             ("configuration", held, "applicable"), version=1)
    two = signed_set("root1", root=("root1", "root2"))
    sequence("one of two root keys", "CFG-85", two, ("statement", revocation("root1"), "keyset-illegal"),
             ("statement", signed_set("root1", "root2", ver=2, root=("root2",)), "accepted"),
             ("statement", revocation("root1", keyset=2), "accepted"), version=2)
    sequence("the revoker itself", "CFG-85", anchor, ("statement", revocation("revoker"), "accepted"),
             ("statement", revocation("config1"), "threshold"),
             ("statement", signed_set("root1", ver=2), "accepted"),
             ("statement", revocation("config1", keyset=2), "threshold"),
             ("statement", signed_set("root1", ver=3, revoker=("config2",)), "accepted"),
             ("statement", revocation("config1", keyset=3, signers=("config2",)), "accepted"), version=3)
    from_two = signed_set("root1", ver=2, config=("config2",))
    sequence("a key from before the anchor", "CFG-85", from_two, ("statement", revocation("config1", keyset=2), "known"),
             ("statement", signed_set("root1", ver=3, config=("config2",)), "accepted"), version=3)
    sequence("the thief of the revoker takes a key that the next set lists", "CFG-85", anchor, ("statement", revoked, "accepted"),
             ("statement", signed_set("root1", ver=2), "accepted"),
             ("configuration", config("config1", keyset=2), "threshold"),
             ("statement", signed_set("root1", ver=3, config=("config2",)), "accepted"),
             ("configuration", config("config2", keyset=3), "applicable"), version=3)
    sequence("a revocation in another envelope", "CFG-84", anchor, ("statement", other_envelope(revoked), "accepted"),
             ("statement", revoked, "known"), version=1)
    listed = [keyid("config1")]
    sequence("a rotation that withdraws", "CFG-89", anchor,
             ("statement", signed_set("root1", ver=2, config=("config2",), revoked=listed, withdrawn=listed), "accepted"),
             ("load", held, "signer-revoked"),
             ("statement", revocation("config1", withdraw=True), "old-keyset"), version=2)
    junk = {"keyid": keyid("config2"), "sig": b"x"}
    both = plistlib.loads(held)
    both["signatures"] += [junk, junk]
    sequence("two bad signatures for a revoked key", "CFG-89", anchor, ("statement", revocation("config2"), "accepted"),
             ("configuration", bplist(both), "applicable"), ("load", bplist(both), "applicable"), version=1)
    sequence("a bare key cannot revoke", "CFG-15", public_pem("config1"),
             ("statement", revocation("config1", signers=("config1",)), "no-key"), version=1)
    later = signed_set("root1", ver=2, config=("config2",))
    sequence("a revoked key stays revoked after a rotation", "CFG-87", anchor, ("statement", revoked, "accepted"),
             ("statement", later, "accepted"), ("load", held, "applicable-signer-revoked"),
             ("statement", signed_set("root1", ver=3, config=("config1",)), "accepted"),
             ("configuration", config("config1", keyset=3), "threshold"), version=3)
    sequence("a rotation that names it as revoked", "CFG-87", anchor,
             ("statement", signed_set("root1", ver=2, config=("config2",), revoked=[keyid("config1")]), "accepted"),
             ("load", held, "applicable-signer-revoked"),
             ("statement", signed_set("root1", ver=3, config=("config1",)), "keyset-illegal"), version=2)
    sequence("a key that was left out comes back", "CFG-87", anchor, ("statement", later, "accepted"), ("load", held, "applicable"),
             ("statement", signed_set("root1", ver=3, config=("config1",)), "accepted"), version=3)
    sequence("a key of an earlier set is revoked", "CFG-85", anchor, ("statement", later, "accepted"),
             ("statement", revocation("config1", keyset=2), "accepted"), ("load", held, "applicable-signer-revoked"), version=2)
    for name, changes in {"no list": {"revoked": None}, "an empty list": {"revoked": []}, "one twice": {"revoked": [keyid("config1")] * 2},
                          "keyset 0": {"keyset": 0}, "withdraw as a number": {"withdraw": 1}}.items():
        sequence(f"a revocation with {name}", "CFG-82", anchor,
                 ("statement", revocation("config1", **changes), "payload-malformed"), version=1)
    sequence("a revocation for the primary's app", "CFG-85", anchor,
             ("statement", revocation("config1", role="primary"), "wrong-role"), version=1)
    sequence("a revocation for another app", "CFG-85", anchor,
             ("statement", revocation("config1", app="org.example.other"), "wrong-app"), version=1)


def mark_cases():
    anchor = signed_set("root1")
    replaced = signed_set("root1", ver=2, config=("config2",))
    kept = signed_set("root1", ver=2, config=("config1", "config2"))
    highest = {"mark": {"version": 2**64 - 1, "keyset": 1}}
    sequence("all configuration keys replaced: versions start again", "CFG-88", anchor,
             ("configuration", config("config1"), "rollback", highest), ("statement", replaced, "accepted"),
             ("configuration", config("config2", ver=1, keyset=2), "applicable", highest),
             ("configuration", config("config2", ver=1, keyset=2), "rollback", {"mark": {"version": 2, "keyset": 2}}),
             ("configuration", config("config1"), "threshold", highest), version=2)
    sequence("one configuration key stays: versions go on", "CFG-88", anchor, ("statement", kept, "accepted"),
             ("configuration", config("config2", ver=1, keyset=2), "rollback", highest), version=2)
    sequence("replaced in two steps: versions go on", "CFG-88", anchor, ("statement", kept, "accepted"),
             ("statement", signed_set("root1", ver=3, config=("config2",)), "accepted"),
             ("configuration", config("config2", ver=1, keyset=3), "rollback", highest), version=3)
    least = signed_set("root1", ver=2, config=("config2",), minVer=[{"target": TARGET, "ver": 5}])
    sequence("below the lowest version of the set", "CFG-88", anchor, ("statement", least, "accepted"),
             ("configuration", config("config2", ver=4, keyset=2), "rollback"),
             ("configuration", config("config2", ver=5, keyset=2), "applicable", highest), version=2)
    sequence("signed under the set before", "CFG-20 14", anchor, ("statement", kept, "accepted"),
             ("configuration", config("config1"), "old-keyset"), ("load", config("config1"), "applicable"), version=2)


def succession(name, trusted, later, outcome):
    """A case: an anchor that is trusted, and one that is learned later."""
    def form(anchor): return {"pem": anchor} if isinstance(anchor, str) else {"keyset": base64.b64encode(anchor).decode()}
    SUCCESSIONS.append({"name": name, "clause": "CFG-17", "anchor": form(trusted), "later": form(later), "outcome": outcome})


def succession_cases():
    bare, first = public_pem("config1"), signed_set("root1")
    succession("the same bare key", bare, bare, "known")
    succession("another bare key", bare, public_pem("config2"), "anchor-conflict")
    succession("the key set of the bare key", bare, first, "replaces")
    succession("the bare key of the key set", first, bare, "known")
    succession("a key set with another key beside it", bare, signed_set("root1", config=("config1", "config2")), "anchor-conflict")
    succession("a key set with another key", bare, signed_set("root1", config=("config2",)), "anchor-conflict")
    succession("a key set of version 2", bare, signed_set("root1", ver=2), "anchor-conflict")
    succession("the same key set", first, first, "known")
    succession("the same key set in another envelope", first, other_envelope(first), "known")
    succession("another key set with the same key", first, signed_set("root2", root=("root2",)), "anchor-conflict")


def made():
    SEQUENCES.clear()
    SUCCESSIONS.clear()
    succession_cases()
    for add in (rotation_cases, threshold_cases, legality_cases, expiry_cases, revocation_cases, mark_cases):
        add()
    return {"description": DESCRIPTION, "app": "org.example.alarm", "role": "secondary", "target": TARGET, "now": NOW,
            "sequences": SEQUENCES, "successions": SUCCESSIONS}
