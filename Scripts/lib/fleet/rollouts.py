"""Kills of a fleet: during a staged rollout (CFG-79), and of secondaries whose apps give no verdict (CFG-62)."""
import os
import signal
import time

from case import Case
from daemons import join, link_of, require
from host import APP, CRASH, GOOD, SILENT, HostApp, Signer, active_file
from recovery import Stopwatch, agreed
from scene import Point, Scene, at_points
from views import failed_disagreement, settle, versions_of

POINTS, FEW = 40, 2
COURSE = 0.4  # seconds of a whole rollout on a quiet machine
TOUCHY = "touchy"  # a mood that kills the first secondary's app only
ATTEMPTS = 120  # seconds: three offers of 30 s, with a tick between them (CFG-43, LIM-88)


class Fleet(Scene):
    """A hub and secondaries with apps, the first of which gets a rollout first; all have one proven version."""

    def __init__(self, world, count):
        hub = world.hub()
        hub.keep_port()
        signer = Signer(world, hub)
        kiosks = [world.kiosk(f"kiosk-{number}") for number in range(count)]
        for kiosk in kiosks:
            join(kiosk, link_of(hub))
        apps = [HostApp(kiosk, signer.anchor, overrides={TOUCHY: GOOD if number else CRASH})
                for number, kiosk in enumerate(kiosks)]
        super().__init__(world, hub, signer, kiosks, apps)
        self.first = "--only", kiosks[0].name
        self.goes_on()

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


def drawn(random):
    mood = random.choice((GOOD, TOUCHY))
    victims = random.choice((("hub",), ("kiosk-0",), ("kiosk-1",), ("hub", "kiosk-0")))
    return Point(mood, victims, "apply", random.uniform(0, COURSE))


def play_point(scene, point):
    """The time from the restart until the rollout is over, or has stopped."""
    path, wanted = scene.signed(point.course)
    shell = scene.apply(path, *scene.first)
    time.sleep(point.delay)
    scene.kill(*point.victims)
    require_in_order(scene, wanted, point.course)
    watch = Stopwatch()
    scene.start(*point.victims)
    if "hub" in point.victims:
        shell = scene.again(shell, path, lambda: wanted.version in versions_of(scene.hub), *scene.first)
    if point.course == GOOD:
        scene.all_have(wanted)
        scene.active = wanted
    else:
        settle(failed_disagreement, scene.hub, scene.kiosks[0], scene.apps[0], wanted, scene.active)
        scene.all_have(scene.active, scene.apps[1:])
    recovery = watch.read()
    shell.end()
    if point.course != GOOD:
        scene.goes_on()
    return recovery


def rollout(world):
    scene = Fleet(world, 3)
    played = at_points(world, POINTS, FEW, drawn, lambda point: play_point(scene, point))
    scene.stop()
    stopped = sum(point.course != GOOD for point, _ in played)
    return (f"{len(played)} kills, {stopped} in rollouts that stop at the first secondary; over after "
            f"{agreed([recovery for _, recovery in played])}")


def without_verdict(world):
    """Apps that never answer, and secondaries that are killed meanwhile: the attempts count on, and it fails once."""
    scene = Fleet(world, 4)
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
