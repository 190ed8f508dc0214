"""Slow lines and long ones: everything that waits arrives, and a message beside it is answered (LIM-46, DEL-27)."""
import time

from apps import App, Counterpart, body_of, described, install, sent_file
from case import Case, spread
from daemons import require, until
from frames import encode

APP = "org.example.line"
ANSWERED = 2  # seconds, at worst
SIZE = 250_000


def waiting(world, rate, delay, count, seconds):
    """Contexts of so many apps wait until the line is there; then a request goes beside them again and again."""
    hub, kiosk, line = world.pair(rate, delay)
    names = [f"{APP}.{number}" for number in range(count)]
    echo = Counterpart(App(kiosk, APP, receives=True))
    install(kiosk, *names)
    app = App(hub, APP, receives=True)
    app.until_reachable()
    writers = [App(hub, name, capabilities=["context"]) for name in names]
    for writer in writers:
        writer.until_installed()
    line.tell("refuse")
    for writer in writers:
        writer.accepted(writer.submit("context", body_of(SIZE, world.random)))
        writer.close()
    receivers = [Counterpart(App(kiosk, name, receives=True)) for name in names]
    links = hub.links_ready()
    line.tell("open")
    until(lambda: hub.links_ready() > links, 40, "a link over the open line")
    app.until_reachable(10)
    began, latencies, answers = time.monotonic(), [], set()
    arrived = 0
    while arrived < count and time.monotonic() < began + seconds:
        answer, latency = app.ask(encode({"n": len(latencies)}))
        latencies.append(latency)
        answers.add("reply" if answer["kind"] == "reply" else described(answer))
        arrived = sum(bool(receiver.items) for receiver in receivers)
    lasted = time.monotonic() - began
    ended = hub.links_ready() - links - 1
    for receiver in receivers:
        receiver.stop()
    text = (f"{arrived} of {count} contexts in {lasted:.1f} s, {ended} links ended, {len(latencies)} requests: "
            f"{spread(latencies)}")
    require(arrived == count, f"{text}; answers {sorted(answers)}")
    require(ended == 0, text)
    require(answers == {"reply"}, f"{text}; answered with {sorted(answers)}")
    require(max(latencies) <= ANSWERED, f"{text}; at most {ANSWERED} s are allowed")
    require(all(receiver.failure is None for receiver in (echo, *receivers)), "a receiver lost its daemon")
    require(all(len(receiver.items) == 1 for receiver in receivers), "a context arrived twice")
    return text


def slow(world):
    return waiting(world, 500_000, 0.05, 4 if world.short else 40, 60)


def long(world):
    return waiting(world, 5_000_000, 0.2, 40, 40)


def crossed(world):
    """Everything at once and both ways: contexts, user infos, a file, and requests beside them."""
    hub, kiosk, line = world.pair(500_000, 0.05)
    names = [f"{APP}.{number}" for number in range(6)]
    receivers, senders, wanted = [], [], []
    asking = []
    for here, there in ((hub, kiosk), (kiosk, hub)):
        receivers.append([Counterpart(App(there, f"{name}.{here.name}", receives=True)) for name in names])
        Counterpart(App(there, f"{APP}.{here.name}", receives=True))
        asking.append(App(here, f"{APP}.{here.name}", receives=False))
        senders.append([App(here, f"{name}.{here.name}") for name in names])
    for app in (*senders[0], *senders[1], *asking):
        app.until_installed()
    for side in senders:
        for app in side:
            wanted.append(app.submit("context", body_of(SIZE, world.random)))
            wanted += [app.submit("userInfo", body_of(30_000, world.random)) for _ in range(4)]
        world.beside(sends_file, side[0], 1_500_000)
    links, latencies, answers = hub.links_ready(), [], set()
    began = time.monotonic()

    def here():
        return sum(len(receiver.items) for side in receivers for receiver in side)
    while here() < len(wanted) + 2 and time.monotonic() < began + 60:
        for app in asking:
            answer, latency = app.ask(encode({"n": 1}), pairing=app.pairing)
            latencies.append(latency)
            answers.add("reply" if answer["kind"] == "reply" else described(answer))
    text = (f"{here()} of {len(wanted) + 2} items and files in {time.monotonic() - began:.1f} s, "
            f"{len(latencies)} requests: {spread(latencies)}")
    require(here() == len(wanted) + 2, text)
    require(hub.links_ready() == links, f"{text}; the link ended")
    require(answers == {"reply"}, f"{text}; answered with {sorted(answers)}")
    require(max(latencies) <= ANSWERED, f"{text}; at most {ANSWERED} s are allowed")
    return text


def sends_file(app, size):
    """Hands over one file, and stays until it has ended."""
    sent_file(app, bytes(size))
    app.next("finished", 120)


def halting(world):
    """A line on which nothing moves for 8 s, again and again, shorter than silence that ends a link (LIM-9)."""
    hub, kiosk, line = world.pair(2_000_000, 0.02)
    receiver = Counterpart(App(kiosk, APP, receives=True))
    app = App(hub, APP)
    pairing = app.until_installed()
    links, wanted = hub.links_ready(), []
    for _ in range(2):
        wanted += [app.submit("userInfo", body_of(30_000, world.random), pairing) for _ in range(100)]
        line.tell("stall")
        time.sleep(8)
        arrived = len(receiver.items)
        line.tell("open")
        # Where the next items are submitted within milliseconds, the two silences would be one.
        until(lambda: len(receiver.items) > arrived, 20, "an item")
    until(lambda: len(receiver.items) >= len(wanted), 20, "all items")
    require(receiver.items == wanted, "an item came twice or in another order")
    require(hub.links_ready() == links, "the link ended")
    return f"{len(wanted)} items of 30 kB over a line that stood still twice, in order, on one link"


CASES = (
    Case("4a", "contexts of 250 kB that wait, over 500 kB/s and 50 ms", slow),
    Case("4b", "the same over 5 MB/s and 200 ms", long, is_short=False),
    Case("4c", "everything at once and both ways over 500 kB/s and 50 ms", crossed, is_short=False),
    Case("4d", "a line that stands still for 8 s, twice", halting, is_short=False),
)
