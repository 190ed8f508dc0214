"""Signed envelopes with anything wrong in them (Protocol/SignedConfiguration.md, CFG-1 to CFG-10), written with
Python's own property-list writer and the openssl command.
"""
import plistlib

from .keys import keyid, sign

CONFIG, REPORT, KEYSET, REVOCATION = (
    f"application/vnd.tandem.{name}.v1+bplist" for name in ("config", "report", "keyset", "revocation"))
TARGET = "vendor:0123ABCD-0000-8000-8000-0123456789AB"
NOW = 1_800_000_000


def bplist(value):
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY, sort_keys=True)


def pae(kind, body):
    """The bytes under a signature (CFG-2)."""
    kind = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)


def without_none(fields):
    return {key: value for key, value in fields.items() if value is not None}


def payload(**changes):
    fields = {
        "typ": "config", "spec": "1.0", "app": "org.example.alarm", "role": "secondary", "target": TARGET, "ver": 7,
        "keyset": 1, "txid": bytes(range(100, 116)), "iat": NOW - 60,
        "values": {"logging": True, "volume": 80, "colour": "#ffe4e1"},
    }
    fields.update({key.rstrip("_"): value for key, value in changes.items()})
    return without_none(fields)


def envelope(fields=None, keys=("ed25519",), kind=CONFIG, body=None, message=None, signatures=None, **extra):
    body = body if body is not None else bplist(payload() if fields is None else fields)
    if signatures is None:
        signed = pae(kind, body) if message is None else message(kind, body)
        signatures = [{"keyid": keyid(key), "sig": sign(key, signed)} for key in keys]
    root = {"v": 1, "payloadType": kind, "payload": body, "signatures": signatures}
    root.update(extra)
    return bplist(without_none(root))
