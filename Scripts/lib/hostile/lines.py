"""Slow lines and long ones: everything that waits arrives, and a message beside it is answered (LIM-46, DEL-27)."""
import time

from apps import App, Counterpart, body_of, described, install
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


CASES = (
    Case("4a", "contexts of 250 kB that wait, over 500 kB/s and 50 ms", slow),
    Case("4b", "the same over 5 MB/s and 200 ms", long, is_short=False),
)
