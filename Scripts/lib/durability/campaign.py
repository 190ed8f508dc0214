"""Power failures of whole daemons: their items and files are there again, whole.

    campaign.py TANDEM SEED [--short] [--case TEXT]

Scripts/durability --power starts it.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "campaign"))

# Before the others: it says where the modules of the system tests are.
import play  # noqa: E402
import power  # noqa: E402

sys.exit(play.run((power,), "power", sys.argv[1:]))
