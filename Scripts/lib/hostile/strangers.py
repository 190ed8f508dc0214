"""Strangers on the network neither keep a paired device out nor fill the log (LIM-4, LIM-54; SES-61)."""
import time

from apps import App, Refused, new_identifier
from case import Case, milliseconds
from daemons import join, link_of, require, until
from frames import encode
from peers import Identity, Link, Peer

RATE = 1000
DELAY = 0.05
COMES_BACK = 5  # seconds: a few attempts of SES-19
JOINS = 10
APP = "org.example.stranger"
FEW_LINES = 8  # LIM-54: of each kind one in a minute
LINES_OF_A_DEVICE = 4 * 60  # LIM-54: ready, closed, ended before, and stale contexts
LINES_OF_A_USER = 20 + 256  # LIM-54


def crowded(world):
    """A device 50 ms away comes back, and another one joins, while empty connections come in a flood."""
    hub, kiosk, line = world.pair(delay=DELAY)
    new = world.kiosk("new")
    back, joined, rates = [], [], []
    for sources in ((1,) if world.short else (1, 64)):
        flood = world.flood(hub.ports[0], RATE, sources)
        time.sleep(1)  # until every place is taken
        for _ in range(2 if world.short else 4):
            ready = hub.links_ready()
            began = time.monotonic()
            line.tell("cut")
            until(lambda: hub.links_ready() > ready, COMES_BACK, f"a new link beside a flood from {sources} addresses")
            back.append(time.monotonic() - began)
        began = time.monotonic()
        join(new, link_of(hub, line.ports[0]))
        joined.append(time.monotonic() - began)
        require(joined[-1] <= JOINS, f"joining took {joined[-1]:.1f} s, at most {JOINS} s are allowed")
        rates.append(flood.stop())
        require(rates[-1] >= RATE / 2, f"only {rates[-1]:.0f} connections a second were made, so nothing was shown")
    hub.done("status")
    return (f"{min(rates):.0f} empty connections a second; back after {milliseconds(max(back))} at worst, "
            f"joined in {milliseconds(max(joined))}")


def tokens(world):
    """Joins with made-up tokens, and frames that are none."""
    count = 60 if world.short else 300
    hub, kiosk, _ = world.pair()
    identity = Identity(world.workspace, 0)
    before = len(hub.lines())
    refusals = set()
    for number in range(count):
        link = Link(identity, hub.ports[0])
        try:
            if number % 3 == 2:
                link.write(world.random.randbytes(400))
            else:
                link.send(kind="join", body=encode({
                    "method": "token", "token": world.random.randbytes(16), "proof": world.random.randbytes(32),
                    "name": "stranger", "reportKey": identity.public, "minimum": 1, "maximum": 1}))
            link.next("joined")
        except Refused as refusal:
            refusals.add(str(refusal).split(":")[0])
        except OSError:
            refusals.add("closed")
        finally:
            link.close()
    lines = hub.lines()[before:]
    require("join-refused" in refusals, f"made-up tokens were answered with {sorted(refusals)}")
    require(len(lines) <= FEW_LINES, f"{count} strangers wrote {len(lines)} lines: {lines[len(lines) // 2]}")
    require(hub.linked() == 1 and kiosk.runs, "the paired device lost its link")
    answers = ", ".join(sorted(refusals))
    return f"{count} strangers, answered {answers}; {len(lines)} lines of the log, at most {FEW_LINES}"


def chatter(world):
    """A paired device and an app that come and go, and say what is written down each time (LIM-54)."""
    hub, kiosk, _ = world.pair()
    peer = Peer(hub, Identity(world.workspace, 0), "peer").pair()
    before = len(hub.lines())
    for _ in range(150):
        peer.link([APP]).close()
        broken = Link(peer.identity, hub.ports[0])
        broken.write(world.random.randbytes(100))
        broken.close()
    link = peer.link([APP])
    for sequence in range(1, 301):
        link.send(kind="item", app=APP, pairing=peer.pairing, id=new_identifier(), channel="context", sequence=sequence,
                  revision=1, body=encode({"n": 1}), remaining=3_600_000)
    link.send(kind="ping", id=new_identifier())
    link.next("pong")
    for _ in range(1500):
        App(hub, APP).close()
    hub.done("status")
    wrote = len(hub.lines()) - before
    minutes = 1 + int(time.monotonic() - world.began) // 60
    bound = (LINES_OF_A_DEVICE + LINES_OF_A_USER) * minutes + FEW_LINES
    text = f"a device's 600 doings and an app's 1500 registrations wrote {wrote} lines, at most {bound}"
    require(wrote <= bound, text)
    require(hub.linked() >= 1 and kiosk.runs, "the other device lost its link")
    return text


CASES = (
    Case("2a", "a paired device 50 ms away beside a flood of strangers", crowded),
    Case("2b", "made-up join tokens and garbage", tokens),
    Case("2c", "lines of the log by a paired device and an app", chatter, is_short=False),
)
