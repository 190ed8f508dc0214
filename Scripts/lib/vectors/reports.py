"""Signed reports and what a primary must answer (Protocol/SignedConfiguration.md CFG-50, CFG-51), and links of
configurations and what is in them (CFG-60).
"""
import base64
import hashlib
import plistlib

from .curves import Ed25519
from .envelopes import bplist, pae
from .formats import APP, DEVICE, NONCE, NOW, PAIRING, TARGET, TXID, Signer, pem

REPORTS = (
    "Each report (base64) comes through the pairing of `device`, whose report key is `key`, after a report with the counter 8, "
    "while the nonces in `open` wait for an answer. `outcome` is accepted or the failure's name. An accepted report ends its nonce "
    "if `final`.")
LINKS = (
    "Each text is a link of a configuration with the `envelope` (hexadecimal), or none: then `refused` is true. Nothing about "
    "the envelope is checked.")
OTHER = bytes(range(1, 17))


def enveloped(told, kind, by, signed=None):
    """An envelope of type `kind` whose signatures are made for the type `signed`."""
    body, name = bplist(told), f"application/vnd.tandem.{kind}.v1+bplist"
    message = pae(f"application/vnd.tandem.{signed or kind}.v1+bplist", body)
    return {"v": 1, "payloadType": name, "payload": body, "signatures": [
        {"keyid": one.identifier, "sig": Ed25519.sign(one.seed, message)} for one in by]}


def reports():
    signer, stranger, cases = Signer("ed25519"), Signer("stranger"), []

    def fields(**changes):
        told = {"typ": "report", "spec": "1.0", "device": DEVICE, "pairing": PAIRING, "nonce": NONCE, "app": APP,
                "role": "secondary", "target": TARGET, "digest": bytes(32), "verdict": "applied", "counter": 9,
                "time": NOW, "txid": TXID, "ver": 7}
        told.update(changes)
        return {key: value for key, value in told.items() if value is not None}

    def envelope(told, kind="report", by=(signer,), signed=None):
        return enveloped(told, kind, by, signed)

    def add(name, outcome, data, final=None):
        data = data if isinstance(data, bytes) else bplist(data)
        case = {"name": name, "clause": "CFG-51", "report": base64.b64encode(data).decode(), "outcome": outcome}
        cases.append(case if final is None else {**case, "final": final})

    good = envelope(fields())
    add("applied", "accepted", good, final=True)
    add("a rejection with its text", "accepted", envelope(fields(verdict="schema", text="volume: 101")), final=True)
    add("an early rejection, without version", "accepted", envelope(fields(verdict="threshold", txid=None, ver=None)),
        final=True)
    add("with the configuration that is active", "accepted", envelope(fields(goodVer=6, goodDigest=bytes(32))),
        final=True)
    add("the app is not there", "accepted", envelope(fields(verdict="waiting-for-app")), final=False)
    add("the clock is not set", "accepted", envelope(fields(verdict="clock-unset")), final=False)
    add("a much higher counter", "accepted", envelope(fields(counter=2**64 - 1)), final=True)
    add("256 bytes of text", "accepted", envelope(fields(text="x" * 256)), final=True)
    add("cut", "malformed", bplist(good)[:-1])
    add("a byte after it", "malformed", bplist(good) + b"\0")
    add("65,537 bytes", "malformed", bplist(good).ljust(65537, b"\0"))
    add("XML", "malformed", plistlib.dumps(good))
    add("an extra key", "shape", {**good, "alg": "ed25519"})
    add("no payload", "shape", {key: value for key, value in good.items() if key != "payload"})
    add("v is 2", "shape", {**good, "v": 2})
    second_form(add, fields, envelope)
    signature_reports(add, fields, envelope, good, signer, stranger)
    payload_reports(add, fields, envelope)
    add("of another device", "wrong-device", envelope(fields(device=OTHER)))
    add("of another pairing", "wrong-device", envelope(fields(pairing=OTHER)))
    add("the last counter again", "replayed", envelope(fields(counter=8)))
    add("a lower counter", "replayed", envelope(fields(counter=1)))
    add("a nonce that was not sent", "wrong-nonce", envelope(fields(nonce=OTHER)))
    return {"about": REPORTS, "key": pem("PUBLIC KEY", signer.public).decode(), "device": DEVICE.hex(),
            "pairing": PAIRING.hex(), "counter": 8, "open": [NONCE.hex(), bytes(16).hex()], "cases": cases}


def second_form(add, fields, envelope):
    """What only the second form tells (CFG-67), and what it must not."""
    def told(**changes):
        return envelope(fields(spec="1.1", **changes))

    add("the second form without news", "accepted", told(), final=True)
    add("on trial", "accepted", told(trial=True), final=False)
    add("the trial is over", "accepted", told(trial=False), final=True)
    add("with a waived signature", "accepted", told(waived=True), final=True)
    add("a waived signature on trial", "accepted", told(waived=True, trial=True), final=False)
    add("the app did not live with it", "accepted", told(verdict="failed", text="it crashed"), final=True)
    add("no key is known yet", "accepted", told(verdict="waiting-for-key", txid=None, ver=None), final=True)
    bad = {
        "a trial in the first form": fields(trial=True), "waived in the first form": fields(waived=True),
        "failed in the first form": fields(verdict="failed"),
        "waiting-for-key in the first form": fields(verdict="waiting-for-key"),
        "a trial of a rejection": fields(spec="1.1", verdict="schema", trial=True),
        "waived is false": fields(spec="1.1", waived=False), "waived is 1": fields(spec="1.1", waived=1),
        "a trial as text": fields(spec="1.1", trial="true"), "spec 1.2": fields(spec="1.2"),
    }
    for name, content in bad.items():
        add(name, "payload-malformed", envelope(content))


def signature_reports(add, fields, envelope, good, signer, stranger):
    """Exactly one signature, by the pairing's report key, for a report."""
    add("unsigned", "threshold", {**good, "signatures": []})
    add("two signatures", "threshold", envelope(fields(), by=(signer, stranger)))
    add("one signature twice", "threshold", {**good, "signatures": good["signatures"] * 2})
    add("signed by a stranger", "threshold", envelope(fields(), by=(stranger,)))
    claimed = envelope(fields(), by=(stranger,))
    claimed["signatures"][0]["keyid"] = signer.identifier
    add("signed by a stranger under the device's identifier", "threshold", claimed)
    other = {**good, "signatures": [{**good["signatures"][0], "keyid": stranger.identifier}]}
    add("signed under a stranger's identifier", "threshold", other)
    add("changed after signing", "threshold", {**good, "payload": bplist(fields(verdict="schema"))})
    add("signed as a configuration", "threshold", envelope(fields(), signed="config"))
    add("a configuration's type, well signed", "wrong-type", envelope(fields(), kind="config"))


def payload_reports(add, fields, envelope):
    """Every breach of CFG-50."""
    required = ("typ", "spec", "device", "pairing", "nonce", "app", "role", "target", "digest", "verdict", "counter",
                "time")
    bad = {f"no {name}": {name: None} for name in required}
    bad |= {
        "typ of a configuration": {"typ": "config"}, "spec 2.0": {"spec": "2.0"}, "an unknown field": {"colour": "red"},
        "an unknown verdict": {"verdict": "fine"}, "counter 0": {"counter": 0}, "a counter as text": {"counter": "9"},
        "a counter that is true": {"counter": True}, "a negative time": {"time": -1}, "a short device": {"device": b"x"},
        "a short digest": {"digest": bytes(31)}, "a short txid": {"txid": bytes(15)}, "version 0": {"ver": 0},
        "257 bytes of text": {"text": "x" * 257}, "a text as data": {"text": b"x"}, "a role in capitals": {"role": "Primary"},
        "goodVer without goodDigest": {"goodVer": 6}, "goodDigest without goodVer": {"goodDigest": bytes(32)},
        "a target without its kind": {"target": "house-7"}, "an application with a slash": {"app": "../x"},
    }
    for name, changes in bad.items():
        add(name, "payload-malformed", envelope(fields(**changes)))


def links():
    cases = []

    def add(name, text, envelope=None):
        answer = {"refused": True} if envelope is None else {"envelope": envelope.hex()}
        cases.append({"name": name, "clause": "CFG-60", "text": text, **answer})

    prefix = "tandem:apply/1?e="
    data = hashlib.sha256(b"link").digest()
    for count in (0, 1, 2, 3, 32):
        add(f"{count} bytes", prefix + base64.urlsafe_b64encode(data[:count]).decode().rstrip("="), data[:count])
    high = bytes([0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF])
    add("both characters of base64url", prefix + base64.urlsafe_b64encode(high).decode(), high)
    add("the characters of plain base64", prefix + base64.b64encode(high).decode())
    add("padding", prefix + "_w==")
    add("spare bits that are not zero", prefix + "_x")
    add("an impossible length", prefix + "AAAAA")
    add("a space within", prefix + "AA AA")
    add("a line's end after it", prefix + "AAAA\n")
    add("a space before it", " " + prefix + "AAAA")
    add("another parameter after it", prefix + "AAAA&x=1")
    add("a fragment after it", prefix + "AAAA#x")
    add("escaped characters", prefix + "%41AAA")
    add("another version", "tandem:apply/2?e=AAAA")
    add("a link for joining", "tandem:join/1?e=AAAA")
    add("the scheme in capitals", "TANDEM:apply/1?e=AAAA")
    add("another scheme", "https:apply/1?e=AAAA")
    add("no parameter", "tandem:apply/1")
    add("more than an envelope may have", prefix + "A" * ((65536 * 4 + 2) // 3 + 1))
    return {"about": LINKS, "cases": cases}
