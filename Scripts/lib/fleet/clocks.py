"""A secondary under a clock that is wrong (CFG-20, CFG-33, CFG-34): what has expired is refused by name, what is active
stays, nothing that has expired revives, and the clock can be set right again. libfaketime moves the clock of the daemon
while it runs; the rest of the machine keeps the time.
"""
import glob
import os
import time

from case import Case
from daemons import require, until
from host import APP, GOOD, Configuration, HostApp, Signer, active_file
from views import applied, described, desired_of, state_of

LIBRARY = "/usr/lib/*/faketime/libfaketimeMT.so.1"
TICK = 10  # seconds until a daemon looks at its clock again (CFG-43)


class Clock:
    """The wall clock of one daemon."""

    def __init__(self, world, daemon):
        libraries = glob.glob(LIBRARY)
        require(libraries, "libfaketime is missing: apt-get install libfaketime")
        self.file = world.workspace / f"{daemon.name}.clock"
        self.set("+0")
        # The inner `env` lets the library add to the environment before the daemon's process begins: Swift finds a
        # process's arguments beside an environment that is where it was.
        daemon.wrapper = (
            "env", f"LD_PRELOAD={libraries[0]}", f"FAKETIME_TIMESTAMP_FILE={self.file}", "FAKETIME_NO_CACHE=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1", "env")

    def set(self, offset):
        """An offset as libfaketime reads it, such as +10y or -61s."""
        new = self.file.with_suffix(".new")
        new.write_text(offset + "\n")
        new.replace(self.file)

    @staticmethod
    def tidy(world):
        """Removes the shared memory of libfaketime, which daemons that were killed leave."""
        for program in world.programs:
            for path in glob.glob(f"/dev/shm/*faketime_*_{program.process.pid}"):
                os.unlink(path)


def verdict_of(hub, path, seconds=2):
    """The verdict that the hub shows for a configuration after `tandem apply`."""
    hub.command("apply", "--app", APP, "--wait", f"{seconds}s", path)
    wanted = Configuration(path.read_bytes())
    until(lambda: desired_of(hub, "kiosk")["version"] == wanted.version and "verdict" in desired_of(hub, "kiosk"), 20,
          f"a verdict on version {wanted.version}")
    return desired_of(hub, "kiosk")["verdict"]


def require_kept(kiosk, app, wanted, when):
    """What is active stays, for the daemon and in the app's files."""
    state, file = state_of(kiosk), active_file(app.directory)
    require(state.get("digest") == wanted.digest and file and file.envelope == wanted.envelope,
            f"{when} the kiosk has {described(state)}")


class Scene:
    """A pair whose secondary has a clock of its own, and an app there."""

    def __init__(self, world):
        self.hub, self.kiosk, _ = world.pair()
        self.clock = Clock(world, self.kiosk)
        self.kiosk.stop()
        self.kiosk.start()
        self.signer = Signer(world, self.hub)
        self.app = HostApp(self.kiosk, self.signer.anchor).until_registered()

    def applied(self, version, *options):
        return applied(self.hub, self.kiosk, self.app, self.signer.sign(version, GOOD, *options))

    def restart(self):
        before = self.app.starts
        self.kiosk.stop()
        self.kiosk.start()
        until(lambda: self.hub.linked() == 1 and self.app.starts > before, 30, "the link and the app")

    def require_kept(self, wanted, when):
        require_kept(self.kiosk, self.app, wanted, when)

    def expired(self, version):
        """The file of a configuration that has just expired, and was refused so."""
        path = self.signer.sign(version, GOOD, "--expires", "1s")
        time.sleep(1.2)
        require((verdict := verdict_of(self.hub, path)) == "expired", f"after its end it is {verdict}")
        return path

    def set_back(self, offset, seconds, path):
        """The same bytes that had expired, again at an earlier time: below the clock floor nothing is judged."""
        self.clock.set(offset)
        self.app.ahead = -seconds
        code, output = self.hub.command("apply", "--app", APP, "--wait", "1s", path)
        require(code == 1 and "clock-unset" in output, f"at {offset} apply said {output}")

    def set_right(self):
        self.clock.set("+0")
        self.app.ahead = 0
        until(lambda: desired_of(self.hub, "kiosk").get("verdict") == "expired", 3 * TICK, "the verdict `expired`")


def with_clocks(play):
    """The case of a play, with what libfaketime leaves removed."""
    def run(world):
        try:
            return play(Scene(world), world)
        finally:
            world.end()
            Clock.tidy(world)
    return run


def ahead(scene, world):
    """Ten years ahead, and right again."""
    kept = scene.applied(1, "--expires", "1h")
    scene.clock.set("+10y")
    late = scene.signer.sign(2, GOOD, "--expires", "1h")
    require((verdict := verdict_of(scene.hub, late)) == "expired", f"ten years ahead it is {verdict}")
    scene.require_kept(kept, "ten years ahead")
    scene.restart()
    scene.require_kept(kept, "started ten years ahead")
    # Without an end of its own it applies, and does not raise the clock floor to the wrong time.
    kept = scene.applied(3)
    scene.clock.set("+0")
    scene.restart()
    scene.require_kept(kept, "set right again")
    scene.applied(4, "--expires", "1h")
    scene.app.stop()
    return "what expires is refused, what is active stays; set right, the next version applies"


def behind(scene, world):
    """A minute and ten years back, while the daemon runs."""
    kept, version = scene.applied(1), 1
    for offset, seconds in (("-61s", 61), ("-10y", 10 * 365 * 86_400)):
        path = scene.expired(version + 1)
        scene.set_back(offset, seconds, path)
        scene.require_kept(kept, f"at {offset}")
        scene.set_right()
        scene.require_kept(kept, f"right after {offset}")
        version += 2
        kept = scene.applied(version)
    scene.app.stop()
    return "-61 s, -10 years: clock-unset, what is active stays; set right, expired; the next version applies"


def started_behind(scene, world):
    """The daemon starts again before its clock is right: what waits for the clock goes on to wait."""
    kept = scene.applied(1)
    scene.set_back("-61s", 61, scene.expired(2))
    scene.restart()
    time.sleep(1)
    scene.require_kept(kept, "started again 61 s back")
    scene.set_right()
    scene.applied(3)
    scene.app.stop()
    return "-61 s and a restart: nothing revives; set right, expired; the next version applies"


def lifetime(scene, world):
    """A lifetime that has run out under a clock ten years ahead does not begin again when the clock is set right."""
    scene.applied(1, "--lifetime", "1h")
    scene.clock.set("+10y")
    until(lambda: active_file(scene.app.directory) is None, 3 * TICK, "the end of the lifetime")
    scene.clock.set("+0")
    scene.restart()
    time.sleep(TICK + 2)
    require(active_file(scene.app.directory) is None, "a lifetime that was over began again")
    scene.applied(2)
    scene.app.stop()
    return "ended ten years ahead, and not revived when the clock is right; the next version applies"


CASES = (
    Case("4a", "a secondary's clock is ten years ahead", with_clocks(ahead)),
    Case("4b", "a secondary's clock is a minute or ten years back", with_clocks(behind), is_short=False),
    Case("4c", "a secondary starts while its clock is a minute back", with_clocks(started_behind), is_short=False),
    Case("4d", "a lifetime under a clock ten years ahead", with_clocks(lifetime), is_short=False),
)
