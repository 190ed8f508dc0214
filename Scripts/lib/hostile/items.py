"""Repetitions: the same identifier is the same item, also after a lost answer, a crash, or its end (SES-48, DEL-33)."""
import signal
import time

from apps import App, Counterpart, new_identifier, sent_file
from case import Case
from daemons import require, until
from frames import encode

APP = "org.example.items"
QUIET = 1.0  # seconds in which a second delivery would have come: a link's round trip is far below


def ended(app, identifier, seconds=10):
    """Hears an item's end and confirms it."""
    end = app.next("finished", seconds, id=identifier)
    app.send(kind="finishedAck", app=APP, pairing=end["pairing"], id=identifier, channel=end["channel"])
    return end["name"]


def repeated(world):
    hub, kiosk, _ = world.pair()
    receiver = Counterpart(App(kiosk, APP, receives=True))
    first = App(hub, APP)
    pairing = first.until_installed()
    told = []
    for channel in ("userInfo", "urgent"):
        identifier, body = new_identifier(), encode({"channel": channel})
        # The answer is lost: the connection goes as soon as the item has been delivered.
        app = App(hub, APP)
        app.submit(channel, body, pairing, identifier)
        until(lambda: receiver.items.count(identifier) == 1, 10, "the delivery")
        app.close()
        for _ in range(3):
            app = App(hub, APP)
            app.submit(channel, body, pairing, identifier)
            app.accepted(identifier)
            require(ended(app, identifier) == "handled", "the item ended otherwise")
            app.query("budget", pairing=pairing)
            app.close()
        hub.stop(signal.SIGKILL)
        hub.keep_port()
        hub.start()
        app = App(hub, APP)
        app.until_installed()
        app.submit(channel, body, pairing, identifier)
        app.accepted(identifier)
        require(ended(app, identifier) == "handled", "after a crash the item ended otherwise")
        later = app.submit(channel, encode({"behind": 1}), pairing)
        until(lambda: later in receiver.items, 40, "an item behind it")
        require(receiver.items.count(identifier) == 1,
                f"{channel}: one identifier was delivered {receiver.items.count(identifier)} times")
        told.append(f"{channel} 5 times")
    require(len(set(receiver.items)) == len(receiver.items), "an item was delivered again")
    require(set(receiver.attempts) == {1}, "an item was delivered as a repetition")
    return f"submitted {', '.join(told)}, delivered once each, also after a confirmed end and a crash"


def lost_in_burst(world):
    """Connections that go at a random moment, and repeat all that was not answered, with the daemon killed between."""
    hub, kiosk, _ = world.pair()
    hub.keep_port()
    receiver = Counterpart(App(kiosk, APP, receives=True))
    pairing = App(hub, APP).until_installed()
    wanted, answered, repetitions = [], set(), 0
    rounds = 6 if world.short else 25
    for number in range(rounds):
        wanted += [new_identifier() for _ in range(20)]
        app = App(hub, APP)
        for identifier in wanted:
            if identifier not in answered:
                repetitions += 1
                app.submit("userInfo", encode({"id": identifier}), pairing, identifier)
        if number == rounds - 1:
            for identifier in wanted:
                if identifier not in answered:
                    app.accepted(identifier)
        elif number % 5 == 4:
            hub.stop(signal.SIGKILL)
            app.close()
            hub.start()
        else:
            deadline = time.monotonic() + world.random.random() * 0.02
            try:
                while True:
                    answer = app.read(deadline - time.monotonic())
                    if answer["kind"] == "accepted":
                        answered.add(answer["id"])
            except TimeoutError:
                app.close()
    until(lambda: len(receiver.items) >= len(wanted), 30, f"{len(wanted)} deliveries")
    app.submit("userInfo", encode({"last": 1}), pairing, last := new_identifier())
    until(lambda: last in receiver.items, 20, "the last item")
    require(receiver.items[:-1] == wanted,
            f"{len(wanted)} items were delivered as {len(receiver.items) - 1}, {len(set(receiver.items)) - 1} different")
    return f"{len(wanted)} items submitted {repetitions} times over {rounds} connections: each delivered once, in order"


def other_channels(world):
    """The same with a context and a file: the context has one revision, the file arrives once."""
    hub, kiosk, _ = world.pair()
    receiver = Counterpart(App(kiosk, APP, receives=True))
    pairing = App(hub, APP).until_installed()
    identifier, revisions = new_identifier(), set()
    for _ in range(3):
        app = App(hub, APP)
        app.submit("context", encode({"same": 1}), pairing, identifier)
        revisions.add(app.accepted(identifier)["revision"])
        app.close()
    require(revisions == {1}, f"one context has the revisions {sorted(revisions)}")
    data, identifier = world.random.randbytes(200_000), new_identifier()
    app = App(hub, APP)
    sent_file(app, data, pairing=pairing, identifier=identifier)
    whole = app.next("progress", 20, id=identifier, name="transferred", offset=len(data))
    require(whole, "the last progress was not heard")
    app.next("progress", 20, id=identifier, name="stored")
    require(ended(app, identifier) == "handled", "the file ended otherwise")
    app.close()
    for _ in range(2):
        app = App(hub, APP)
        app.submit("file", encode({"name": "hostile.bin", "size": len(data)}), pairing, identifier)
        app.accepted(identifier)
        require(ended(app, identifier) == "handled", "the repeated file ended otherwise")
        app.close()
    app = App(hub, APP)
    last = app.submit("userInfo", encode({"last": 1}), pairing)
    until(lambda: last in receiver.items, 10, "an item behind it")
    require(receiver.items.count(identifier) == 1, f"the file was delivered {receiver.items.count(identifier)} times")
    return "a context submitted 3 times has revision 1; a file submitted 3 times arrived once"


def stopped(world):
    """A receiver's daemon that stops in order marks only the item that a handler had (DEL-35)."""
    count = 40
    hub, kiosk, _ = world.pair()
    slow = App(kiosk, APP, receives=True)
    app = App(hub, APP)
    pairing = app.until_installed()
    wanted = [app.submit("userInfo", encode({"n": number}), pairing) for number in range(count)]
    for identifier in wanted:
        app.next("progress", 10, id=identifier, name="stored")
    first = slow.next("delivery")
    require(first["id"] == wanted[0], "another item came first")
    kiosk.stop(signal.SIGTERM)
    kiosk.start()
    receiver = Counterpart(App(kiosk, APP, receives=True))
    until(lambda: len(receiver.items) >= count, 20, f"{count} deliveries")
    marked = sum(attempt > 1 for attempt in receiver.attempts)
    require(receiver.items == wanted, "an item came twice or in another order")
    require(marked <= 1, f"{marked} of {count} items are marked as redelivery")
    return f"{marked} of {count} items marked as redelivery"


CASES = (
    Case("6a", "an identifier submitted again and again", repeated),
    Case("6b", "submissions repeated after connections and daemons that end", lost_in_burst),
    Case("6c", "contexts and files submitted again", other_channels),
    Case("6d", "an orderly stop under items", stopped, is_short=False),
)
