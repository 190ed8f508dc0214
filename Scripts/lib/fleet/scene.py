"""Devices, apps and versions that cases kill at random points, and the parts of a kill that all of them share."""
import signal
import subprocess
from typing import NamedTuple

from daemons import CaseFailure, require
from host import APP, GOOD, Configuration, points
from views import applied_disagreement, settle


class Point(NamedTuple):
    """A kill: in which course, of which victims, how long after which event."""
    course: str
    victims: tuple
    anchor: str
    delay: float

    def __str__(self):
        return f"{self.course}: kill {' and '.join(self.victims)} {self.delay * 1000:.1f} ms after the {self.anchor}"


class Shell:
    """A command that runs beside the kills; its output does not matter, because its daemon may be killed."""

    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def end(self, _=None):
        self.process.kill()
        self.process.wait()


class Scene:
    """A hub, secondaries with one app each, the signer of their configurations, and the versions that they have been
    through. `active` is the last good one."""

    def __init__(self, world, hub, signer, kiosks, apps):
        self.world, self.hub, self.signer, self.kiosks, self.apps = world, hub, signer, kiosks, apps
        self.version, self.active = 0, None
        for app in apps:
            app.until_registered()

    def signed(self, mood=GOOD):
        self.version += 1
        path = self.signer.sign(self.version, mood)
        return path, Configuration(path.read_bytes())

    def apply(self, path, *options):
        """Begins to apply a file; the command."""
        return self.world.starts(Shell((
            self.world.tandem, "apply", "--app", APP, "--wait", "5s", *options, "--device", self.hub.socket, path)))

    def again(self, shell, path, is_known, *options):
        """The command for a hub that was killed: if the hub does not know the file, it ended with an error, and is
        given again."""
        shell.end()
        return shell if is_known() else self.apply(path, *options)

    def goes_on(self):
        """The next good version, without a kill."""
        path, wanted = self.signed()
        code, output = self.hub.command("apply", "--app", APP, path)
        require(code == 0, f"version {wanted.version} afterwards ended with {code}: {output.strip()}")
        self.all_have(wanted)
        self.active = wanted

    def all_have(self, wanted, apps=None):
        for app in apps or self.apps:
            settle(applied_disagreement, self.hub, app.daemon_of, app, wanted)

    @property
    def daemons(self):
        return self.hub, *self.kiosks

    def daemon(self, name):
        return next(daemon for daemon in self.daemons if daemon.name == name)

    def kill(self, *names):
        for name in names:
            self.daemon(name).stop(signal.SIGKILL)

    def start(self, *names):
        for name in names:
            self.daemon(name).start()


class Pair(Scene):
    """One secondary, whose hub keeps its port."""

    def __init__(self, world, signed_by, app_of, *options):
        hub, kiosk, _ = world.pair()
        hub.keep_port(*options)
        hub.stop()
        hub.start()
        signer = signed_by(world, hub)
        super().__init__(world, hub, signer, [kiosk], [app_of(kiosk, signer.anchor)])

    @property
    def kiosk(self):
        return self.kiosks[0]

    @property
    def app(self):
        return self.apps[0]


def at_points(world, usual, few, draw, play):
    """Plays at as many points as the campaign's form says; each with what came of it."""
    count, played = points(world, usual, few), []
    for number in range(count):
        point = draw(world.random)
        try:
            played.append((point, play(point)))
        except CaseFailure as error:
            raise CaseFailure(f"point {number + 1} of {count} ({point}): {error}") from error
    return played


def require_none_refused(hub, since):
    """Requires that the hub took all reports since this line of its log. An answer that arrives again after a kill is
    dropped by name: counter and nonce make it count once (CFG-51)."""
    refused = [line for line in hub.lines()[since:]
               if "report refused" in line and line.split("reason=")[1] not in ("replayed", "wrong-nonce")]
    require(not refused, f"the hub refused a report: {refused[:1]}")
