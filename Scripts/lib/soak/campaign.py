"""Soak of two daemons: apps that work for a long time, and figures that must not grow; or a count of messages over many
pairs; or a large file over a line that is cut.

    campaign.py TANDEM SEED

The environment's SOAK_MINUTES, SOAK_COUNT or SOAK_FILE says how much. Scripts/soak starts it.
"""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
for name in ("campaign", "fleet"):
    sys.path.insert(1, str(pathlib.Path(__file__).parents[1] / name))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import course  # noqa: E402
import large  # noqa: E402
import messages  # noqa: E402

room = messages if "SOAK_COUNT" in os.environ else large if "SOAK_FILE" in os.environ else course
sys.exit(play.run((room,), "soak", sys.argv[1:]))
