"""Requests under way when their link ends: what may have been handled never says that it was not (SES-11). Such a
request is 7014, after unpairing 7005, and never 7007, which would say that nobody has seen it.
"""
import signal
import time

from apps import App, Counterpart, described, facts_of, new_identifier
from case import Case
from daemons import require, until
from frames import encode
from peers import Identity, Peer

APP = "org.example.underway"
REQUESTS = 3


def begin(app, pairing, arrives):
    """Requests that have arrived at the other side, unanswered."""
    identifiers = [new_identifier() for _ in range(REQUESTS)]
    for identifier in identifiers:
        app.send(kind="message", app=APP, pairing=pairing, id=identifier, reply=True, deadline=60_000,
                 body=encode({"do": "it"}))
    arrives()
    return identifiers


def require_ends(app, identifiers, way, code, seconds=20):
    """All of them ended with this code; none says that it may be tried as if nothing had happened."""
    seen = set()
    for identifier in identifiers:
        answer = app.answer_to(identifier, seconds)
        seen.add(described(answer))
        require(answer["kind"] == "failure" and answer["code"] == code, f"{way}: {described(answer)} instead of {code}")
        require(code != 7007 and not facts_of(answer).get("retry"), f"{way}: {described(answer)} asks for a repetition")
    return seen


def peer_ends(world):
    """The peer of a hub's app says bye, refuses, comes again, is unpaired, goes without a word."""
    hub = world.hub()
    identity = Identity(world.workspace, 0)
    peer = Peer(hub, identity, "peer").pair()
    app = App(hub, APP, receives=True)
    told = []

    def bye(link):
        link.send(kind="bye")
        link.close()

    def refuses(link):
        link.send(kind="refusal", name="unexpected", body=encode({"text": "no more"}))
        link.close()

    def replaced(link):
        peer.link([APP])

    def unpaired(link):
        hub.done("unpair", "peer", "--yes")

    def cut(link):
        link.close()

    for way, end, code in (
            ("bye", bye, 7014), ("refused", refuses, 7014), ("replaced", replaced, 7014), ("cut", cut, 7014),
            ("unpaired", unpaired, 7005)):
        link = peer.link([APP])
        pairing = app.until_reachable(pairing=peer.pairing)
        identifiers = begin(app, pairing, lambda: [link.next("message") for _ in range(REQUESTS)])
        end(link)
        require_ends(app, identifiers, way, code)
        told.append(f"{way} {code}")
        app.rest()
        until(lambda: way == "replaced" or hub.linked() == 0, 10, "the end of the link")
    require(app.query("budget", pairing=bytes(16))["kind"] == "answer", "the app lost its daemon")
    return ", ".join(told)


def daemon_stops(world):
    """The daemon of the counterpart stops in order, or is killed; then the same with the requester's own one."""
    hub, kiosk, _ = world.pair()
    told = []
    for way, sender, stopped, how in (
            ("the other daemon stops", hub, kiosk, signal.SIGTERM), ("it is killed", hub, kiosk, signal.SIGKILL),
            ("the hub stops", kiosk, hub, signal.SIGTERM)):
        receiving = App(kiosk if sender is hub else hub, APP, receives=True)
        app = App(sender, APP, receives=True)
        silent = Counterpart(receiving, replies=False)
        pairing = app.until_reachable()
        identifiers = begin(app, pairing, lambda: until(lambda: len(silent.requests) == REQUESTS, 10, "arrival"))
        if stopped is hub:
            hub.keep_port()
        stopped.stop(how)
        require_ends(app, identifiers, way, 7014)
        told.append(way)
        silent.stop()
        app.close()
        ready = hub.links_ready()
        stopped.start()
        until(lambda: hub.links_ready() > ready, 40, "the link afterwards")
    return f"{', '.join(told)}: each request 7014"


def unpaired_by_peer(world):
    """The counterpart's device unpairs while requests are under way."""
    hub, kiosk, _ = world.pair()
    silent = Counterpart(App(kiosk, APP, receives=True), replies=False)
    app = App(hub, APP, receives=True)
    pairing = app.until_reachable()
    identifiers = begin(app, pairing, lambda: until(lambda: len(silent.requests) == REQUESTS, 10, "arrival"))
    kiosk.done("unpair", "hub", "--yes")
    codes = set()
    for identifier in identifiers:
        answer = app.answer_to(identifier, 20)
        require(answer["kind"] == "failure" and answer["code"] in (7005, 7014), f"ended as {described(answer)}")
        require(not facts_of(answer).get("retry"), f"{described(answer)} asks for a repetition")
        codes.add(answer["code"])
    return f"unpaired there: {sorted(codes)}"


def vanished(world):
    """The line falls silent under requests; then one is asked for while there is no link."""
    hub, kiosk, line = world.pair(line=True)
    silent = Counterpart(App(kiosk, APP, receives=True), replies=False)
    app = App(hub, APP, receives=True)
    pairing = app.until_reachable()
    identifiers = begin(app, pairing, lambda: until(lambda: len(silent.requests) == REQUESTS, 10, "arrival"))
    line.tell("stall")
    began = time.monotonic()
    require_ends(app, identifiers, "silence", 7014, 25)
    took = time.monotonic() - began
    answer, _ = app.ask(encode({"do": "it"}), 5)
    require(answer["code"] == 7007 and facts_of(answer).get("retry"), f"without a link: {described(answer)}")
    return f"7014 after {took:.1f} s of silence; without a link 7007 with retry"


CASES = (
    Case("5a", "requests under way when the peer's link ends", peer_ends),
    Case("5b", "requests under way when a daemon stops", daemon_stops, is_short=False),
    Case("5c", "requests under way when the other device unpairs", unpaired_by_peer),
    Case("5d", "requests under way when the line falls silent", vanished, is_short=False),
)
