"""Kills of a fleet: during a staged rollout (CFG-79), and of secondaries whose apps give no verdict (CFG-62)."""
import os
import signal
import time

from case import Case
from daemons import CaseFailure, join, link_of, require
from host import APP, CRASH, GOOD, SILENT, Configuration, HostApp, Signer, active_file, points
from kills import Shell
from recovery import Stopwatch, agreed
from views import applied_disagreement, failed_disagreement, settle, versions_of

POINTS, FEW = 40, 2
COURSE = 0.4  # seconds of a whole rollout on a quiet machine
TOUCHY = "touchy"  # a mood that kills the first secondary's app only
ATTEMPTS = 120  # seconds: three offers of 30 s, with a tick between them (CFG-43, LIM-88)


class Scene:
    """A hub and secondaries with apps, the first of which gets a rollout first; all have one proven version."""

    def __init__(self, world, count):
        self.world, self.hub = world, world.hub()
        self.hub.keep_port()
        self.signer = Signer(world, self.hub)
        self.kiosks = [world.kiosk(f"kiosk-{number}") for number in range(count)]
        for kiosk in self.kiosks:
            join(kiosk, link_of(self.hub))
        self.apps = [HostApp(kiosk, self.signer.anchor, overrides={TOUCHY: GOOD if number else CRASH})
                     for number, kiosk in enumerate(self.kiosks)]
        for app in self.apps:
            app.until_registered()
        self.version, self.active = 0, None
        self.goes_on()

    def signed(self, mood):
        self.version += 1
        path = self.signer.sign(self.version, mood)
        return path, Configuration(path.read_bytes())

    def all_have(self, wanted, apps=None):
        for app in apps or self.apps:
            settle(applied_disagreement, self.hub, app.daemon_of, app, wanted)

    def goes_on(self):
        """The next good version, to all."""
        path, wanted = self.signed(GOOD)
        code, output = self.hub.command("apply", "--app", APP, path)
        require(code == 0, f"version {wanted.version} ended with {code}: {output.strip()}")
        self.all_have(wanted)
        self.active = wanted

    def apply_first(self, path):
        return self.world.starts(Shell([str(argument) for argument in (
            self.world.tandem, "apply", "--app", APP, "--wait", "5s", "--only", self.kiosks[0].name, "--device",
            self.hub.socket, path)]))

    def stop(self):
        for app in self.apps:
            app.stop()


def require_in_order(scene, wanted, mood):
    """Each app has the old or the new one, and none has the new one before it is proved at the first secondary."""
    files = [active_file(app.directory) for app in scene.apps]
    require(all(file.envelope in (scene.active.envelope, wanted.envelope) for file in files),
            f"after the kill the apps have versions {[file.version for file in files]}")
    first, *others = (file.envelope == wanted.envelope for file in files)
    is_proved = first and not os.path.exists(f"{scene.apps[0].directory}/trial.plist")
    require(not any(others) or (mood == GOOD and is_proved), "another secondary has it before the first has proved it")


def play_point(scene, mood, victims, delay):
    """The time from the restart until the rollout is over, or has stopped."""
    path, wanted = scene.signed(mood)
    shell = scene.apply_first(path)
    time.sleep(delay)
    for daemon in victims:
        daemon.stop(signal.SIGKILL)
    require_in_order(scene, wanted, mood)
    watch = Stopwatch()
    for daemon in victims:
        daemon.start()
    if scene.hub in victims:
        shell.end()
        if wanted.version not in versions_of(scene.hub):
            shell = scene.apply_first(path)
    if mood == GOOD:
        scene.all_have(wanted)
        scene.active = wanted
    else:
        settle(failed_disagreement, scene.hub, scene.kiosks[0], scene.apps[0], wanted, scene.active)
        scene.all_have(scene.active, scene.apps[1:])
    recovery = watch.read()
    shell.end()
    if mood != GOOD:
        scene.goes_on()
    return recovery


def rollout(world):
    scene = Scene(world, 3)
    count, stopped, times = points(world, POINTS, FEW), 0, []
    hub, first, other = scene.hub, scene.kiosks[0], scene.kiosks[1]
    for number in range(count):
        mood = world.random.choice((GOOD, TOUCHY))
        victims = world.random.choice(((hub,), (first,), (other,), (hub, first)))
        delay = world.random.uniform(0, COURSE)
        try:
            times.append(play_point(scene, mood, victims, delay))
        except CaseFailure as error:
            names = " and ".join(daemon.name for daemon in victims)
            raise CaseFailure(f"point {number + 1} of {count} ({mood}: kill {names} {delay * 1000:.1f} ms after the "
                              f"apply): {error}") from error
        stopped += mood != GOOD
    scene.stop()
    return f"{count} kills, {stopped} in rollouts that stop at the first secondary; over after {agreed(times)}"


def without_verdict(world):
    """Apps that never answer, and secondaries that are killed meanwhile: the attempts count on, and it fails once."""
    scene = Scene(world, 4)
    path, wanted = scene.signed(SILENT)
    scene.hub.command("apply", "--app", APP, "--wait", "1s", path)
    began = time.monotonic()
    plan = sorted((world.random.uniform(0, ATTEMPTS * 0.8), number) for number in range(len(scene.kiosks)))
    for at, number in plan:
        time.sleep(max(0, began + at - time.monotonic()))
        scene.kiosks[number].stop(signal.SIGKILL)
        scene.kiosks[number].start()
    for app in scene.apps:
        settle(failed_disagreement, scene.hub, app.daemon_of, app, wanted, scene.active, seconds=ATTEMPTS)
    took = time.monotonic() - began
    scene.goes_on()
    scene.stop()
    return f"{len(plan)} secondaries, each killed once: failed and rolled back within {took:.0f} s; the next applies"


CASES = (
    Case("1b", "killed during a staged rollout", rollout),
    Case("1c", "killed while an app gives no verdict", without_verdict, is_short=False),
)
