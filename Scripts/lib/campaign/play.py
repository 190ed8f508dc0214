"""Plays the cases of a campaign against the shipped command, one after the other.

One line for each case, and a table at the end. A campaign's own file lists its rooms, modules with `CASES`.
"""
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

from daemons import CaseFailure, World


def play(case, tandem, seed, workspace, short):
    """The verdict of one case and its figures."""
    world = World(tandem, workspace / case.name, random.Random(f"{seed} {case.name}"), short)
    if case.needs_root and not world.is_root:
        return "skip", "only root can be several users, and see a daemon's descriptors"
    try:
        return "ok", case.run(world)
    except CaseFailure as error:
        return "FAIL", str(error)
    except Exception as error:  # whatever a case meets is its verdict, and the cases after it are played
        where = traceback.extract_tb(error.__traceback__)[-1]
        at = next((frame for frame in reversed(traceback.extract_tb(error.__traceback__))
                   if frame.filename.endswith(f"{case.run.__module__}.py")), where)
        return "FAIL", f"{type(error).__name__} {error} ({pathlib.Path(at.filename).name}:{at.lineno})"
    finally:
        world.end()


def tail(workspace):
    for log in sorted(workspace.glob("*.log")):
        print(f"    {log.name}:")
        for line in log.read_text(errors="replace").splitlines()[-8:]:
            print(f"      {line[:200]}")


def run(rooms, noun, arguments):
    """Plays with the arguments TANDEM SEED [--short] [--case TEXT]; the exit code."""
    wanted = arguments[arguments.index("--case") + 1] if "--case" in arguments else ""
    return play_all(rooms, noun, arguments[0], arguments[1], "--short" in arguments, wanted)


def play_all(rooms, noun, tandem, seed, short, wanted):
    workspace = pathlib.Path(tempfile.mkdtemp(prefix="tandem."))
    workspace.chmod(0o711)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(130))
    began = time.monotonic()
    table = []
    try:
        cases = [case for room in rooms for case in room.CASES
                 if wanted in f"{case.name} {case.text}" and (case.is_short or not short)]
        if not cases:
            print(f"no case contains '{wanted}'", file=sys.stderr)
            return 2
        for case in cases:
            start = time.monotonic()
            verdict, figures = play(case, tandem, seed, workspace, short)
            seconds = time.monotonic() - start
            table.append((case.name, verdict, seconds, case.text, figures))
            print(f"{case.name:<4} {verdict:<4} {seconds:6.1f} s  {case.text}: {figures}", flush=True)
            if verdict == "FAIL":
                tail(workspace / case.name)
            shutil.rmtree(workspace / case.name, ignore_errors=True)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return show(table, noun, seed, time.monotonic() - began)


def show(table, noun, seed, seconds):
    failed = [name for name, verdict, *_ in table if verdict == "FAIL"]
    skipped = [name for name, verdict, *_ in table if verdict == "skip"]
    if len(table) > 1:
        print()
        for name, verdict, lasted, text, figures in table:
            print(f"| {name} | {verdict} | {text} | {figures} | {lasted:.1f} s |")
    print()
    if failed:
        print(f"seed {seed}: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if len(skipped) == len(table):
        # 77: Scripts/test counts that as skipped, not as passed.
        print(f"no {noun} case was played, skipped: {', '.join(skipped)}; they need root", file=sys.stderr)
        return 77
    skips = f", skipped: {', '.join(skipped)}" if skipped else ""
    print(f"{len(table) - len(skipped)} {noun} cases held in {seconds:.0f} s, seed {seed}{skips}")
    return 0
