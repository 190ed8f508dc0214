"""Secondaries that lose their memory: a state directory that is restored from an older copy, and one that is wiped and
joined again (CFG-72, CFG-88).
"""
import shutil
import signal

from case import Case
from daemons import join, link_of, require, until
from host import APP, GOOD, HostApp, Signer, active_file, made
from views import applied, applied_disagreement, refused, require_same_in_shell, settle, state_of


def restored(world):
    """An older copy of the kiosk's store comes back: the hub notices, delivers again, and nothing older is taken."""
    hub, kiosk, _ = world.pair()
    signer = Signer(world, hub)
    app = HostApp(kiosk, signer.anchor).until_registered()
    first = signer.sign(1)
    applied(hub, kiosk, app, first)
    kiosk.stop()
    shutil.copytree(kiosk.state, world.workspace / "copy")
    kiosk.start()
    wanted = applied(hub, kiosk, app, signer.sign(2))
    kiosk.stop(signal.SIGKILL)
    shutil.rmtree(kiosk.state)
    shutil.copytree(world.workspace / "copy", kiosk.state)
    kiosk.start()
    settle(applied_disagreement, hub, kiosk, app, wanted)
    refused(hub, "rollback", first)
    require_same_in_shell(hub, kiosk)
    applied(hub, kiosk, app, signer.sign(3))
    app.stop()
    return "version 2 came again over the restored version 1, version 1 is rollback, version 3 applied"


def anchor_with_minimum(world, signer, minimum):
    """The file of a key set with a lowest version, for the signer's key."""
    root, revoker = (world.workspace / name for name in ("root", "revoker"))
    first, second = (world.workspace / f"{number}.keyset" for number in (1, 2))
    for key in (root, revoker):
        made(world, "keys", "new", "--out", key)
    made(world, "keyset", "init", "--app", APP, "--role", "secondary", "--root", f"{root}.pub", "--config",
         f"{signer.key}.pub", "--revoker", f"{revoker}.pub", "--key", root, "--out", first)
    made(world, "keyset", "rotate", "--from", first, "--minimum", f"{signer.target}={minimum}", "--key", root,
         "--out", second)
    return second


def begins_again(hub, kiosk, app):
    """The kiosk's memory is gone, and it joins as a new device."""
    hub.done("unpair", "kiosk", "--yes")
    kiosk.stop(signal.SIGKILL)
    before = app.starts
    shutil.rmtree(kiosk.state)
    kiosk.start()
    join(kiosk, link_of(hub))
    # Until its first hello the pairing is pending, and carries nothing.
    until(lambda: hub.linked() == 1, 20, "the link of the new pairing")
    until(lambda: app.starts > before, 20, "the app's next registration")


def wiped(world):
    """A kiosk without any mark: the lowest version of its app's key set holds, and what is desired comes by itself."""
    hub, kiosk, _ = world.pair()
    signer = Signer(world, hub)
    keyset = anchor_with_minimum(world, signer, 5)
    under = (GOOD, "--keyset", keyset)
    old, newer = signer.sign(4, *under), signer.sign(7, *under)
    app = HostApp(kiosk, made(world, "keyset", "export", keyset).encode()).until_registered()
    applied(hub, kiosk, app, newer)
    # The hub forgets, too, so that the kiosk alone judges the replay.
    hub.done("configuration", "withdraw", APP)
    begins_again(hub, kiosk, app)
    refused(hub, "rollback", old)
    require(not state_of(kiosk).get("version") and active_file(app.directory) is None, "the replay left something")
    wanted = applied(hub, kiosk, app, newer)
    begins_again(hub, kiosk, app)
    settle(applied_disagreement, hub, kiosk, app, wanted)
    require_same_in_shell(hub, kiosk)
    applied(hub, kiosk, app, signer.sign(8, *under))
    app.stop()
    return "version 4 is rollback by the key set's minimum of 5; version 7 came by itself after joining; 8 applied"


CASES = (
    Case("3a", "a secondary's store is restored from an older copy", restored),
    Case("3b", "a secondary is wiped and joins again", wiped),
)
