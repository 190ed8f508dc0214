"""Cases of joining (Protocol/Pairing.md): the identifier and the fingerprint of a key (PAR-2, PAR-11), and the bodies
of `join` and `joined` with the bytes under their proofs (PAR-6 to PAR-9). All is computed from the text of the clauses.

Left out is all that the clauses do not settle: bounds of `reportKey`, versions below 1 or in the wrong order, a proof
that is missing from `joined` or that nobody asked for, and a separator of a fingerprint's groups.
"""
import base64
import hashlib
import hmac
import uuid

from . import keyfiles
from .curves import P256
from .formats import Signer
from .keys import KEYS
from .raw import Cases
from .values import canonical, notation

ABOUT = (
    "Joining, by `kind`. identifier (PAR-2): hex is a SubjectPublicKeyInfo; `pin` is its pin, `identifier` the "
    "device's vendor identifier, `vendor` that as a paired identifier. fingerprint (PAR-11): hex is a pin, `groups` "
    "are those of its fingerprint. join and joined (PAR-6, PAR-9): hex is a body that reads as `value`; `error` is "
    "the name of its refusal by an end that speaks version 1 only. Where a link is used, `message` is the bytes under "
    "the proof, on the connection with this `exporter` between the pins `primary` and `secondary`, by the link with "
    "this `token` and `secret`, and `proves` says whether the body's proof is the right one. A join with a wrong one "
    "is refused as join-refused (PAR-8), a joined with a wrong one closes the connection (PAR-9).")
EXPORTER, SECRET, TOKEN, PAIRING = (bytes(range(first, first + size)) for first, size in
                                    ((0xA0, 32), (0x40, 16), (0x70, 16), (0x10, 16)))
LABEL = {"join": b"tandem-join-1 secondary", "joined": b"tandem-join-1 primary"}
ABSENT = object()
LAST_EPOCH = 4_294_967_295


def sha256(data):
    return hashlib.sha256(data).digest()


def p256(name):
    x, y = P256.times(keyfiles.private(KEYS / f"{name}.pem"), P256.BASE)
    return keyfiles.public(keyfiles.P256, b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big"))


def rsa(name):
    n, e = keyfiles.private(KEYS / f"{name}.pem")[:2]
    return keyfiles.public(keyfiles.RSA, keyfiles.sequence(keyfiles.integer(n), keyfiles.integer(e)))


PUBLIC = {"ed25519": Signer("ed25519").public, "p256": p256("p256"), "rsa2048": rsa("rsa2048"),
          "stranger": Signer("stranger").public, "root1": Signer("root1").public, "root2": Signer("root2").public}
PRIMARY, SECONDARY, STRANGER = (sha256(PUBLIC[name]) for name in ("ed25519", "p256", "stranger"))
PRIMARY_KEY, SECONDARY_KEY = PUBLIC["root1"], PUBLIC["root2"]
FACTS = {"exporter": EXPORTER, "primary": PRIMARY, "secondary": SECONDARY, "token": TOKEN, "secret": SECRET}
JOIN = {"method": "token", "token": TOKEN, "name": "panel", "reportKey": SECONDARY_KEY, "minimum": 1, "maximum": 1}
JOINED = {"pairing": PAIRING, "epoch": 1, "name": "gateway", "reportKey": PRIMARY_KEY}


def made():
    cases = Cases(ABOUT)
    for part in (identifiers, fingerprints, joins, wrong_joins, unread_joins, answers, wrong_answers, unread_answers):
        part(cases)
    return cases.document()


# Keys

def identifiers(cases):
    for name in ("ed25519", "p256", "rsa2048", "stranger"):
        pin = sha256(PUBLIC[name])
        number = int.from_bytes(pin[:16], "big")
        number = number & ~(0xF << 76) | 8 << 76  # the version
        number = number & ~(0b11 << 62) | 0b10 << 62  # the variant
        identifier = uuid.UUID(int=number)
        cases.add(f"identifier of {name}", "PAR-2", PUBLIC[name], kind="identifier", pin=pin.hex(),
                  identifier=identifier.bytes.hex(), vendor=f"vendor:{str(identifier).upper()}")


def fingerprints(cases):
    for name, pin in (*((name, sha256(PUBLIC[name])) for name in ("ed25519", "p256", "rsa2048")), ("zeros", bytes(32)),
                      ("ones", b"\xff" * 32), ("the last bit", bytes(31) + b"\x01")):
        text = base64.b32encode(pin).decode().rstrip("=")
        groups = [text[start:start + 4] for start in range(0, len(text), 4)]
        assert list(map(len, groups)) == [4] * 13
        cases.add(f"fingerprint of {name}", "PAR-11", pin, kind="fingerprint", groups=groups)


# Proofs

def joined_by_length(*parts):
    """PAR-7: each part preceded by its length."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def parts_of(kind, facts, body):
    """The parts under the proof of a body, PAR-7 and PAR-9."""
    told = [LABEL[kind], facts["exporter"], facts["primary"], facts["secondary"], facts["token"],
            sha256(body["reportKey"]), body["name"].encode()]
    return told if kind == "join" else [*told, body["pairing"]]


def proof(facts, message):
    return hmac.new(facts["secret"], message, hashlib.sha256).digest()


def exchanged(cases, kind, clause, name, body, facts, given=None):
    """A body with its proof, or with another one that is given."""
    message = joined_by_length(*parts_of(kind, facts, body))
    right = proof(facts, message)
    body = {**body, "proof": right if given is None else given}
    assert given != right
    cases.add(f"{kind}: {name}", clause, canonical(body), kind=kind, value=notation(body), proves=given is None,
              message=message.hex(), **{key: value.hex() for key, value in facts.items()})


def says(cases, kind, name, changes=None, **facts):
    base, clause = (JOIN, "PAR-7") if kind == "join" else (JOINED, "PAR-9")
    facts = {**FACTS, **facts}
    body = {**base, **(changes or {})}
    exchanged(cases, kind, clause, name, {**body, "token": facts["token"]} if kind == "join" else body, facts)


def wrong(cases, kind, name, given):
    base, clause = (JOIN, "PAR-7") if kind == "join" else (JOINED, "PAR-9")
    exchanged(cases, kind, clause, name, base, FACTS, given)


def joins(cases):
    says(cases, "join", "by a link")
    says(cases, "join", "a name beyond ASCII", {"name": "K\u00fcche \U0001f642"})
    says(cases, "join", "a name of 64 bytes", {"name": "p" * 64})
    says(cases, "join", "an RSA report key", {"reportKey": PUBLIC["rsa2048"]})
    says(cases, "join", "a P-256 report key", {"reportKey": PUBLIC["p256"]})
    says(cases, "join", "later versions too", {"maximum": 3})
    says(cases, "join", "a secret of zeros and an exporter of ones", secret=bytes(16), exporter=b"\xff" * 32)
    says(cases, "join", "another secondary", secondary=STRANGER)
    by_hand = {key: value for key, value in JOIN.items() if key != "token"}
    trust(cases, "join", "by manual trust", {**by_hand, "method": "trust"})


def answers(cases):
    says(cases, "joined", "to a link")
    says(cases, "joined", "a name beyond ASCII", {"name": "K\u00fcche \U0001f642"})
    says(cases, "joined", "an RSA report key", {"reportKey": PUBLIC["rsa2048"]})
    says(cases, "joined", "another pairing", {"pairing": b"\xff" * 16})
    says(cases, "joined", "a pairing that goes on", {"epoch": 3})
    says(cases, "joined", "a pairing in the last epoch", {"epoch": LAST_EPOCH})
    says(cases, "joined", "another secondary", secondary=STRANGER)
    trust(cases, "joined", "to manual trust", JOINED)


def trust(cases, kind, name, body):
    cases.add(f"{kind}: {name}", "PAR-11", canonical(body), kind=kind, value=notation(body))


def wrong_proofs(cases, kind, body):
    """Proofs that are right for other facts, or made of the parts in another way."""
    parts = parts_of(kind, FACTS, body)

    def instead(**facts):
        facts = {**FACTS, **facts}
        return proof(facts, joined_by_length(*parts_of(kind, facts, body)))

    def of(parts):
        return proof(FACTS, joined_by_length(*parts))

    right = of(parts)
    for name, given in (
        ("the proof of another connection", instead(exporter=bytes(32))),
        ("the proof for another primary", instead(primary=STRANGER)),
        ("the proof for another secondary", instead(secondary=STRANGER)),
        ("the pins in the other order", instead(primary=SECONDARY, secondary=PRIMARY)),
        ("the proof of another token", instead(token=bytes(16))),
        ("the proof by another secret", instead(secret=bytes(16))),
        ("the label of the other end", of([LABEL["joined" if kind == "join" else "join"], *parts[1:]])),
        ("the proof of another name", of([*parts[:6], b"kiosk", *parts[7:]])),
        ("the proof of another report key", of([*parts[:5], sha256(PUBLIC["stranger"]), *parts[6:]])),
        ("the report key in place of its digest", of([*parts[:5], body["reportKey"], *parts[6:]])),
        ("the parts without their lengths", proof(FACTS, b"".join(parts))),
        ("lengths that are little-endian", proof(FACTS, b"".join(
            len(part).to_bytes(4, "little") + part for part in parts))),
        ("SHA-256 in place of HMAC", sha256(SECRET + joined_by_length(*parts))),
        ("the first bit flipped", bytes([right[0] ^ 0x80]) + right[1:]),
        ("the last bit flipped", right[:-1] + bytes([right[-1] ^ 1])),
        ("zeros", bytes(32)),
    ):
        wrong(cases, kind, name, given)


def wrong_joins(cases):
    wrong_proofs(cases, "join", JOIN)


def wrong_answers(cases):
    wrong_proofs(cases, "joined", JOINED)
    parts = parts_of("joined", FACTS, JOINED)
    wrong(cases, "joined", "the proof of another pairing", proof(FACTS, joined_by_length(*parts[:-1], bytes(16))))
    wrong(cases, "joined", "a proof without the pairing", proof(FACTS, joined_by_length(*parts[:-1])))
    wrong(cases, "joined", "the secondary's own proof",
          proof(FACTS, joined_by_length(*parts_of("join", FACTS, JOIN))))


# Bodies that are refused

def refuses(cases, kind, clause, name, key, value, error="envelope"):
    """The usual body with one key that has another value, or none."""
    base = JOIN if kind == "join" else JOINED
    body = {**base, "proof": proof(FACTS, joined_by_length(*parts_of(kind, FACTS, base))), key: value}
    body = {key: value for key, value in body.items() if value is not ABSENT}
    cases.add(f"{kind}: {name}", clause, canonical(body), kind=kind, value=notation(body), error=error)


def unread_joins(cases):
    kind, clause = "join", "PAR-6"
    for key in (*JOIN, "proof"):
        refuses(cases, kind, clause, f"no {key}", key, ABSENT)
    for name, key, value in (
        ("a token of 15 bytes", "token", bytes(15)), ("a token of 17 bytes", "token", bytes(17)),
        ("a token as text", "token", "x" * 16), ("a proof of 31 bytes", "proof", bytes(31)),
        ("a proof of 33 bytes", "proof", bytes(33)), ("a proof as text", "proof", "x" * 32),
        ("a name as data", "name", b"panel"), ("a report key as text", "reportKey", "key"),
        ("a version as text", "minimum", "1"), ("a version as a real", "maximum", 1.0),
        ("a version that is true", "maximum", True), ("a method as data", "method", b"token"),
    ):
        refuses(cases, kind, clause, name, key, value)
    refuses(cases, kind, "SES-2", "a name of no bytes", "name", "")
    refuses(cases, kind, "SES-2", "a name of 65 bytes", "name", "p" * 65)
    refuses(cases, kind, "SES-24", "an unknown method", "method", "magic")
    refuses(cases, kind, "SES-24", "an unknown key", "later", 1, "unknown-key")
    refuses(cases, kind, "SES-24", "a key of the answer", "pairing", PAIRING, "unknown-key")
    no_keys(cases, kind)
    body = {**JOIN, "minimum": 2, "maximum": 3}
    body["proof"] = proof(FACTS, joined_by_length(*parts_of(kind, FACTS, body)))
    cases.add("join: later versions only", "PAR-8", canonical(body), kind=kind, value=notation(body), error="version")


def unread_answers(cases):
    kind, clause = "joined", "PAR-9"
    for key in JOINED:
        refuses(cases, kind, clause, f"no {key}", key, ABSENT)
    for name, key, value in (
        ("a pairing of 15 bytes", "pairing", bytes(range(15))), ("a pairing of 17 bytes", "pairing", bytes(range(17))),
        ("a pairing as text", "pairing", "10111213-1415-1617-1819-1A1B1C1D1E1F"), ("an epoch as text", "epoch", "1"),
        ("an epoch as a real", "epoch", 1.0), ("a name as data", "name", b"gateway"),
        ("a report key as text", "reportKey", "key"), ("a proof of 31 bytes", "proof", bytes(31)),
        ("a proof as text", "proof", "x" * 32),
    ):
        refuses(cases, kind, clause, name, key, value)
    refuses(cases, kind, "SES-2", "a name of no bytes", "name", "")
    refuses(cases, kind, "SES-2", "a name of 65 bytes", "name", "g" * 65)
    refuses(cases, kind, "SES-30", "the pairing that is nobody's", "pairing", bytes(16))
    for epoch in (0, -1, LAST_EPOCH + 1, 2**64 - 1):
        refuses(cases, kind, "PAR-14", f"the epoch {epoch}", "epoch", epoch)
    refuses(cases, kind, "SES-24", "an unknown key", "later", 1, "unknown-key")
    refuses(cases, kind, "SES-24", "a key of the request", "method", "token", "unknown-key")
    no_keys(cases, kind)


def no_keys(cases, kind):
    key = JOIN["reportKey"]
    for name, value in (("that is none", b"key"), ("cut by a byte", key[:-1]), ("with a byte after it", key + b"\0"),
                        ("without its SubjectPublicKeyInfo", key[-32:]), ("as PEM", b"-----BEGIN PUBLIC KEY-----\n")):
        refuses(cases, kind, "PAR-8", f"a report key {name}", "reportKey", value)
