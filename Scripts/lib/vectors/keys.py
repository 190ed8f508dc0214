"""Private keys of the signing vectors, and what the openssl command makes of them. They are public to everybody: for
tests only.
"""
import functools
import hashlib
import subprocess
import tempfile

from . import keyfiles
from .curves import P256, PSS
from .writing import FOLDER

KEYS = FOLDER / "signing/keys"
RSA = ["-algorithm", "RSA", "-pkeyopt"]
# Five keys of a root, with one to replace each, two signers of configuration, and a revoker.
ED25519 = ["ed25519", "stranger", *(f"root{number}" for number in range(1, 11)), "config1", "config2", "revoker"]
KINDS = {
    "p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
    "rsa2048": [*RSA, "rsa_keygen_bits:2048"],
    "rsa1024": [*RSA, "rsa_keygen_bits:1024"],
    "rsa-e3": [*RSA, "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:3"],
    "secp256k1": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
    "ed448": ["-algorithm", "ed448"],
} | {name: ["-algorithm", "ed25519"] for name in ED25519}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def file(name):
    return KEYS / f"{name}.pem"


def missing():
    """The files that are not there."""
    return [file(name) for name in (*KINDS, "passphrase") if not file(name).exists()]


def make_missing():
    """Makes the files that are missing. What was signed with the lost keys has to be made again."""
    KEYS.mkdir(parents=True, exist_ok=True)
    for path in missing():
        if path.stem in KINDS:
            path.write_bytes(run("openssl", "genpkey", *KINDS[path.stem]))
        else:
            path.write_bytes(run(
                "openssl", "pkcs8", "-topk8", "-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA256", "-iter", "2048",
                "-passout", "pass:for tests only", "-in", file("ed25519")))


def public_pem(name):
    return run("openssl", "pkey", "-in", file(name), "-pubout").decode()


@functools.cache
def spki(name):
    return run("openssl", "pkey", "-in", file(name), "-pubout", "-outform", "DER")


def keyid(name):
    return hashlib.sha256(spki(name)).digest()


@functools.cache
def sign(name, message):
    if name in ED25519:
        with tempfile.NamedTemporaryFile() as written:
            written.write(message)
            written.flush()
            return run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", file(name), "-in", written.name)
    key = keyfiles.private(file(name))
    if name == "p256":
        return keyfiles.sequence(*map(keyfiles.integer, P256.sign(key, message)))
    return PSS.sign(key[:3], message, bytes(range(32))).to_bytes((key[0].bit_length() + 7) // 8, "big")
