"""Signatures and keys at the edges of their encodings, and what a verifier must answer (Protocol/SignedConfiguration.md
CFG-96 and CFG-97). Each class of deviation has cases that are good and cases that are not, so that a verifier that
refuses everything fails as surely as one that accepts everything.

Most refused cases hold mathematically: a verifier that lets the deviation pass finds a good signature. The others are
good signatures of another scheme.
"""
import hashlib

from . import keyfiles
from .curves import P256, PSS, Ed25519
from .keys import KEYS

ABOUT = (
    "Signatures and keys at the edges of their encodings (CFG-96, CFG-97). `key` is a SubjectPublicKeyInfo; `outcome` is "
    "`good` or `bad` for the signature of `message`, or the rejection of the key when it is loaded. The cases of one `class` "
    "differ in one property, and each class has a good case. `differs` names what the openssl command answers instead.")
ED25519, ECDSA, RSA = "ed25519", "ecdsa-p256-sha256", "rsa-pss-sha256"
MESSAGE = b"switch to night colours"
SALT = bytes(range(32))


class Edges:
    """The cases of the file, in order."""

    def __init__(self):
        self.list, self.names = [], set()

    def add(self, algorithm, kind, name, outcome, key, signature, message=MESSAGE, openssl=None):
        told = f"{algorithm.split('-')[0]}: {name}"
        assert told not in self.names, told
        self.names.add(told)
        case = {"name": told, "clause": "CFG-96" if outcome in ("good", "bad") else "CFG-97", "class": kind,
                "algorithm": algorithm, "key": key.hex(), "message": message.hex(), "signature": signature.hex(),
                "outcome": outcome}
        if openssl:
            case["differs"] = {"openssl": openssl}
        self.list.append(case)


def messages():
    """MESSAGE with a number: for what only some signatures have."""
    number = 0
    while True:
        yield MESSAGE + b" %d" % number
        number += 1


def made():
    edges = Edges()
    ed25519_cases(edges)
    ecdsa_cases(edges)
    pss_cases(edges)
    return {"about": ABOUT, "cases": edges.list}


# Ed25519

def ed25519_cases(edges):
    seed = keyfiles.private(KEYS / "ed25519.pem")
    scalar, _ = Ed25519.secret(seed)
    raw = Ed25519.encoded(Ed25519.times(scalar, Ed25519.BASE))
    good = Ed25519.sign(seed, MESSAGE)

    def add(kind, name, outcome, signature, key=raw, **more):
        edges.add(ED25519, kind, name, outcome, keyfiles.public(keyfiles.ED25519, key), signature, **more)

    r, s = good[:32], int.from_bytes(good[32:], "little")
    for kind in ("length", "order of S", "R of small order", "encoding of R", "message"):
        add(kind, f"as signed ({kind})", "good", good)
    add("length", "a byte after it", "bad", good + b"\0")
    for count in (0, 32, 63):
        add("length", f"cut to {count} bytes", "bad", good[:count])
    add("length", "a byte before it", "bad", b"\0" + good)
    for times in (1, 2, 14):
        add("order of S", f"S + {times} L", "bad", r + (s + times * Ed25519.L).to_bytes(32, "little"))
    for bit in (253, 254, 255):
        add("order of S", f"bit {bit} of S set", "bad", r + (s | 1 << bit).to_bytes(32, "little"))
    add("order of S", "S big-endian", "bad", r + good[:31:-1])
    add("message", "R and S exchanged", "bad", good[32:] + r)
    add("message", "of another message", "bad", good, message=MESSAGE + b"!")
    add("message", "of no message", "bad", good, message=b"")
    add("message", "the empty message", "good", Ed25519.sign(seed, b""), message=b"",
        openssl="cannot read an empty file")
    domain = b"SigEd25519 no Ed25519 collisions"
    add("message", "Ed25519ph", "bad",
        Ed25519.sign(seed, hashlib.sha512(MESSAGE).digest(), domain=domain + b"\1\0"))
    add("message", "Ed25519ctx", "bad", Ed25519.sign(seed, MESSAGE, domain=domain + b"\0\3app"))
    small_orders(edges, add, seed, scalar, raw)


def small_orders(edges, add, seed, scalar, raw):
    """Points of the eight small orders as R, as part of R, as key and as part of a key."""
    torsion = Ed25519.torsion()

    def responding(r, key=raw, message=MESSAGE):
        return r + (Ed25519.challenge(r, key, message) * scalar % Ed25519.L).to_bytes(32, "little")

    for number, point in enumerate(torsion):
        add("R of small order", f"R is {number} times a point of order 8", "bad", responding(Ed25519.encoded(point)),
            openssl="accepts it" if number == 0 else None)
        if number:
            add("R of small order", f"R is off by {number} times a point of order 8", "bad",
                Ed25519.sign(seed, MESSAGE, shift=point))
    loose = {"y of the identity plus p": (Ed25519.p + 1).to_bytes(32, "little"),
             "the identity with the sign of x": (1 | 1 << 255).to_bytes(32, "little"),
             "y of order 4 plus p": Ed25519.p.to_bytes(32, "little"),
             "the point of order 2 with the sign of x": (Ed25519.p - 1 | 1 << 255).to_bytes(32, "little")}
    for name, encoding in loose.items():
        add("encoding of R", f"R is {name}", "bad", responding(encoding))
    # With a key of small order the challenge drops out: one signature is good for many messages, or for all.
    add("key of small order", "an ordinary key", "good", Ed25519.sign(seed, MESSAGE))
    add("encoding of the key", "an ordinary encoding", "good", Ed25519.sign(seed, MESSAGE))
    for number, point in enumerate(torsion):
        signature, message = forged(Ed25519.encoded(point), seed)
        add("key of small order", f"the key is {number} times a point of order 8", "weak-key", signature,
            key=Ed25519.encoded(point), message=message, openssl="accepts it")
    for name, encoding in loose.items():
        signature, message = forged(encoding, seed)
        add("encoding of the key", f"the key is {name}", "no-key", signature, key=encoding, message=message,
            openssl="accepts it")
    add("encoding of the key", "the key's y is above p", "no-key", Ed25519.sign(seed, MESSAGE),
        key=(Ed25519.p + 3).to_bytes(32, "little"))
    nowhere = next(y for y in range(2, 100) if Ed25519.at(y) is None)
    add("encoding of the key", "the key is no point", "no-key", Ed25519.sign(seed, MESSAGE),
        key=nowhere.to_bytes(32, "little"))
    mixed = Ed25519.encoded(Ed25519.add(Ed25519.times(scalar, Ed25519.BASE), torsion[1]))
    found = set()
    for message in messages():
        signature = Ed25519.sign(seed, message, key=mixed)
        holds = Ed25519.challenge(signature[:32], mixed, message) % 8 == 0
        if holds not in found:
            found.add(holds)
            add("no cofactor", f"the equation holds {'without' if holds else 'only with'} the cofactor",
                "good" if holds else "bad", signature, key=mixed, message=message)
        if len(found) == 2:
            return


def forged(key, seed):
    """A signature without any secret, under a key of small order."""
    nonce, _ = Ed25519.secret(seed)
    r = Ed25519.encoded(Ed25519.times(nonce, Ed25519.BASE))
    message = next(one for one in messages() if Ed25519.challenge(r, key, one) % 8 == 0)
    return r + (nonce % Ed25519.L).to_bytes(32, "little"), message


# ECDSA over P-256

def ecdsa_cases(edges):
    secret = keyfiles.private(KEYS / "p256.pem")
    point = P256.times(secret, P256.BASE)
    own = uncompressed(point)

    def add(kind, name, outcome, signature, key=own, **more):
        edges.add(ECDSA, kind, name, outcome, keyfiles.public(keyfiles.P256, key), signature, **more)

    def found(wanted):
        """The first message whose signature is as wanted."""
        return next((one, r, s) for one in messages() for r, s in [P256.sign(secret, one)] if wanted(r, s))

    message, r, s = found(lambda r, s: r >> 255 == 0 and s.bit_length() > 248 and r.bit_length() > 248)
    der_cases(add, r, s, message)
    high, r_high, s_high = found(lambda r, s: r >> 255)
    add("leading zeros", "r with its one zero byte", "good", der(r_high, s_high), message=high)
    add("leading zeros", "r negative for want of its zero byte", "bad",
        keyfiles.sequence(keyfiles.element(2, r_high.to_bytes(32, "big")), keyfiles.integer(s_high)), message=high)
    short, r_short, s_short = found(lambda r, s: r < 1 << 247 or s < 1 << 247)
    add("leading zeros", "a number of 31 bytes", "good", der(r_short, s_short), message=short)
    add("leading zeros", "a number of 31 bytes filled up to 32", "bad", keyfiles.sequence(
        *(keyfiles.element(2, one.to_bytes(32, "big")) for one in (r_short, s_short))), message=short)
    number_cases(add, r, s, message)
    made_for_signature(add)
    add("digest", "SHA-256", "good", der(r, s), message=message)
    for name in ("sha1", "sha384", "sha512"):
        add("digest", name.upper().replace("SHA", "SHA-"), "bad", der(*P256.sign(secret, message, name)),
            message=message)
    add("digest", "of another message", "bad", der(r, s), message=message + b"!")
    point_cases(add, point, der(r, s), message)


def uncompressed(point):
    return b"\4" + b"".join(one.to_bytes(32, "big") for one in point)


def der(r, s):
    return keyfiles.sequence(keyfiles.integer(r), keyfiles.integer(s))


def der_cases(add, r, s, message):
    """One pair of numbers in every spelling but the one of DER."""
    one, two = keyfiles.integer(r), keyfiles.integer(s)
    body, good = one + two, der(r, s)
    add("BER", "as DER has it", "good", good, message=message)
    spellings = {
        "the sequence's length in two bytes": b"\x30\x81" + bytes([len(body)]) + body,
        "the sequence's length in three bytes": b"\x30\x82\0" + bytes([len(body)]) + body,
        "the sequence's length in five bytes": b"\x30\x84\0\0\0" + bytes([len(body)]) + body,
        "an indefinite length": b"\x30\x80" + body + b"\0\0",
        "r's length in two bytes": keyfiles.sequence(b"\x02\x81" + one[1:], two),
        "s's length in two bytes": keyfiles.sequence(one, b"\x02\x81" + two[1:]),
        "a long form of the tag": b"\x3f\x10" + good[1:],
        "a set": keyfiles.element(0x31, body), "a primitive sequence": keyfiles.element(0x10, body),
        "r as octets": keyfiles.sequence(keyfiles.element(4, one[2:]), two),
        "s as bits": keyfiles.sequence(one, keyfiles.element(3, b"\0" + two[2:])),
        "both numbers without a sequence": body, "r and s as 64 bytes": r.to_bytes(32, "big") + s.to_bytes(32, "big"),
        "r alone": keyfiles.sequence(one), "three numbers": keyfiles.sequence(one, two, two),
        "an empty sequence": keyfiles.sequence(), "nothing": b"",
        "a length over the end": b"\x30" + bytes([len(body) + 1]) + body,
        "a length short of the end": b"\x30" + bytes([len(body) - 1]) + body,
    }
    for name, spelling in spellings.items():
        add("BER", name, "bad", spelling, message=message)
    add("trailing bytes", "none", "good", good, message=message)
    for name, tail in (("a zero byte", b"\0"), ("a null", b"\5\0"), ("the signature again", good)):
        add("trailing bytes", f"{name} after the sequence", "bad", good + tail, message=message)
    for name, tail in (("a zero byte", b"\0"), ("a null", b"\5\0")):
        add("trailing bytes", f"{name} within the sequence", "bad", keyfiles.sequence(body, tail), message=message)
    add("truncated", "whole", "good", good, message=message)
    for count in (1, 2, 3, 4 + 32, len(good) - 1):
        add("truncated", f"cut to {count} bytes", "bad", good[:count], message=message)
    add("leading zeros", "no byte too many", "good", good, message=message)
    for name, parts in (("r", (keyfiles.element(2, b"\0" + one[2:]), two)),
                        ("s", (one, keyfiles.element(2, b"\0" + two[2:]))),
                        ("r, eight of them,", (keyfiles.element(2, bytes(8) + one[2:]), two))):
        add("leading zeros", f"{name} after a zero byte too many", "bad", keyfiles.sequence(*parts), message=message)


def number_cases(add, r, s, message):
    """Numbers outside 1 to n-1 that stand for good ones, and the higher of the two possible s."""
    n = P256.n
    add("range of r and s", "both in range", "good", der(r, s), message=message)
    for name, pair in {"r is 0": (0, s), "s is 0": (r, 0), "both are 0": (0, 0), "r is n": (n, s), "s is n": (r, n),
                       "r + n": (r + n, s), "s + n": (r, s + n), "r - n": (r - n, s), "s - n": (r, s - n),
                       "r negated": (-r, s), "s negated": (r, -s), "r + 2^256": (r + (1 << 256), s),
                       "s + 2^256": (r, s + (1 << 256)), "r is -1": (-1, s), "both are n": (n, n)}.items():
        add("range of r and s", name, "bad", der(*pair), message=message)
    add("high s", "the low s", "good", der(r, s), message=message)
    add("high s", "the high s", "bad", der(r, n - s), message=message, openssl="accepts it")


def made_for_signature(add):
    """Signatures with numbers that no signer would ever meet, under keys that were computed from them."""
    point = P256.times(0x1234567, P256.BASE)
    r, half = point[0] % P256.n, P256.n // 2
    for kind, name, s, outcome in (("range of r and s", "s is 1", 1, "good"),
                                   ("high s", "s is the lower half's last", half, "good"),
                                   ("high s", "s is the upper half's first", half + 1, "bad"),
                                   ("high s", "s is n - 1", P256.n - 1, "bad")):
        add(kind, name, outcome, der(r, s), key=uncompressed(P256.key_for(point, s, MESSAGE)),
            openssl="accepts it" if outcome == "bad" else None)
    wrapped = next(point for x in range(P256.n + 1, P256.p) if (point := P256.at(x)))
    key = uncompressed(P256.key_for(wrapped, 7, MESSAGE))
    add("range of r and s", "r is what is left of an x above n", "good", der(wrapped[0] - P256.n, 7), key=key)
    add("range of r and s", "r is an x above n", "bad", der(wrapped[0], 7), key=key)


def point_cases(add, point, signature, message):
    """Spellings of a public key; one that is not uncompressed would give one key two identifiers."""
    x, y = point
    add("point", "uncompressed", "good", signature, message=message)
    add("point", "compressed", "no-key", signature, key=bytes([2 + y % 2]) + x.to_bytes(32, "big"), message=message,
        openssl="accepts it")
    add("point", "hybrid", "no-key", signature, key=bytes([6 + y % 2]) + uncompressed(point)[1:], message=message,
        openssl="accepts it")
    add("point", "not on the curve", "no-key", signature, key=uncompressed((x, y ^ 1)), message=message)
    add("point", "at infinity", "no-key", signature, key=b"\0", message=message)
    add("point", "a byte short", "no-key", signature, key=uncompressed(point)[:-1], message=message)


# RSA-PSS

def pss_cases(edges):
    n, e, d, p, q = keyfiles.private(KEYS / "rsa2048.pem")
    key, count = (n, e, d), (n.bit_length() + 7) // 8
    own = rsa(n, e)

    def add(kind, name, outcome, signature, key=own, **more):
        if isinstance(signature, int):
            signature = signature.to_bytes(count, "big")
        edges.add(RSA, kind, name, outcome, key, signature, **more)

    def salted(wanted):
        """The first signature that is as wanted, over other salts."""
        return next(one for number in range(100_000)
                    for one in [PSS.sign(key, MESSAGE, number.to_bytes(32, "big"))] if wanted(one))

    good = PSS.sign(key, MESSAGE, SALT)
    add("salt", "32 bytes", "good", good)
    add("salt", "32 bytes of zeros", "good", PSS.sign(key, MESSAGE, bytes(32)))
    for size in (0, 20, 31, 33, 64, count - 34):
        add("salt", f"{size} bytes", "bad", PSS.sign(key, MESSAGE, (SALT * 8)[:size]))
    add("mask", "MGF1 with SHA-256", "good", good)
    for name in ("sha1", "sha384", "sha512"):
        told = name.upper().replace("SHA", "SHA-")
        add("mask", f"MGF1 with {told}", "bad", PSS.sign(key, MESSAGE, SALT, mask=name))
        add("digest", told, "bad", PSS.sign(key, MESSAGE, SALT, hashed=name, mask=name))
    add("digest", "SHA-256", "good", good)
    add("digest", "of another message", "bad", good, message=MESSAGE + b"!")
    padding_cases(add, key, good)
    add("range of the number", "below the modulus", "good", good)
    low = salted(lambda one: one + n < 1 << 8 * count)
    add("range of the number", "so low that the modulus can be added", "good", low)
    add("range of the number", "the modulus added", "bad", low + n)
    add("range of the number", "the modulus added, in one byte more", "bad", (good + n).to_bytes(count + 1, "big"))
    for name, number in {"0": 0, "1": 1, "the modulus": n, "the modulus less 1": n - 1,
                         "the modulus less the number": n - good}.items():
        add("range of the number", name, "bad", number)
    small = salted(lambda one: one < 1 << 8 * (count - 1))
    whole = small.to_bytes(count, "big")
    add("length", "a number with a leading zero byte", "good", whole)
    add("length", "its leading zero byte left out", "bad", whole[1:], openssl="accepts it")
    add("length", "a zero byte before it", "bad", b"\0" + good.to_bytes(count, "big"))
    add("length", "a zero byte after it", "bad", good.to_bytes(count, "big") + b"\0")
    for size in (0, 1, count - 1):
        add("length", f"cut to {size} bytes", "bad", good.to_bytes(count, "big")[:size])
    exponents(add, (n, p, q), own, good)


def rsa(n, e, algorithm=keyfiles.RSA):
    return keyfiles.public(algorithm, keyfiles.sequence(keyfiles.integer(n), keyfiles.integer(e)))


def padding_cases(add, key, good):
    """Encoded messages that are wrong in one part."""
    bits = key[0].bit_length()
    add("padding", "PSS", "good", good)
    for name, parts in {"another trailer": {"trailer": 0xCC}, "no byte 1 before the salt": {"separator": 2},
                        "a padding of ones": {"padding": 1}}.items():
        add("padding", name, "bad", PSS.sign(key, MESSAGE, SALT, **parts))
    top = next(one for number in range(1000) for one in [
        PSS.encoded(bits, MESSAGE, number.to_bytes(32, "big"), clears=False)]
        if one[0] & 0x80 and int.from_bytes(one, "big") < key[0])
    add("padding", "the first bit left set", "bad", PSS.raw(key, top))
    digest = hashlib.sha256(MESSAGE).digest()
    info = bytes.fromhex("3031300d060960864801650304020105000420") + digest
    count = (bits + 7) // 8
    add("padding", "PKCS #1 v1.5", "bad", PSS.raw(key, b"\0\1" + b"\xff" * (count - len(info) - 3) + b"\0" + info))
    add("padding", "the bare digest", "bad", PSS.raw(key, digest))


def exponents(add, numbers, own, good):
    """Public exponents, each with a signature that is good under it, and another spelling of the algorithm."""
    n, p, q = numbers
    add("key", "exponent 65537", "good", good)
    for e, outcome in ((65539, "good"), ((1 << 31) + 11, "good"), (1, "weak-key"), (3, "weak-key"), (65535, "weak-key"),
                       (65538, "weak-key"), ((1 << 32) + 15, "weak-key")):
        try:
            d = pow(e, -1, (p - 1) * (q - 1))
        except ValueError:
            d = None
        signature = PSS.sign((n, e, d), MESSAGE, SALT) if d else good
        lax = "accepts it" if d and outcome != "good" else None
        add("key", f"exponent {e}", outcome, signature, key=rsa(n, e), openssl=lax)
    add("key", "the algorithm named RSASSA-PSS", "unknown-alg", good, key=rsa(n, 65537, keyfiles.RSA_PSS),
        openssl="accepts it")
