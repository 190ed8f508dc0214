"""One example of each format that a release writes and a later one must still read (Protocol/SignedConfiguration.md
CFG-98). Cases are added when a format grows. None is changed or taken away: the bytes stand for files on disks.
"""
import base64
import hashlib
import uuid

from . import keyfiles
from .curves import Ed25519
from .envelopes import bplist, pae
from .keys import KEYS

ABOUT = (
    "One example of each format as the first release wrote it, in base64 (CFG-98). Each is read with the `facts`, and an "
    "envelope and a report with a good signature of `key`. Texts of facts are as the command line shows them.")
NOW = 1_800_000_000
APP, TARGET = "org.example.alarm", "custom:house-7"
DEVICE, PAIRING, NONCE, TXID = (bytes(range(first, first + 16)) for first in (0, 32, 64, 96))


class Signer:
    """An Ed25519 key of the vectors."""

    def __init__(self, name):
        self.seed = keyfiles.private(KEYS / f"{name}.pem")
        point = Ed25519.times(Ed25519.secret(self.seed)[0], Ed25519.BASE)
        self.public = keyfiles.public(keyfiles.ED25519, Ed25519.encoded(point))
        self.identifier = hashlib.sha256(self.public).digest()

    def envelope(self, kind, fields):
        name, body = f"application/vnd.tandem.{kind}.v1+bplist", bplist(fields)
        return bplist({"v": 1, "payloadType": name, "payload": body,
                       "signatures": [{"keyid": self.identifier, "sig": Ed25519.sign(self.seed, pae(name, body))}]})


def pem(label, data):
    text = base64.b64encode(data).decode()
    lines = [text[start:start + 64] for start in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode()


def text(identifier):
    return str(uuid.UUID(bytes=identifier)).upper()


def made():
    signer, cases = Signer("ed25519"), []

    def add(name, form, data, **facts):
        cases.append({"name": name, "clause": "CFG-98", "format": form, "bytes": base64.b64encode(data).decode(),
                      "facts": {key: str(value) for key, value in facts.items()}})

    envelope = signer.envelope("config", {
        "typ": "config", "spec": "1.0", "app": APP, "role": "secondary", "target": TARGET, "ver": 7, "keyset": 1,
        "txid": TXID, "iat": NOW - 60, "nbf": NOW - 60, "expires": NOW + 86_400, "lifetime": 604_800, "floor": 3,
        "only": [DEVICE], "crit": ["lifetime"], "optional": ["dial"],
        "values": {"logging": True, "volume": 75, "gain": 1.5, "colour": "#ffe4e1"}})
    digest = hashlib.sha256(envelope).digest()
    add("a configuration with every field", "envelope", envelope, version=7, target=TARGET, txid=text(TXID),
        expires=NOW + 86_400, lifetime=604_800, floor=3, only=text(DEVICE), optional="dial", digest=digest.hex(),
        values='{"colour":"#ffe4e1","gain":1.5,"logging":true,"volume":75}')
    link = b"tandem:apply/1?e=" + base64.urlsafe_b64encode(envelope).rstrip(b"=")
    add("the same as a link", "link", link, digest=digest.hex())
    add_reports(add, signer, digest)
    add_files(add, envelope, digest)
    add_keys(add, signer)
    add_carriers(add, signer)
    add_rows(add, signer, envelope, digest)
    return {"about": ABOUT, "key": pem("PUBLIC KEY", signer.public).decode(), "cases": cases}


def add_reports(add, signer, digest):
    common = {"typ": "report", "spec": "1.0", "device": DEVICE, "pairing": PAIRING, "nonce": NONCE, "app": APP,
              "role": "secondary", "target": TARGET, "digest": digest, "counter": 9, "time": NOW}
    add("a report of what was applied", "report", signer.envelope("report", {
        **common, "verdict": "applied", "txid": TXID, "ver": 7, "goodVer": 7, "goodDigest": digest}),
        verdict="applied", version=7, counter=9, good=7, device=text(DEVICE), time=NOW)
    add("a report of a rejection", "report", signer.envelope("report", {
        **common, "verdict": "threshold", "text": "good signatures by 0 trusted keys; 1 are needed"}),
        verdict="threshold", counter=9, text="good signatures by 0 trusted keys; 1 are needed", time=NOW)
    second = {**common, "spec": "1.1", "txid": TXID, "ver": 7}
    add("a report of a trial", "report", signer.envelope("report", {
        **second, "verdict": "applied", "trial": True, "waived": True, "goodVer": 6, "goodDigest": bytes(32)}),
        verdict="applied", version=7, good=6, trial="true", waived="true")
    add("a report of a failure", "report", signer.envelope("report", {
        **second, "verdict": "failed", "text": "the app did not live with it"}),
        verdict="failed", version=7, text="the app did not live with it", waived="false")


def add_files(add, envelope, digest):
    record = {"v": 1, "envelope": envelope, "app": APP, "role": "secondary", "target": TARGET, "device": DEVICE,
              "keyset": 1, "version": 7, "txid": TXID, "digest": digest}
    add("staged.plist", "staged", bplist({
        **record, "staged": NOW * 1000, "mark": 6, "allowsInvalid": False, "waived": False, "pairing": PAIRING,
        "nonce": NONCE}), version=7, staged=NOW * 1000, mark=6, allowsInvalid="false", waived="false",
        pairing=text(PAIRING), nonce=text(NONCE))
    add("staged.plist without a mark and a pairing", "staged", bplist({
        **record, "staged": NOW * 1000, "allowsInvalid": True, "waived": True}), version=7, allowsInvalid="true",
        waived="true")
    add("configuration.plist", "active", bplist({
        **record, "applied": NOW * 1000, "elapsed": 5_000, "waived": False}), version=7, applied=NOW * 1000,
        elapsed=5_000, waived="false")
    add("waived.plist", "active", bplist({
        **record, "applied": NOW * 1000, "elapsed": 0, "waived": True}), version=7, applied=NOW * 1000, elapsed=0,
        waived="true")
    add("trial.plist", "trial", bplist({
        "v": 1, "digest": bytes(32), "replaced": bytes(range(32)), "attempts": 2, "pairing": PAIRING, "nonce": NONCE,
        "previous": {**record, "applied": NOW * 1000, "elapsed": 5_000, "waived": False}}),
        digest=bytes(32).hex(), replaced=bytes(range(32)).hex(), attempts=2, previous=7, pairing=text(PAIRING))
    add("attempts.plist", "attempts", bplist({"v": 1, "attempts": [
        {"digest": digest, "starts": 3, "healthy": False, "elapsed": 0},
        {"digest": bytes(32), "starts": 1, "healthy": True, "elapsed": 5_000}]}),
        starts=3, healthy="false", elapsed=5_000)
    add("the version mark of one that failed", "mark", bplist({
        "v": 1, "version": 7, "digest": digest, "floor": 0, "active": False, "closed": False, "keyset": 1,
        "burnt": True}), version=7, active="false", burnt="true")
    add("a version mark", "mark", bplist({
        "v": 1, "version": 7, "digest": digest, "floor": 3, "active": True, "closed": False}), version=7,
        floor=3, active="true", closed="false", keyset=1)
    add("a version mark with its key set", "mark", bplist({
        "v": 1, "version": 7, "floor": 0, "active": False, "closed": True, "keyset": 4}), version=7, floor=0,
        active="false", closed="true", keyset=4)


def add_keys(add, signer):
    add("a public key", "public-key", pem("PUBLIC KEY", signer.public), algorithm="ed25519",
        keyid=signer.identifier.hex())
    for name, algorithm in (("ed25519", "ed25519"), ("p256", "ecdsa-p256-sha256"), ("rsa2048", "rsa-pss-sha256")):
        add(f"a private key for {algorithm}", "private-key", (KEYS / f"{name}.pem").read_bytes(), algorithm=algorithm)
    add("a private key under a passphrase", "private-key", (KEYS / "passphrase.pem").read_bytes(),
        algorithm="ed25519", passphrase="for tests only")
    role = {"keyids": [signer.identifier], "threshold": 1}
    common = {"typ": "keyset", "spec": "1.0", "app": APP, "role": "secondary", "iat": NOW - 60,
              "keys": {signer.identifier.hex(): signer.public},
              "roles": {"config": role, "keyset": role, "revocation": role}}
    anchor = signer.envelope("keyset", {
        **common, "ver": 4, "expires": NOW + 86_400, "minVer": [{"target": TARGET, "ver": 5}]})
    add("a key set as text", "key-set", pem("TANDEM KEY SET", anchor), version=4, expires=NOW + 86_400, minimum=5)
    add("keysets.plist", "key-chain", bplist({
        "v": 1, "app": APP, "role": "secondary", "chain": [anchor, signer.envelope("keyset", {**common, "ver": 5})]}),
        app=APP, role="secondary", version=5)


def add_carriers(add, signer):
    far, last = Signer("root1"), Signer("root2")

    def statement(maker, pairing, counter, secondaries, below=()):
        device, by = maker
        return by.envelope("carrier", {
            "typ": "carrier", "spec": "1.0", "device": device, "pairing": pairing, "app": APP, "counter": counter,
            "secondaries": [{"pairing": other, "device": named, "name": name, "reportKey": key.public, "epoch": 1,
                             "target": TARGET, "installed": installed} for other, named, name, key, installed in secondaries],
            "below": list(below)})

    lower, next_pairing = NONCE, TXID
    below = statement((bytes([3] * 16), far), lower, 4, [(next_pairing, bytes([4] * 16), "panel 2", last, True)])
    add("a statement of a carrier with one below", "carrier", statement(
        (DEVICE, signer), PAIRING, 9, [(lower, bytes([3] * 16), "panel", far, False)], [below]),
        counter=9, app=APP, far=text(next_pairing), device=text(bytes([4] * 16)), called="panel 2", target=TARGET,
        keyid=last.identifier.hex())
    add("a configuration in its frame", "carried", bplist({
        "v": 1, "to": next_pairing, "slot": bytes(32), "envelope": b"envelope"}), to=text(next_pairing),
        slot=bytes(32).hex(), content=b"envelope".hex())
    add("a report in its frame", "carried-report", bplist({"v": 1, "from": next_pairing, "report": b"report"}),
        to=text(next_pairing), content=b"report".hex())
    add("the end of a delivery in its frame", "carried-cancellation", bplist({
        "v": 1, "to": next_pairing, "cancel": NONCE}), to=text(next_pairing), item=text(NONCE))


def add_rows(add, signer, envelope, digest):
    """Rows of a primary's store: what it desires, has accepted, has sent, and has heard of a secondary."""
    desired = {"v": 1, "envelope": envelope, "accepted": NOW * 1000, "proven": True}
    add("a desired configuration", "desired", bplist(desired), version=7, accepted=NOW * 1000, proven="true",
        digest=digest.hex())
    add("a desired configuration in a rollout", "desired", bplist({**desired, "proven": False, "first": [PAIRING]}),
        version=7, proven="false", first=text(PAIRING))
    add("a desired configuration whose rollout has stopped", "desired", bplist({
        **desired, "first": [PAIRING], "stopped": "schema"}), first=text(PAIRING), stopped="schema")
    line = {"version": 7, "digest": digest, "accepted": NOW * 1000, "signers": [signer.identifier]}
    add("a line of the history", "accepted", bplist(line), version=7, digest=digest.hex(),
        signer=signer.identifier.hex())
    add("a line of the history of one that was withdrawn", "accepted", bplist({
        **line, "withdrawn": NOW * 1000 + 5}), version=7, withdrawn=NOW * 1000 + 5)
    sent = {"id": NONCE, "pairing": PAIRING, "app": APP, "role": "secondary", "target": TARGET, "version": 7,
            "digest": digest, "accepted": NOW * 1000, "finished": False}
    add("a delivery under way", "forwarded", bplist(sent), nonce=text(NONCE), pairing=text(PAIRING), version=7,
        target=TARGET, finished="false")
    add("a delivery with its verdict", "forwarded", bplist({
        **sent, "finished": True, "verdict": "schema", "text": "volume: too loud", "reported": NOW * 1000 + 5}),
        verdict="schema", text="volume: too loud", reported=NOW * 1000 + 5, finished="true")
    for ending in ("undelivered", "withdrawn", "superseded", "failed", "not-queued"):
        add(f"a delivery that ended as {ending}", "forwarded", bplist({**sent, "finished": True, "ending": ending}),
            ending=ending, finished="true")
    add("the state of a secondary", "secondary", bplist({
        "v": 1, "history": [{"version": 6, "time": NOW * 1000}, {"version": 7, "time": NOW * 1000 + 5}],
        "refusals": [{"digest": bytes(32), "verdict": "schema"}], "goodVersion": 7, "goodDigest": digest,
        "applied": digest, "awaited": bytes(32), "since": NOW * 1000}), good=7, history="6 7")
    add("the state of a secondary that has applied nothing", "secondary", bplist({
        "v": 1, "history": [], "refusals": [], "awaited": digest, "since": NOW * 1000}), history="")
    step = {"id": NONCE, "index": 2, "digest": digest}
    add("the steps of a chain that a secondary has and gets", "key-deliveries", bplist({
        "accepted": 2, "underWay": [step], "planned": 1, "last": bytes(32), "digest": bytes(32),
        "verdict": "applied"}))
    add("the first step of a chain, which goes alone", "key-deliveries", bplist({
        "accepted": 0, "underWay": [{**step, "index": 0}], "probed": True, "digest": digest, "verdict": "no-key",
        "text": "no key is known"}))
