"""Soak of two daemons: apps that work for a long time, and figures that must not grow.

    campaign.py TANDEM SEED

The environment's SOAK_MINUTES says how long. Scripts/soak starts it.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
for name in ("campaign", "fleet"):
    sys.path.insert(1, str(pathlib.Path(__file__).parents[1] / name))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import course  # noqa: E402

sys.exit(play.run((course,), "soak", sys.argv[1:]))
