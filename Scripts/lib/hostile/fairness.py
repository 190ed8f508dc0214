"""Turns: one user, and one app, leaves the others theirs (LIM-47, LIM-50)."""
import contextlib
import statistics
import time

from apps import App, Counterpart, Template, body_of, described, facts_of, install
from case import Case, milliseconds, spread
from daemons import require, until
from frames import encode

APP = "org.example.other"
GREEDY = "org.example.greedy"
ACCEPTED_BESIDE_QUERIES = 0.05  # seconds, median: commits go before reads
ANSWERED_BESIDE_A_FLOOD = 2  # seconds, at worst
STORED_BESIDE_A_BACKLOG = 4  # seconds, at worst: a turn of LIM-46 there, and one of the answers
LINE = (500_000, 0.05)


def times(app, count, **keys):
    """How long each of so many items takes until it is accepted."""
    latencies = []
    for _ in range(count):
        began = time.monotonic()
        app.accepted(app.submit("userInfo", encode({"small": 1}), **keys))
        latencies.append(time.monotonic() - began)
    return latencies


def asks_for_lists(hub, pairing, uid):
    """Eight connections of one user, each with eight questions under way, for ever."""
    template = Template(kind="query", app=GREEDY, command="outstanding", pairing=pairing, channel="userInfo",
                        body=encode({"after": 0}))
    connections = [App(hub, GREEDY, uid=uid, capabilities=[]) for _ in range(8)]
    for connection in connections:
        connection.write(b"".join(template.new() for _ in range(8)))
    while True:
        for connection in connections:
            connection.read(30)
            connection.write(template.new())


def queries(world):
    """One user's questions for its outstanding items beside another's durable items."""
    greedy, other = 65_001, 65_002
    hub, kiosk, line = world.pair(line=True)
    install(kiosk, APP, GREEDY)
    # Items are their owner's, and only a receiver makes its user the owner.
    app, owner = App(hub, APP, receives=True, uid=other), App(hub, GREEDY, receives=True, uid=greedy)
    app.until_installed()
    pairing = owner.until_installed()
    line.tell("refuse")
    for identifier in [owner.submit("userInfo", body_of(4000, world.random)) for _ in range(500)]:
        owner.accepted(identifier)
    count = 60 if world.short else 200
    quiet = times(app, count)
    world.beside(asks_for_lists, hub, pairing, greedy)
    times(app, 10)
    busy = times(app, count)
    median = statistics.median(busy)
    require(median <= ACCEPTED_BESIDE_QUERIES,
            f"accepted after {milliseconds(median)} beside the questions, "
            f"{milliseconds(statistics.median(quiet))} without; "
            f"at most {milliseconds(ACCEPTED_BESIDE_QUERIES)} are allowed")
    return f"accepted without: {spread(quiet)}; beside 64 questions under way: {spread(busy)}"


def sends_messages(hub, pairing, app, count):
    """Messages of 16 kB without reply, as fast as the daemon takes them."""
    flood = App(hub, app)
    template = Template(kind="message", app=app, pairing=pairing, body=encode({"d": bytes(count)}))
    while True:
        flood.write(template.new())
        flood.rest()
        flood.kept.clear()


def messages(world):
    """One app's flood of messages over a narrow line beside another app's requests."""
    hub, kiosk, _ = world.pair(*LINE)
    sink, echo = Counterpart(App(kiosk, GREEDY, receives=True)), Counterpart(App(kiosk, APP, receives=True))
    App(hub, GREEDY, receives=True).until_reachable()
    app = App(hub, APP, receives=True)
    pairing = app.until_reachable()
    quiet = [app.ask(encode({"n": n}))[1] for n in range(5)]
    world.beside(sends_messages, hub, pairing, GREEDY, 16_000)
    deadline = time.monotonic() + (8 if world.short else 20)
    busy, answers = [], set()
    while time.monotonic() < deadline:
        answer, seconds = app.ask(encode({"n": 1}))
        busy.append(seconds)
        answers.add(described(answer) if answer["kind"] == "failure" else "reply")
    text = f"{len(busy)} requests without: {spread(quiet)}; beside the flood: {spread(busy)}"
    require(answers == {"reply"}, f"{text}; answered with {sorted(answers)}")
    require(max(busy) <= ANSWERED_BESIDE_A_FLOOD, f"{text}; at most {ANSWERED_BESIDE_A_FLOOD} s are allowed")
    require(sink.requests, "no message of the flood arrived")
    require(sink.failure is None and echo.failure is None, f"receivers: {sink.failure} {echo.failure}")
    return text


def submits(hub, app, uid, count):
    """Items of 1 kB, as fast as the daemon takes them."""
    connection = App(hub, app, receives=True, uid=uid)
    template = Template(
        kind="submit", app=app, pairing=connection.until_installed(), channel="userInfo",
        body=encode({"d": bytes(1000)}))
    for _ in range(count):
        connection.write(b"".join(template.new() for _ in range(16)))
        with contextlib.suppress(TimeoutError):
            while True:
                connection.read(0)


def burst(world):
    """Bursts of several users' items beside one user's: those are accepted, or refused with `retry`."""
    users = [65_001, 65_002, 65_003] if world.is_root else [None] * 3
    hub, kiosk, _ = world.pair()
    names = [f"{GREEDY}.{number}" for number in range(len(users))]
    install(kiosk, APP, *names)
    app = App(hub, APP, receives=True, uid=65_004 if world.is_root else None)
    app.until_installed()
    for name, uid in zip(names, users):
        world.beside(submits, hub, name, uid, 400)
    latencies, refusals = [], []
    for _ in range(100 if world.short else 300):
        began = time.monotonic()
        identifiers = [app.submit("userInfo", encode({"small": 1})) for _ in range(8)]
        for answer in [app.answer_to(identifier, 30) for identifier in identifiers]:
            if answer["kind"] == "failure":
                refusals.append(answer)
        latencies.append(time.monotonic() - began)
    for answer in refusals:
        require(facts_of(answer).get("retry"), f"refused without retry: {described(answer)}")
    require(hub.runs, "the daemon is gone")
    return (f"{len(latencies) * 8} items beside bursts of {len(names)} users: {len(refusals)} refused; "
            f"eight take {spread(latencies)}")


def backlog(world):
    """One app's full queue on a narrow line beside another app's item: how long until that is stored."""
    count = 2000
    hub, kiosk, line = world.pair(*LINE)
    install(kiosk, APP, GREEDY)
    owner, app = App(hub, GREEDY), App(hub, APP)
    pairing = owner.until_installed()
    app.until_installed()
    line.tell("refuse")
    identifiers = [owner.submit("userInfo", body_of(16_000, world.random)) for _ in range(count)]
    for identifier in identifiers:
        owner.accepted(identifier)
    links = hub.links_ready()
    line.tell("open")
    until(lambda: hub.links_ready() > links, 40, "a link over the open line")
    latencies = []
    for _ in range(5):
        began = time.monotonic()
        identifier = app.submit("userInfo", encode({"small": 1}), pairing)
        app.next("progress", 30, id=identifier, name="stored")
        latencies.append(time.monotonic() - began)
    stored = sum(envelope["kind"] == "progress" for envelope in owner.rest())
    require(stored < count, "the backlog had ended before")
    require(max(latencies) <= STORED_BESIDE_A_BACKLOG,
            f"stored after {spread(latencies)}; at most {STORED_BESIDE_A_BACKLOG} s are allowed")
    return f"stored beside {count} items of 16 kB that wait: {spread(latencies)}"


CASES = (
    Case("3a", "one user's questions for lists beside another's durable items", queries, needs_root=True),
    Case("3b", "one app's flood on a line of 500 kB/s and 50 ms beside another's requests", messages, is_short=False),
    Case("3c", "bursts of durable items beside another user's", burst, is_short=False),
    Case("3d", "one app's backlog on a line of 500 kB/s and 50 ms beside another's item", backlog, is_short=False),
)
