"""Plays parts of the walk over the gallery's pages, for Scripts/browser.

    play.py terminal PLACE PART COMMAND...             COMMAND edits the app's pages at a terminal
    play.py console [--axe FILE] [--folder FOLDER] (PLACE PART ADDRESS)...

PLACE is `own` for the device of the app and `primary` for its primary, PART a part of the walk. ADDRESS is what a console
has printed, with the path of the app's first page behind it. Exit code 0: every step has happened.
"""
import argparse
import re
import signal
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from audit import Audit  # noqa: E402
from chromium import Driver  # noqa: E402
from forms import Forms  # noqa: E402
from steps import play, read  # noqa: E402
from terminal import Terminal  # noqa: E402

WALK = read(Path(__file__).resolve().parents[3] / "Tests/Gallery/walk.txt")


def at_terminal(place, part, *command):
    session = Terminal(list(command), place)
    play(f"{part} in the terminal, {place}", WALK[part], session)
    session.end()


def at_consoles(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--axe")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("walks", nargs="+")
    options = parser.parse_args(arguments)
    # So that a walk that is stopped ends its browser, also one that is just starting.
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(True))
    driver = Driver()
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        if stops:
            sys.exit(1)
        audit, seen, entered = Audit(driver, options.axe), set(), set()
        walks = iter(options.walks)
        for place, part, address in zip(walks, walks, walks):
            origin, token, path = re.fullmatch(r"(.*)/(#[^/]*)(/.*)", address).groups()
            if origin not in entered:
                entered.add(driver.enter(f"{origin}/{token}"))
            forms = Forms(driver, audit, origin + path, place, seen, options.folder)
            play(f"{part} in Chromium, {place}", WALK[part], forms)
    finally:
        driver.end()


def main(renderer, *arguments):
    if renderer == "terminal":
        at_terminal(*arguments)
    else:
        at_consoles(list(arguments))


main(*sys.argv[1:])
