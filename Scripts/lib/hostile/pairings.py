"""Pairings: joining again keeps what waits, a replacement needs a word, unpairing counts, and a primary that moved is
found (PAR-8, PAR-13, PAR-16, PAR-19).
"""
import re
import signal
import time

from apps import App, Counterpart
from case import Case, milliseconds
from daemons import join, link_of, require, until
from frames import decode, encode
from peers import Identity, Link, Peer

APP = "org.example.pairings"
COUNT = 20


def fills(app, pairing, count=COUNT):
    identifiers = [app.submit("userInfo", encode({"n": number}), pairing) for number in range(count)]
    for identifier in identifiers:
        app.accepted(identifier)
    return identifiers


def both_ways(hub, kiosk):
    """An app of each side that knows its counterpart; nobody receives."""
    App(hub, APP, receives=True).close()
    App(kiosk, APP, receives=True).close()
    ends = App(hub, APP), App(kiosk, APP)
    for app in ends:
        pairing = app.until_installed()
    return *ends, pairing


def arrives_once(daemon, identifiers, seconds=20):
    receiver = Counterpart(App(daemon, APP, receives=True))
    until(lambda: len(receiver.items) >= len(identifiers), seconds, f"{len(identifiers)} deliveries on {daemon.name}")
    receiver.stop()
    require(receiver.items == identifiers,
            f"{daemon.name} got {len(receiver.items)} of {len(identifiers)} items, or in another order")


def again(world):
    """The same device joins again, with items on both sides that have left, and some that wait for the line."""
    hub, kiosk, line = world.pair(line=True)
    on_hub, on_kiosk, pairing = both_ways(hub, kiosk)
    to_kiosk, to_hub = fills(on_hub, pairing), fills(on_kiosk, pairing)
    line.tell("refuse")
    to_kiosk += fills(on_hub, pairing)
    to_hub += fills(on_kiosk, pairing)
    output = join(kiosk, link_of(hub))
    until(lambda: hub.linked() == 1 and kiosk.linked() == 1, 20, "a link to the joined address")
    require(len(hub.status()["pairings"]) == 1, "the hub has two pairings with one device")
    named = {daemon.status()["pairings"][0]["pairing"] for daemon in (hub, kiosk)}
    require(len(named) == 1, "the sides name two pairings")
    arrives_once(kiosk, to_kiosk)
    arrives_once(hub, to_hub)
    return f"{len(to_kiosk)} and {len(to_hub)} items kept: {output.strip().splitlines()[0]}"


def replaced(world):
    """The primary ended the pairing: joining again says what would be lost, and does it with a word only."""
    hub, kiosk, line = world.pair(line=True)
    _, on_kiosk, pairing = both_ways(hub, kiosk)
    line.tell("refuse")
    fills(on_kiosk, pairing)
    on_kiosk.close()
    unpaired = hub.done("unpair", "kiosk", "--yes")
    line.tell("open")
    link = link_of(hub)
    code, refused = kiosk.command("join", text=link)
    require(code == 1 and "would-replace" in refused and str(COUNT) in refused,
            f"join ended with {code}: {refused.strip()}")
    waiting = sum(queue["waiting"] for queue in kiosk.status()["queues"])
    require(waiting == COUNT, f"after the refusal {waiting} of {COUNT} items wait")
    join(kiosk, link, "--replace")
    until(lambda: hub.linked() == 1 and kiosk.linked() == 1, 20, "the new pairing's link")
    require(len(kiosk.status()["pairings"]) == 1, "the kiosk kept the old pairing")
    require(not kiosk.status()["queues"], "the old pairing's items are still there")
    return f"refused: {refused.strip().splitlines()[0][:110]}; then replaced; {unpaired.strip().splitlines()[-1]}"


def counted(world):
    """unpair says how much it dropped."""
    hub, kiosk, line = world.pair(line=True)
    on_hub, _, pairing = both_ways(hub, kiosk)
    line.tell("refuse")
    fills(on_hub, pairing)
    output = hub.done("unpair", "kiosk", "--yes")
    require(re.search(rf"\b{COUNT} items\b", output), f"unpair said: {output.strip()}")
    require(not hub.status()["queues"] and not hub.status()["pairings"], "something of the pairing is left")
    return output.strip().replace("\n", "; ")


def itself(world):
    """A device is given its own link, and its own fingerprint."""
    hub, kiosk, _ = world.pair()
    link, seen = link_of(hub), []
    code, output = hub.command("join", text=link)
    seen.append(output.strip())
    require(code == 1 and "own-device" in output, f"joining its own link ended with {code}: {output.strip()}")
    code, output = hub.command("trust-device", hub.status()["fingerprint"], "--role", "secondary")
    require(code == 1 and "own-device" in output, f"trusting itself ended with {code}: {output.strip()}")
    hub.stop(signal.SIGTERM)
    code, output = world.command("join", "--state", hub.state, text=link)
    require(code == 1, f"joining in its own state directory ended with {code}: {output.strip()}")
    hub.keep_port()
    hub.start()
    until(lambda: hub.linked() == 1, 20, "the link to the kiosk")
    require(len(hub.status()["pairings"]) == 1, "the hub is paired with itself")
    return seen[0].splitlines()[0][:120]


def moved(world):
    """The hub comes back on another port; the kiosk finds it by a word, and nothing is lost."""
    hub, kiosk, _ = world.pair()
    _, on_kiosk, pairing = both_ways(hub, kiosk)
    old = hub.ports[0]
    hub.stop()
    hub.start()
    require(hub.ports[0] != old, "the port is the same by chance")
    items = fills(on_kiosk, pairing)
    require(kiosk.linked() == 0, "the kiosk found the hub by itself")
    began = time.monotonic()
    kiosk.done("address", "hub", f"127.0.0.1:{hub.ports[0]}")
    until(lambda: hub.linked() == 1, 5, "a link to the new address")
    took = time.monotonic() - began
    arrives_once(hub, items)
    code, output = kiosk.command("address", "nobody", "127.0.0.1:1")
    require(code == 1 and "not-found" in output, f"an unknown name ended with {code}: {output.strip()}")
    return f"linked {milliseconds(took)} after the word, {len(items)} items arrived"


def overtaken(world):
    """A device whose new link overtakes its own `stored`, and one whose numbers cannot be (DEL-34, DEL-36)."""
    hub = world.hub()
    peer = Peer(hub, Identity(world.workspace, 0), "peer").pair()
    link = peer.link([APP])
    app = App(hub, APP)
    pairing = app.until_installed(pairing=peer.pairing)
    first = app.submit("userInfo", encode({"n": 1}), pairing)
    item = link.next("item")
    link.send(kind="stored", app=APP, pairing=pairing, channel="userInfo", sequence=item["sequence"])
    app.next("progress", 10, id=first, name="stored")
    newer = peer.link([APP])
    require(newer.greeting["epoch"] == peer.epoch, "a hello that its own `stored` overtook began a new epoch")
    second = app.submit("userInfo", encode({"n": 2}), pairing)
    require(newer.next("item")["id"] == second, "an item that was stored was sent again")
    impossible = {"app": APP, "channel": "userInfo", "sequence": 1000}
    link = Link(peer.identity, hub.ports[0])
    link.send(kind="hello", pairing=pairing, body=peer.hello(received=[impossible]))
    greeting = decode(link.next("hello")["body"])
    require(greeting["epoch"] == peer.epoch + 1 and not greeting["received"] and not greeting["sent"],
            f"an impossible `received` was answered in epoch {greeting['epoch']}")
    peer.epoch += 1
    last = peer.link([APP])
    require(hub.linked() == 1, "there is no link in the new epoch")
    last.close()
    return f"an overtaken hello kept epoch {peer.epoch - 1}; an impossible one was answered in epoch {peer.epoch}"


CASES = (
    Case("7a", "joining again keeps the items of both sides", again),
    Case("7b", "a replacement needs --replace", replaced),
    Case("7c", "unpair counts", counted),
    Case("7d", "a device cannot join itself", itself),
    Case("7e", "a primary that moved", moved),
    Case("7f", "a link that overtakes, and numbers that cannot be", overtaken),
)
