"""Bytes of a counterpart that are no body never cost an app its session (DEL-28, SES-57). The victims are `tandem
receive` and `tandem send`, which are apps with the real library.
"""
import json
import pathlib
import threading
import time

from apps import ZERO, App, Refused, described, facts_of, install, new_identifier, sent_file
from case import Case
from daemons import Program, require, until
from frames import KINDS, decode, encode, frame
from peers import Identity, Peer

APP = "org.example.bodies"
OTHER = "org.example.bodies.other"
GOOD = encode({"good": True})


def bad_bodies(random):
    """What is no dictionary in the strict profile, by name."""
    whole = encode({"key": "value", "list": [1, 2.5, b"data", {"deep": True}]})
    nested = [1]
    for _ in range(80):
        nested = [nested]
    cut = random.randrange(9, len(whole) - 1)
    turned = bytearray(whole)
    turned[random.randrange(8, len(whole) - 32)] ^= 0xFF
    return {
        "garbage": random.randbytes(300), "text": b"hello", "XML": b'<?xml version="1.0"?><plist><dict/></plist>',
        "truncated": whole[:cut], "head only": whole[:8], "longer": whole + b"\0", "an array": encode([1, 2]),
        "a string": encode("text"), "too deep": encode({"deep": nested}),
        "no trailer": whole[:-32] + bytes(32), "huge count": whole[:-16] + b"\xff" * 16,
    }, bytes(turned)


class Library:
    """`tandem receive`, and the JSON that it prints."""

    def __init__(self, world, daemon, app=APP):
        self.log = world.workspace / f"receive-{daemon.name}-{app}.json"
        self.program = world.starts(Program(
            [world.tandem, "receive", "--app", app, "--device", daemon.socket, "--reply", '{"is":"here"}'], self.log))

    def prints(self):
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"text": line})
        return found

    def require_alive(self):
        require(self.program.runs, f"the app with the library ended: {self.log.read_text()[-300:]}")

    def until_prints(self, mark, seconds=20):
        """What has this mark among its values, wherever."""
        until(lambda: mark in self.log.read_text() or not self.program.runs, seconds, f"'{mark}' in the library's app")
        self.require_alive()


def submitted(world):
    """An app submits bodies that are none; its counterpart is an app with the library."""
    hub, kiosk, _ = world.pair()
    library = Library(world, kiosk)
    app = App(hub, APP, receives=True)
    pairing = app.until_reachable()
    answers, count = set(), 0
    bad, turned = bad_bodies(world.random)
    for channel in ("context", "userInfo", "urgent", "file"):
        for name, body in {**bad, "turned": turned}.items():
            count += 1
            identifier = app.submit(channel, body, pairing)
            answer = app.answer_to(identifier)
            if name == "turned" and answer["kind"] == "accepted":
                continue
            require(answer["kind"] == "failure" and answer["code"] == 7008,
                    f"{name} as {channel} was answered with {described(answer)}")
            answers.add(f"{answer['code']} {answer.get('name')}")
        identifier = app.submit(channel, b"", pairing)
        require(app.answer_to(identifier)["kind"] in ("accepted", "failure"), f"an empty {channel} was not answered")
    app.accepted(app.submit("context", encode({"mark": "last context"}), pairing))
    app.accepted(app.submit("userInfo", encode({"mark": "last item"}), pairing))
    library.until_prints("last context")
    library.until_prints("last item")
    app.close()
    told = App(hub, APP).next("context", name="sent")
    require(decode(told["body"])["mark"] == "last context", "the app is told another context")
    return f"{count} bodies, answered {', '.join(sorted(answers))}; both apps live"


def arrived(world):
    """A device sends items with such bodies: they are refused, the link and the app go on."""
    hub = world.hub()
    peer = Peer(hub, Identity(world.workspace, 0), "peer").pair()
    library = Library(world, hub)
    until(lambda: "app registered" in hub.log.read_text(), 10, "registration")
    link = peer.link([APP])
    bad, _ = bad_bodies(world.random)
    count = 0
    for channel in ("context", "userInfo", "urgent"):
        for sequence, (name, body) in enumerate(bad.items(), 1):
            count += 1
            identifier, keys = new_identifier(), {"revision": sequence} if channel == "context" else {}
            link.send(kind="item", app=APP, pairing=peer.pairing, id=identifier, channel=channel, sequence=sequence,
                      body=body, remaining=3_600_000, **keys)
            answer = link.next("failure", id=identifier)
            require(answer["code"] == 7014 and answer.get("name") == "malformed",
                    f"{name} as {channel} was answered with {described(answer)}")
            link.send(kind="gap", app=APP, pairing=peer.pairing, channel=channel, sequence=sequence, name="dead")
            link.next("outcome", channel=channel, sequence=sequence)
            link.send(kind="outcomeAck", app=APP, pairing=peer.pairing, channel=channel, sequence=sequence)
        sequence, keys = len(bad) + 1, {"revision": len(bad) + 1} if channel == "context" else {}
        link.send(kind="item", app=APP, pairing=peer.pairing, id=new_identifier(), channel=channel, sequence=sequence,
                  body=encode({"mark": f"good {channel}"}), remaining=3_600_000, **keys)
        library.until_prints(f"good {channel}")
        link.next("outcome", channel=channel, sequence=sequence)
    require(hub.linked() == 1, "the link is gone")
    return f"{count} items refused as malformed; one link and one session all along"


class Answering(threading.Thread):
    """A peer's app that answers each message with frames that a case makes of it."""

    def __init__(self, link, answers):
        super().__init__(daemon=True)
        self.link, self.answers, self.taken, self.ended = link, answers, 0, None
        self.ends = False
        self.start()

    def run(self):
        while not self.ends:
            try:
                envelope = self.link.read(0.2)
                if envelope["kind"] in ("message", "messageData"):
                    answer = self.answers(envelope)
                    self.taken += 1
                    self.link.write(answer)
            except TimeoutError:
                continue
            except (OSError, ValueError, Refused) as error:
                self.ended = str(error)
                return


def answered(world):
    """A device answers requests and broadcasts with bodies that are none, and sends such messages."""
    hub = world.hub()
    peer = Peer(hub, Identity(world.workspace, 0), "peer").pair()
    library = Library(world, hub, OTHER)
    App(hub, APP, receives=True).close()
    link = peer.link([APP, OTHER])
    bad, _ = bad_bodies(world.random)
    codes = set()
    current = {}

    def answer(envelope):
        kind, body = current["kind"], current["body"]
        keys = {"code": 7014, "name": "unhandled"} if kind == "failure" else {}
        return frame(kind=kind, app=envelope["app"], pairing=envelope["pairing"], id=envelope["id"], body=body, **keys)

    peer_app = Answering(link, answer)
    chosen = list(bad.items())[:3] if world.short else list(bad.items())
    for kind, broadcast in (("reply", False), ("failure", False), ("failure", True)):
        for name, body in chosen:
            current.update(kind=kind, body=body)
            taken = peer_app.taken
            options = ["--all"] if broadcast else ["--timeout", "5s"]
            code, output = hub.command("send", "--app", APP, *options, '{"please":"answer"}')
            until(lambda: peer_app.taken > taken or peer_app.ended, 5, "the message at the peer")
            require(peer_app.ended is None, f"the link ended for {name} as {kind}: {peer_app.ended}")
            require(code == 1 or (broadcast and code == 0),
                    f"tandem send ended with {code} for {name} as {kind}: {output.strip()}")
            require("daemon" not in output.lower(), f"{name} as {kind} is the daemon's fault: {output.strip()}")
            codes.add(code)
    peer_app.ends = True
    peer_app.join()
    refused = set()
    for kind in ("message", "messageData"):
        for name, body in bad.items():
            identifier = new_identifier()
            link.send(kind=kind, app=OTHER, pairing=peer.pairing, id=identifier, reply=True, deadline=5000, body=body)
            answer_frame = link.answer_to(identifier, 10)
            refused.add(described(answer_frame)[:40].split(" {")[0])
    library.require_alive()
    identifier = new_identifier()
    link.send(kind="message", app=OTHER, pairing=peer.pairing, id=identifier, reply=True, deadline=5000, body=GOOD)
    require(link.answer_to(identifier)["kind"] == "reply", "the app with the library does not answer any more")
    return f"{3 * len(chosen)} answers, {2 * len(bad)} messages ({', '.join(sorted(refused))}); the session lives"


def mutated(random, pairing):
    """A frame that is a frame, with values that are often none of its kind's."""
    bad, turned = bad_bodies(random)
    values = {
        "app": [APP, OTHER, "nobody", "." * 200, ""], "pairing": [pairing, pairing, ZERO, bytes(15), b"x" * 16],
        "id": [new_identifier(), new_identifier(), b""],
        "channel": ["context", "userInfo", "urgent", "file", "configuration", "no"],
        "sequence": [1, 2, 1 << 40, -1], "reply": [True, False], "deadline": [1000, 0, 1 << 50], "code": [7014, 0, -5],
        "name": ["handled", "dead", "restart", "x" * 300, ""], "offset": [0, 1 << 60, -1], "revision": [1, 1 << 60],
        "remaining": [1000, 0, -1], "attempt": [1, 1 << 40],
        "command": ["outstanding", "cancel", "subscribe", "status", "none"], "topic": ["t", "x" * 300],
        "body": [GOOD, turned, encode({"installed": True, "connected": True}), *bad.values()]}
    envelope = {"kind": random.choice(KINDS)}
    for key in random.sample(sorted(values), random.randrange(3, len(values))):
        envelope[key] = random.choice(values[key])
    data = bytearray(frame(**envelope))
    if random.random() < 0.2:
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(4, len(data))] = random.randrange(256)
    if random.random() < 0.05:
        del data[random.randrange(4, len(data)):]
    return bytes(data)


def fuzzed(world):
    """Mutated frames from a paired device and from an app, each on connection after connection."""
    count = 300 if world.short else 3000
    hub = world.hub()
    peer = Peer(hub, Identity(world.workspace, 0), "peer").pair()
    library = Library(world, hub, OTHER)
    until(lambda: "app registered" in hub.log.read_text(), 10, "registration")
    connections = [0, 0]
    began = time.monotonic()
    for side in (0, 1):
        stream, sent = None, 0
        while sent < count:
            try:
                if stream is None:
                    stream = App(hub, APP, receives=True) if side else peer.link([APP, OTHER])
                    connections[side] += 1
                for _ in range(5):
                    stream.write(mutated(world.random, peer.pairing))
                    sent += 1
                stream.rest()
                stream.kept.clear()
            except (Refused, OSError, ValueError):
                stream.close()
                stream = None
        if stream:
            stream.close()
        hub.done("status")
        library.require_alive()
    seconds = time.monotonic() - began
    link = peer.link([APP, OTHER])
    identifier = new_identifier()
    link.send(kind="message", app=OTHER, pairing=peer.pairing, id=identifier, reply=True, deadline=5000, body=GOOD)
    require(link.answer_to(identifier)["kind"] == "reply", "the app with the library does not answer any more")
    return (f"{2 * count} frames over {connections[0]} links and {connections[1]} app connections in {seconds:.0f} s; "
            "the session lives")


def shown(world):
    """`tandem context show`, again and again: what was accepted is there."""
    hub, kiosk, _ = world.pair()
    install(kiosk, APP)
    app = App(hub, APP)
    app.until_installed()
    app.accepted(app.submit("context", encode({"mark": "there"})))
    count = 100
    missed = sum("there" not in hub.done("context", "show", "--app", APP) for _ in range(count))
    require(missed == 0, f"{missed} of {count} times the context was not there")
    return f"{count} times the context was there"


def names(world):
    """Files whose names are paths, and worse (FIL-12): each arrives in its app's directory and nowhere else."""
    hub, kiosk, _ = world.pair()
    inside = kiosk.state / "apps"
    receiver = App(kiosk, APP, receives=True)
    app = App(hub, APP)
    app.until_installed()
    hostile = ["../../../evil", "/tmp/evil", "..", ".", "", "a/../../b", "-rf", ".hidden", "line\nbreak",
               "\u202egpj.exe", "nul\x01", "x" * 255, "\\share\\evil", "\u00e9" * 100]
    before = set(world.workspace.rglob("*"))
    for name in hostile:
        identifier = sent_file(app, b"bytes", name=name)
        delivery = receiver.next("delivery", 10, id=identifier)
        path = pathlib.Path(facts_of(delivery)["path"])
        require(path.is_relative_to(inside) and path.resolve() == path and path.read_bytes() == b"bytes",
                f"'{name}' arrived as {path}")
        require(not path.name.startswith((".", "-")) and path.name.isprintable(), f"'{name}' became '{path.name}'")
        receiver.handle(delivery)
        app.next("finished", 10, id=identifier)
        app.send(kind="finishedAck", app=APP, pairing=delivery["pairing"], id=identifier, channel="file")
    strange = [path for path in set(world.workspace.rglob("*")) - before
               if not any(path.is_relative_to(state) for state in (hub.state, kiosk.state))]
    require(not strange, f"written elsewhere: {strange[:3]}")
    answer = app.answer_to(app.submit("file", encode({"name": "x" * 256, "size": 5})))
    require(answer.get("code") == 7008, f"a name of 256 bytes was answered with {described(answer)}")
    return f"{len(hostile)} names, all within the app's directory"


CASES = (
    Case("8a", "bodies that are none, submitted", submitted),
    Case("8b", "bodies that are none, from a device", arrived),
    Case("8c", "answers and messages that are none", answered),
    Case("8d", "mutated frames from a device and an app", fuzzed),
    Case("8e", "files with hostile names", names),
    Case("8f", "an app that comes back finds its context", shown, is_short=False),
)
