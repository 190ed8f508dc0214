"""Kills of a small fleet with the shipped library in its apps: SampleApp itself is one of the victims. The points fall
into applying, rolling back, rotating, revoking and staged rollouts (CFG-35, CFG-63, CFG-79, CFG-84, CFG-92). Afterwards
each app has its old or its new values, whole, and prints them; the verdict was reported, and none too often; the next
version applies.
"""
import collections
import contextlib
import os
import pathlib
import plistlib
import signal
import subprocess
import threading
import time
from typing import NamedTuple

from apps import App, Refused
from case import Case
from daemons import CaseFailure, Daemon, join, link_of, require, until
from frames import ProtocolError, encode
from host import APP, DIES, GOOD, Configuration, Signer, active_file
from keychains import REVOKE, ROTATE, WITHDRAW, Keys, disagreement, known, require_no_less, require_whole
from recovery import Stopwatch, agreed
from scene import Scene, at_points, require_none_refused
from views import applied_disagreement, desired_of, failed_disagreement, reports, settle, versions_of

POINTS, FEW = 300, 6
APPLY, ROLL_BACK, ROLLOUT, STOPPED = "apply", "roll back", "rollout", "rollout that stops"
COURSES = (APPLY, ROLL_BACK, ROTATE, REVOKE, WITHDRAW, ROLLOUT, STOPPED)
WEIGHTS = (6, 4, 3, 2, 1, 3, 2)
BAD = (ROLL_BACK, STOPPED)
VICTIMS = ((("app",), 5), (("kiosk",), 2), (("hub",), 2), (("kiosk", "app"), 2), (("hub", "app"), 1),
           (("hub", "kiosk", "app"), 1))  # with their weights
DEADLY = 66  # the volume at which the app aborts
LENGTH = 0.3  # seconds of a whole course on a quiet machine
NEAR = 0.012  # seconds after an offer or new values, where most of the durable steps are
LIVES = 40  # seconds until an app has answered that it lives with its values; offers are repeated at ticks of 10 s
APPS = 2


class Sample(threading.Thread):
    """SampleApp at one secondary, started again whenever it ends."""

    def __init__(self, world, daemon, key):
        super().__init__(daemon=True)
        program = pathlib.Path(os.environ.get("SAMPLE") or pathlib.Path(world.tandem).parent / "SampleApp")
        require(program.exists(), f"{program} is missing; 'swift build --product SampleApp' makes it")
        self.arguments = [str(part) for part in (
            program, "--app", APP, "--device", daemon.socket, "--key", key, "--crash-at", DEADLY)]
        self.daemon_of, self.ends, self.starts = daemon, False, 0
        self.process, self.shown, self.heard = None, {}, lambda event: None
        world.starts(self)
        self.start()

    def run(self):
        while not self.ends:
            self.shown = {}
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.starts += 1
            for line in self.process.stdout:
                self.read(line.rstrip("\n"))
            self.process.wait()
            time.sleep(0.01)

    def read(self, line):
        if line.startswith("value "):
            name, _, text = line.removeprefix("value ").partition(" = ")
            self.shown = self.shown | {name: text}
            self.heard("values")

    def shows(self, configuration):
        """Whether the running app has printed all values of this configuration, and none of another one."""
        return all(self.shown.get(name) == text for name, text in printed(configuration.values).items())

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)

    def check(self):
        """Nothing can fail in here: what the app does is in its directory and in what it prints."""

    def until_registered(self):
        until(lambda: "volume" in self.shown, 20, f"the start of {self.daemon_of.name}'s app")
        connection = App(self.daemon_of, APP)
        self.directory = connection.registration["directory"]
        connection.close()
        return self

    def on_trial(self):
        """The digest of the configuration that is on trial; None without one."""
        with contextlib.suppress(FileNotFoundError):
            return plistlib.loads(pathlib.Path(self.directory, "trial.plist").read_bytes())["digest"]
        return None

    def is_healthy(self, digest):
        with contextlib.suppress(FileNotFoundError):
            attempts = plistlib.loads(pathlib.Path(self.directory, "attempts.plist").read_bytes())["attempts"]
            return any(row["digest"] == digest and row.get("healthy") for row in attempts)
        return False

    def end(self, _=None):
        self.ends = True
        if self.process:
            self.kill()
        self.join(10)


def printed(values):
    return {name: str(value).lower() for name, value in values.items()}


class Lamps(Keys):
    """Configurations for SampleApp. The colour has the version, so that a mixture would show."""

    def values(self, version, mood):
        volume = DEADLY if mood == DIES else version % DEADLY
        return {"volume": volume, "logging": str(version % 2 == 1).lower(), "colour": f"#{version:06x}"}


class Point(NamedTuple):
    """A kill: in which course, at which secondary, of which victims there, how long after which event."""
    course: str
    place: int
    victims: tuple
    anchor: str
    delay: float

    def __str__(self):
        return (f"{self.course}: kill {' and '.join(self.victims)} of place {self.place} {self.delay * 1000:.1f} ms "
                f"after the {self.anchor}")

    @property
    def daemons(self):
        """The names of the daemons among the victims."""
        return [name if name == "hub" else f"kiosk-{self.place}" for name in self.victims if name != "app"]


def drawn(random, scene):
    course = random.choices(COURSES, WEIGHTS)[0] if scene.signer.can_sign else ROTATE
    victims = random.choices(*zip(*VICTIMS))[0]
    anchor = "apply" if course in (ROTATE, REVOKE, WITHDRAW) else random.choice(("apply", "offer", "values"))
    delay = random.uniform(0, LENGTH if anchor == "apply" else NEAR)
    return Point(course, random.randrange(APPS), victims, anchor, delay)


class SampleFleet(Scene):
    """A hub and secondaries with SampleApp, all with one anchor and one proven version."""

    def __init__(self, world):
        hub = world.hub("--log", "debug")
        hub.keep_port("--log", "debug")
        keys = Lamps(world, hub)
        key = world.workspace / "anchor"
        key.write_bytes(keys.anchor)
        kiosks = [world.kiosk(f"kiosk-{number}") for number in range(APPS)]
        for kiosk in kiosks:
            join(kiosk, link_of(hub))
        super().__init__(world, hub, keys, kiosks, [Sample(world, kiosk, key) for kiosk in kiosks])
        self.goes_on()

    def goes_on(self):
        """The next good version, without a kill."""
        path, wanted = self.signed()
        code, output = self.hub.command("apply", "--app", APP, path)
        # An app may be on its way back from a kill.
        require(code == 0 or (code == 1 and "waiting-for-app" in output),
                f"version {wanted.version} afterwards ended with {code}: {output.strip()}")
        self.lives_with(wanted)

    def lives_with(self, wanted):
        """Waits until all apps have it, say so, and are believed."""
        def is_over():
            for app in self.apps:
                self.prove(app, wanted)
            return all(applied_disagreement(self.hub, app.daemon_of, app, wanted) is None and app.shows(wanted)
                       for app in self.apps)
        try:
            until(is_over, LIVES, "agreement")
        except CaseFailure as error:
            told = [applied_disagreement(self.hub, app.daemon_of, app, wanted) or app.shown for app in self.apps]
            raise CaseFailure(f"{error}: {told}") from error
        self.active = wanted

    def prove(self, app, wanted):
        """An app that is on trial answers a message, by which it says that it works (CFG-61). The daemon reads that at
        its next start, for which it is killed once more."""
        if app.on_trial() != wanted.digest or not app.shows(wanted):
            return
        if not app.is_healthy(wanted.digest):
            with contextlib.suppress(OSError, Refused, ProtocolError, CaseFailure, TimeoutError):
                self.ask(app)
        if app.is_healthy(wanted.digest):
            app.kill()

    def ask(self, app):
        connection = App(self.hub, APP)
        try:
            row = next(row for row in self.hub.status()["pairings"] if row["name"] == app.daemon_of.name)
            pairing = connection.until_reachable(2, row["pairing"])
            connection.ask(encode({"are": "you well"}), 2, pairing)
        finally:
            connection.close()


def strike(scene, point, path, *options):
    """Applies, and kills at the point; the command that applied. Without the point's event the kill comes late."""
    happened, app = threading.Event(), scene.apps[point.place]
    app.heard = lambda event: happened.set() if event == point.anchor else None
    shell = scene.apply(path, *options)
    deadline = time.monotonic() + 2
    if point.anchor == "offer":
        staged = pathlib.Path(app.directory, "staged.plist")
        while not staged.exists() and time.monotonic() < deadline:
            time.sleep(0.0005)
    elif point.anchor == "values":
        happened.wait(2)
    time.sleep(point.delay)
    scene.kill(*point.daemons)
    if "app" in point.victims:
        app.kill()
    return shell


def play_values(scene, point):
    """Applies a version; the time to agreement."""
    old, since = scene.active, len(scene.hub.lines())
    path, wanted = scene.signed(DIES if point.course in BAD else GOOD)
    options = ("--first", 1) if point.course in (ROLLOUT, STOPPED) else ()
    shell = strike(scene, point, path, *options)
    require_old_or_new(scene, point, old, wanted)
    watch = Stopwatch()
    scene.start(*point.daemons)
    if "hub" in point.victims:
        shell = scene.again(shell, path, lambda: wanted.version in versions_of(scene.hub), *options)
    if point.course in BAD:
        roll_back(scene, point, wanted, old)
    else:
        scene.lives_with(wanted)
    recovery = watch.read()
    shell.end()
    require_told(scene, since, wanted, point)
    if point.course in BAD:
        scene.goes_on()
    return recovery


def require_old_or_new(scene, point, old, wanted):
    """Each app has the old or the new one, whole; in a rollout no second one has it before the first has proved it."""
    files = [active_file(app.directory) for app in scene.apps]
    require(all(file.envelope in (old.envelope, wanted.envelope) for file in files),
            f"after the kill the apps have versions {[file and file.version for file in files]}")
    if point.course in (ROLLOUT, STOPPED):
        have = [app for app, file in zip(scene.apps, files) if file.envelope == wanted.envelope]
        is_proved = point.course == ROLLOUT and any(app.on_trial() is None for app in have)
        require(len(have) < 2 or is_proved, "the other secondary has it before the first has proved it")


def roll_back(scene, point, failed, old):
    """Waits until all that were to have it have the old one again: in a rollout one of them."""
    def is_over():
        told = [failed_disagreement(scene.hub, app.daemon_of, app, failed, old) for app in scene.apps]
        if point.course == STOPPED:
            untouched = [applied_disagreement(scene.hub, app.daemon_of, app, old) for app in scene.apps]
            # What is desired of the others is the version before.
            is_stopped = sorted(text is None for text in told) == [False] * (APPS - 1) + [True]
            rest = [text for text, other in zip(told, untouched) if text is not None and other is not None]
            missing = rest if is_stopped else told
        else:
            missing = [text for text in told if text]
        missing += [] if missing else [f"{app.daemon_of.name} shows {app.shown}" for app in scene.apps
                                       if not app.shows(old)]
        seen[:] = missing
        return not missing
    seen = []
    try:
        until(is_over, LIVES, "the roll back")
    except CaseFailure as error:
        raise CaseFailure(f"{error}: {seen}") from error


def require_told(scene, since, wanted, point):
    """Of each secondary's last verdict: the hub has it, and no verdict of what did not happen."""
    last = "failed" if point.course in BAD else "applied"
    for kiosk in scene.kiosks:
        row = desired_of(scene.hub, kiosk.name)
        verdicts, sent = reports(scene.hub, since, wanted.version, kiosk)
        told = collections.Counter(verdict for verdict in verdicts if verdict != "waiting-for-app")
        if row["version"] != wanted.version:
            require(not told, f"{kiosk.name} was not to have it, and reported {dict(told)}")
            continue
        sent += "hub" in point.victims  # the line of one delivery may be lost with its writer
        # On trial `applied` is provisional: it comes with each delivery, and once more when the trial has passed.
        most = {"applied": 2 * sent + 1} if last == "applied" else {"applied": 2 * sent, "failed": sent}
        require(all(count <= most.get(verdict, 0) for verdict, count in told.items()),
                f"{sent} deliveries to {kiosk.name} were answered by {dict(told)}")
        require(last in told or "hub" in point.victims, f"{kiosk.name} reported {dict(told)} and not {last}")
    require_none_refused(scene.hub, since)


def play_keys(scene, point):
    """Changes the keys; the time to agreement."""
    before = {daemon.name: known(daemon) for daemon in scene.daemons}
    path = scene.signer.change(point.course)
    shell = strike(scene, point, path)
    for app in scene.apps:
        require_whole(app, scene.signer)
    watch = Stopwatch()
    for name in point.daemons:
        scene.start(name)
        require_no_less(scene.daemon(name), before)
    if "hub" in point.victims:
        shell = scene.again(shell, path, lambda: known(scene.hub) == scene.signer.state)
    for app in scene.apps:
        settle(disagreement, scene.hub, app.daemon_of, app, scene.signer)
    if point.course == WITHDRAW:
        for app in scene.apps:
            until(lambda: active_file(app.directory) is None, 10, "the end of what the key had signed")
            # Back at the declared default.
            until(lambda: app.shown.get("volume") == "50", 10, "the end of its values in the app")
    recovery = watch.read()
    shell.end()
    if scene.signer.can_sign:
        scene.goes_on()
    return recovery


def play_point(scene, point):
    is_of_values = point.course in (APPLY, ROLL_BACK, ROLLOUT, STOPPED)
    return play_values(scene, point) if is_of_values else play_keys(scene, point)


def at_random_points(world):
    scene = SampleFleet(world)
    played = at_points(world, POINTS, FEW, lambda random: drawn(random, scene), lambda point: play_point(scene, point))
    courses = collections.Counter(point.course for point, _ in played)
    victims = collections.Counter(name for point, _ in played for name in point.victims)
    told = ", ".join(f"{courses[course]} {course}" for course in COURSES)
    recoveries = [recovery for _, recovery in played]
    _, slowest = max((recovery, str(point)) for point, recovery in played)
    return (f"{len(played)} kills ({told}), of {victims['hub']} hubs, {victims['kiosk']} secondaries, {victims['app']} "
            f"apps; agreed after {agreed(recoveries)} ({slowest}), "
            f"{sorted(recoveries)[int(len(played) * 0.95)].seconds:.2f} s in 95 of 100")


class LampSigner(Signer):
    values = Lamps.values


def waives_nothing(world):
    """A daemon that allows invalid signatures meets an app whose release build does not (CFG-22): nothing is waived."""
    hub = world.hub()
    kiosk = Daemon(world, "kiosk", "secondary", "--allow-invalid-signatures").start()
    require(any("invalid signatures are allowed" in line for line in kiosk.lines()), "the daemon's half is not on")
    join(kiosk, link_of(hub))
    signer, stranger = LampSigner(world, hub), LampSigner(world, hub, "stranger")
    app = Sample(world, kiosk, signer.key.with_suffix(".pub")).until_registered()
    first, foreign = signer.sign(1), stranger.sign(2)
    hub.done("apply", "--app", APP, first)
    good = Configuration(first.read_bytes())
    until(lambda: app.shows(good), 20, "the first values in the app")
    code, output = hub.command("apply", "--app", APP, foreign)
    require(code == 1 and "threshold" in output, f"a stranger's signature ended with {code}: {output.strip()}")
    require(active_file(app.directory).envelope == good.envelope and app.shows(good), "the app's values have changed")
    require(not pathlib.Path(app.directory, "waived.plist").exists(), "a waived configuration was stored")
    return "refused as threshold; the signed version 1 stays"


CASES = (
    Case("1e", "killed with the shipped library in the apps", at_random_points),
    Case("6a", "a stranger's signature, and an app in a release build", waives_nothing),
)
