"""Key files and DER, as far as the test vectors need them: reading private keys (PKCS#8 in PEM), writing public ones
and signatures. Nothing here checks more than it reads.
"""
import base64

ED25519 = bytes.fromhex("300506032b6570")
P256 = bytes.fromhex("301306072a8648ce3d020106082a8648ce3d030107")
RSA = bytes.fromhex("300d06092a864886f70d0101010500")
RSA_PSS = bytes.fromhex("300b06092a864886f70d01010a")


def element(tag, contents):
    count = len(contents)
    if count < 128:
        return bytes([tag, count]) + contents
    size = (count.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + count.to_bytes(size, "big") + contents


def integer(value):
    return element(2, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def sequence(*parts):
    return element(0x30, b"".join(parts))


def public(algorithm, key):
    """A SubjectPublicKeyInfo."""
    return sequence(algorithm, element(3, b"\0" + key))


def elements(data):
    """The (tag, contents) pairs of a concatenation."""
    found = []
    while data:
        tag, count, start = data[0], data[1], 2
        if count & 0x80:
            start = 2 + (count & 0x7F)
            count = int.from_bytes(data[2:start], "big")
        found.append((tag, data[start:start + count]))
        data = data[start + count:]
    return found


def private(path):
    """The key in a PEM file: 32 bytes of Ed25519, the scalar of P-256, or (n, e, d, p, q) of RSA."""
    lines = path.read_text().splitlines()
    _, (_, algorithm), (_, key) = elements(elements(base64.b64decode("".join(lines[1:-1])))[0][1])
    inner = elements(key)
    if algorithm == ED25519[2:]:
        return inner[0][1]
    numbers = elements(inner[0][1])
    if algorithm == P256[2:]:
        return int.from_bytes(numbers[1][1], "big")
    return tuple(int.from_bytes(contents, "big") for _, contents in numbers[1:6])
