"""Plays hostile users, strangers, devices and lines against the shipped command.

    campaign.py TANDEM SEED [--short] [--case TEXT]

Scripts/hostile starts it.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import bodies  # noqa: E402
import fairness  # noqa: E402
import items  # noqa: E402
import lines  # noqa: E402
import memory  # noqa: E402
import pairings  # noqa: E402
import remains  # noqa: E402
import strangers  # noqa: E402
import underway  # noqa: E402

ROOMS = memory, strangers, fairness, lines, underway, items, pairings, bodies, remains
sys.exit(play.run(ROOMS, "hostile", sys.argv[1:]))
