"""Arithmetic of the three signature algorithms in plain integers, written from RFC 8032, SEC 1 (with RFC 6979 for the
nonce) and RFC 8017. Slow and not constant in time: it makes test vectors, with keys that are public to everybody.

Each signer takes apart what a library keeps together (nonce, point, salt, mask), so that a caller can build a
signature that is wrong in one place only.
"""
import functools
import hashlib
import hmac


class Curve:
    """A group of points: `add`, and IDENTITY, which changes nothing."""

    @classmethod
    @functools.cache
    def times(cls, scalar, point):
        result = cls.IDENTITY
        while scalar:
            if scalar & 1:
                result = cls.add(result, point)
            point, scalar = cls.twice(point), scalar >> 1
        return result

    @classmethod
    @functools.cache
    def twice(cls, point):
        return cls.add(point, point)


class Ed25519(Curve):
    p = 2**255 - 19
    L = 2**252 + 27742317777372353535851937790883648493
    d = -121665 * pow(121666, -1, p) % p
    ROOT = pow(2, (p - 1) // 4, p)
    IDENTITY = (0, 1)

    @classmethod
    def add(cls, one, other):
        (x, y), (u, v), p = one, other, cls.p
        k = cls.d * x * y * u * v % p
        return (x * v + y * u) * pow(1 + k, -1, p) % p, (y * v + x * u) * pow(1 - k, -1, p) % p

    @classmethod
    def encoded(cls, point):
        return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")

    @classmethod
    def at(cls, y, sign=0):
        """The point with this y and this sign of x; None if no point of the curve has it."""
        square = (y * y - 1) * pow(cls.d * y * y + 1, -1, cls.p) % cls.p
        x = pow(square, (cls.p + 3) // 8, cls.p)
        if (x * x - square) % cls.p:
            x = x * cls.ROOT % cls.p
        if (x * x - square) % cls.p:
            return None
        return (x if x & 1 == sign else -x % cls.p), y % cls.p

    @classmethod
    def torsion(cls):
        """The eight points of small order, the identity first."""
        for y in range(2, 100):
            point = cls.at(y)
            eighth = cls.times(cls.L, point) if point else cls.IDENTITY
            if cls.times(4, eighth) != cls.IDENTITY:
                return [cls.times(n, eighth) for n in range(8)]
        raise ValueError("a point of order 8 exists")

    @classmethod
    def secret(cls, seed):
        """The scalar and the prefix of a private key's 32 bytes."""
        digest = hashlib.sha512(seed).digest()
        scalar = int.from_bytes(digest[:32], "little") & ~7 & ~(1 << 255) | 1 << 254
        return scalar, digest[32:]

    @classmethod
    def challenge(cls, r, key, message):
        return int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % cls.L

    @classmethod
    def sign(cls, seed, message, domain=b"", key=None, shift=IDENTITY):
        """A signature; with another `key` in the challenge, or R moved by a point, where a caller wants that."""
        scalar, prefix = cls.secret(seed)
        nonce = int.from_bytes(hashlib.sha512(domain + prefix + message).digest(), "little") % cls.L
        key = key or cls.encoded(cls.times(scalar, cls.BASE))
        r = cls.encoded(cls.add(cls.times(nonce, cls.BASE), shift))
        h = int.from_bytes(hashlib.sha512(domain + r + key + message).digest(), "little") % cls.L
        return r + ((nonce + h * scalar) % cls.L).to_bytes(32, "little")


Ed25519.BASE = Ed25519.at(4 * pow(5, -1, Ed25519.p) % Ed25519.p)


class P256(Curve):
    IDENTITY = None
    p = 2**256 - 2**224 + 2**192 + 2**96 - 1
    n = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    b = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
    BASE = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
            0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)

    @classmethod
    def add(cls, one, other):
        """The sum; None is the point at infinity."""
        if one is None or other is None:
            return one or other
        (x, y), (u, v), p = one, other, cls.p
        if x == u:
            if (y + v) % p == 0:
                return None
            slope = (3 * x * x - 3) * pow(2 * y, -1, p)
        else:
            slope = (v - y) * pow(u - x, -1, p)
        w = (slope * slope - x - u) % p
        return w, (slope * (x - w) - y) % p

    @classmethod
    def at(cls, x):
        """A point with this x; None if the curve has none."""
        square = (x**3 - 3 * x + cls.b) % cls.p
        y = pow(square, (cls.p + 1) // 4, cls.p)
        return (x, y) if y * y % cls.p == square else None

    @classmethod
    def nonce(cls, secret, digest):
        """RFC 6979 with SHA-256."""
        seed = secret.to_bytes(32, "big") + (int.from_bytes(digest, "big") % cls.n).to_bytes(32, "big")
        key, value = b"\0" * 32, b"\1" * 32
        for mark in (b"\0", b"\1"):
            key = hmac.digest(key, value + mark + seed, "sha256")
            value = hmac.digest(key, value, "sha256")
        while True:
            value = hmac.digest(key, value, "sha256")
            if 0 < (k := int.from_bytes(value, "big")) < cls.n:
                return k
            key = hmac.digest(key, value + b"\0", "sha256")
            value = hmac.digest(key, value, "sha256")

    @classmethod
    def sign(cls, secret, message, hashed="sha256"):
        """(r, s) with the low one of the two possible s."""
        digest = hashlib.new(hashed, message).digest()[:32].ljust(32, b"\0")
        e, k = int.from_bytes(digest, "big"), cls.nonce(secret, digest)
        r = cls.times(k, cls.BASE)[0] % cls.n
        s = pow(k, -1, cls.n) * (e + r * secret) % cls.n
        return r, min(s, cls.n - s)

    @classmethod
    def key_for(cls, point, s, message):
        """The public key under which (x of the point mod n, s) is a signature of the message."""
        e = int.from_bytes(hashlib.sha256(message).digest(), "big")
        inverse = pow(point[0], -1, cls.n)
        return cls.add(cls.times(s * inverse % cls.n, point), cls.times(-e * inverse % cls.n, cls.BASE))


class PSS:
    """RSASSA-PSS; a key is (n, e, d)."""

    @staticmethod
    def mask(seed, count, hashed):
        blocks = (hashlib.new(hashed, seed + n.to_bytes(4, "big")).digest() for n in range(count))
        masked = b""
        while len(masked) < count:
            masked += next(blocks)
        return masked[:count]

    @classmethod
    def encoded(cls, bits, message, salt, hashed="sha256", mask="sha256", trailer=0xBC, separator=1, padding=0,
                clears=True):
        """EMSA-PSS of a message; each part can be replaced."""
        count = (bits + 6) // 8
        digest = hashlib.new(hashed, b"\0" * 8 + hashlib.new(hashed, message).digest() + salt).digest()
        block = bytes([padding]) * (count - len(salt) - len(digest) - 2) + bytes([separator]) + salt
        masked = bytearray(one ^ other for one, other in zip(block, cls.mask(digest, len(block), mask)))
        if clears:
            masked[0] &= 0xFF >> (8 * count - bits + 1)
        return bytes(masked) + digest + bytes([trailer])

    @staticmethod
    def raw(key, encoded):
        """The private operation; the encoded message must be below the modulus."""
        n, _, d = key
        return pow(int.from_bytes(encoded, "big"), d, n)

    @classmethod
    def sign(cls, key, message, salt, **parts):
        """The signature as a number."""
        return cls.raw(key, cls.encoded(key[0].bit_length(), message, salt, **parts))
