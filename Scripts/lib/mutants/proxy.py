"""A daemon that is a mutant: `tandem` behind a proxy on its local socket.

    proxy.py MUTANT TANDEM ROLE    with the variables of Scripts/conformance --help

SIGTERM stops the daemon in order, and this process ends with its code once the last frames have left. The daemon does
not outlive this process, and neither outlives the run that has started them.
"""
import asyncio
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import traceback
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import daemons  # noqa: E402, F401
from frames import FRAME_LIMIT, decode, frame as framed  # noqa: E402
import mutant  # noqa: E402
import table  # noqa: E402

SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
READY, DRAINED = 20, 2  # seconds
TICK = 0.02


class Place(NamedTuple):
    """The device that a mutant serves."""
    name: str
    socket: str
    is_restart: bool


class Line:
    """One connection of an app, and the daemon's end of it."""

    def __init__(self, chosen, app, daemon):
        self.chosen = chosen
        self.app_reader, self.app_writer = app
        self.daemon_reader, self.daemon_writer = daemon

    async def run(self):
        await asyncio.gather(
            self.pump(self.app_reader, self.daemon_writer, self.chosen.to_daemon, self.chosen.beyond),
            self.pump(self.daemon_reader, self.app_writer, self.chosen.to_app))

    async def pump(self, reader, writer, changed, beyond=bytes):
        try:
            while True:
                header = await reader.readexactly(4)
                (length,) = struct.unpack(">I", header)
                if not 1 <= length <= FRAME_LIMIT:
                    # No frame follows it. The other end refuses it, and is to be heard until it closes.
                    writer.write(beyond(header))
                    while data := await reader.read(FRAME_LIMIT):
                        writer.write(data)
                    return
                payload = await reader.readexactly(length)
                envelope = decode(payload)
                for each in changed(envelope, self):
                    writer.write(header + payload if each is envelope else framed(**each))
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        except Exception:  # whatever is wrong with the mutant must not pass for what it breaks
            traceback.print_exc()
            os._exit(os.EX_SOFTWARE)
        finally:
            writer.close()

    def to_app(self, frame):
        self.app_writer.write(framed(**frame))

    def to_daemon(self, frame):
        self.daemon_writer.write(framed(**frame))

    def end(self):
        """Closes the app's connection, once what was sent to it has left."""
        self.app_writer.close()

    def later(self, seconds, action):
        asyncio.get_running_loop().call_later(seconds, action)


class Proxy:
    def __init__(self, chosen, inner):
        self.chosen, self.inner = chosen, inner
        self.lines = set()

    async def accepted(self, *app):
        self.lines.add(task := asyncio.current_task())
        try:
            daemon = await asyncio.open_unix_connection(self.inner)
            await Line(self.chosen, app, daemon).run()
        except OSError:
            app[1].close()
        finally:
            self.lines.discard(task)


def started(tandem, role, inner, lock):
    """The daemon's process. It holds the lock, too, and gets no signal that is sent to this group."""
    links = ["--listen", os.environ["LISTEN"], "--advertise", os.environ["ADVERTISE"]] if role == "primary" else []
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        [tandem, role, "--state", os.environ["STATE"], "--local", inner, "--name", os.environ["NAME"], *links],
        preexec_fn=lambda: libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL), start_new_session=True,
        pass_fds=(lock.fileno(),))


async def until(condition):
    while not condition():
        await asyncio.sleep(TICK)


def serves(path):
    try:
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(path)
        return True
    except OSError:
        return False


async def main(name, tandem, role):
    parent, path = os.getppid(), os.environ["SOCKET"]
    # A former process that was killed may have left a daemon that is about to go.
    lock = open(f"{path}.lock", "w", encoding="utf-8")
    fcntl.flock(lock, fcntl.LOCK_EX)
    place = Place(os.environ["NAME"], path, os.path.exists(os.environ["STATE"]))
    kinds = {each.__name__: each for each in (mutant.Faithful, *table.ALL)}
    proxy = Proxy(kinds[name](place), f"{path}.inner")
    daemon = started(tandem, role, proxy.inner, lock)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, daemon.terminate)

    def has_ended():
        return daemon.poll() is not None or os.getppid() != parent

    await asyncio.wait_for(until(lambda: has_ended() or serves(proxy.inner)), READY)
    pathlib.Path(path).unlink(missing_ok=True)
    server = await asyncio.start_unix_server(proxy.accepted, path)
    await until(has_ended)
    if daemon.poll() is None:
        # Nobody else removes what a run that was killed has left.
        daemon.kill()
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    server.close()
    if proxy.lines:
        await asyncio.wait(proxy.lines, timeout=DRAINED)
    return daemon.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
