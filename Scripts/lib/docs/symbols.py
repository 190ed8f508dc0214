"""Checks the symbol graphs that become the reference: all symbols are public, and each has a word said about it.

    symbols.py DIRECTORY

What a symbol inherits from the protocol that it fulfils counts as said.
"""
import json
import sys
from pathlib import Path

PUBLIC = {"public", "open"}


def problems_of(graph):
    for symbol in graph["symbols"]:
        name = ".".join(symbol["pathComponents"])
        place = symbol.get("location")
        where = f"{place['uri'].partition('/Sources/')[2]}:{place['position']['line'] + 1}" if place else "?"
        if symbol["accessLevel"] not in PUBLIC:
            yield f"{where}: {name} is {symbol['accessLevel']} and does not belong into the documentation"
        elif place and "docComment" not in symbol:
            yield f"{where}: {name} has no documentation comment"


def main(directory):
    graphs = [json.loads(file.read_text()) for file in sorted(Path(directory).glob("*.symbols.json"))]
    problems = [problem for graph in graphs for problem in problems_of(graph)]
    count = sum(len(graph["symbols"]) for graph in graphs)
    if not count:
        problems.append(f"{directory}: no symbols")
    print("\n".join(problems) or f"{count} public symbols", file=sys.stderr if problems else sys.stdout)
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
