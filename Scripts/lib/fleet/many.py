"""A fleet: one `tandem apply` for many secondaries, of which some are away, some reject and some crash on the value."""
import json
import os
import pathlib
import signal
import threading
import time

from case import Case, milliseconds, spread
from daemons import join, json_of, link_of, require, until
from host import APP, CRASH, GOOD, Configuration, HostApp, Signer
from views import desired_of, state_of

# Secondaries: all, away, with an app that rejects, with an app that crashes on the value.
MANY, FEW = (50, 5, 3, 2), (8, 1, 1, 1)
TOUCHY = "touchy"  # a mood that apps take as their override says
AWAY = "away"


class Member:
    """A secondary of the fleet and its app."""

    def __init__(self, world, hub, anchor, name, kind):
        self.kiosk, self.kind = world.kiosk(name), kind
        join(self.kiosk, link_of(hub))
        mood = {"schema": "schema", CRASH: CRASH}.get(kind, GOOD)
        self.app = HostApp(self.kiosk, anchor, overrides={TOUCHY: mood})

    @property
    def ends_as(self):
        return {"schema": "schema", CRASH: "failed"}.get(self.kind, "applied")

    def processor_time(self):
        """Seconds of all threads, from the scheduler's own account."""
        tasks = pathlib.Path(f"/proc/{self.kiosk.program.pid}/task")
        return sum(int((tasks / task / "schedstat").read_text().split()[0]) for task in os.listdir(tasks)) / 1e9


def recruited(world, hub, anchor, counts):
    count, *others = counts
    kinds = [kind for kind, number in zip((AWAY, "schema", CRASH), others) for _ in range(number)]
    kinds += [GOOD] * (count - len(kinds))
    world.random.shuffle(kinds)
    return [Member(world, hub, anchor, f"kiosk-{number}", kind) for number, kind in enumerate(kinds)]


def last_report(hub, members, version, done):
    """Waits until each of the members has its last verdict on the version; the seconds that it took."""
    began, names = time.monotonic(), {member.kiosk.name for member in members}
    def is_done():
        rows = {row["name"]: row.get("verdict") for row in desired_of(hub) if row["version"] == version}
        return all(rows.get(name) not in (None, "waiting-for-app", "waiting-for-key") for name in names)
    until(is_done, 60, "the last report")
    done.append(time.monotonic() - began)


def table_of(output):
    """Verdict or state by the secondary's name, from the output of `tandem apply --json`, which has advice after it."""
    rows = json.JSONDecoder().raw_decode(output)[0]
    return {row["name"]: row.get("verdict") or row["state"] for row in rows}


def one_table(world):
    """Each secondary is in the table as it is; the others are applied, and those that were away when they are back."""
    hub = world.hub()
    signer = Signer(world, hub)
    members = recruited(world, hub, signer.anchor, FEW if world.short else MANY)
    for member in members:
        member.app.until_registered()
    away = [member for member in members if member.kind == AWAY]
    present = [member for member in members if member.kind != AWAY]
    first = signer.sign(1)
    hub.done("apply", "--app", APP, "--wait", "60s", first, seconds=70)
    # Else the app that crashes would do so during the trial of the first one, too.
    until(lambda: all("trial" not in state_of(member.kiosk) for member in members), 30, "the end of the first trial")
    for member in members:
        member.app.bows = False
    for member in away:
        member.kiosk.stop(signal.SIGKILL if world.random.random() < 0.5 else signal.SIGTERM)
    until(lambda: hub.linked() == len(present), 30, "the hub's view of those that are away")
    before = [member.processor_time() for member in present]
    took = []
    watch = threading.Thread(target=last_report, args=(hub, present, 2, took), daemon=True)
    path = signer.sign(2, TOUCHY)
    watch.start()
    code, output = hub.command("apply", "--app", APP, "--wait", "3s" if world.short else "15s", "--json", path)
    watch.join(60)
    require(took, "not every secondary that is there reported")
    cost = [member.processor_time() - earlier for member, earlier in zip(present, before)]
    expected = {member.kiosk.name: "queued" if member.kind == AWAY else member.ends_as for member in members}
    require(code == 1, f"apply ended with {code} although not all applied")
    told = table_of(output)
    wrong = {name: (told.get(name), verdict) for name, verdict in expected.items() if told.get(name) != verdict}
    require(not wrong and len(told) == len(members), f"the table is wrong: {wrong}")
    for member in away:
        member.kiosk.start()
    last_report(hub, members, 2, took)
    require_truthful(hub, members, Configuration(path.read_bytes()))
    later = signer.sign(3)
    code, output = hub.command("apply", "--app", APP, "--wait", "60s", "--json", later, seconds=70)
    require(code == 0, f"the next version ended with {code}: {output.strip()[:400]}")
    for member in members:
        member.app.stop()
    counts = {kind: sum(member.kind == kind for member in members) for kind in (AWAY, "schema", CRASH)}
    return (f"{len(members)} secondaries, {counts[AWAY]} away, {counts['schema']} reject, {counts[CRASH]} crash: last "
            f"report after {milliseconds(took[0])}, those that were away {milliseconds(took[1])} after their start; "
            f"processor time of a secondary {spread(cost)}")


def require_truthful(hub, members, wanted):
    """The hub's rows, the shell's and each secondary's own agree about version 2."""
    shown = json_of(hub.done("status", "--json"))["desired"]
    require(len(shown) == len(members), f"the hub's status shows {len(shown)} of {len(members)} secondaries")
    rows = {row["name"]: row for row in shown}
    for member in members:
        row, own = rows[member.kiosk.name], state_of(member.kiosk)
        active = wanted.version if member.ends_as == "applied" else 1
        require((row["version"], row.get("verdict"), row["reported"]) == (wanted.version, member.ends_as, active),
                f"the hub's row of {member.kiosk.name} is {row}, and it should be {member.ends_as}")
        require(("stale" in row) == (member.ends_as != "applied") and not row["drift"], f"a row is {row}")
        require(own["version"] == active, f"{member.kiosk.name} has version {own['version']} and not {active}")


CASES = (
    Case("2a", "one command, one table for a fleet", one_table),
)
