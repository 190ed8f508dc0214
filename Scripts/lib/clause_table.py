"""The clauses that cases of the conformance suite cite, with the number of cases in each world, and those of Protocol
without a case.

    clause_table.py RESULTS

RESULTS is the suite's report in JUnit's XML. Scripts/conformance --clauses starts this before its run is over, so the
closing tag is absent.
"""
import collections
import pathlib
import signal
import sys
import textwrap
import xml.etree.ElementTree

import clauses

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH = 110


def order(clause):
    """By series, then by number."""
    series, _, number = clause.partition("-")
    return clauses.SERIES.split("|").index(series), int(number)


def counts_of(suites):
    """For each clause that a case cites the number of such cases in each world."""
    counts = collections.defaultdict(collections.Counter)
    for suite in suites:
        for case in suite.iter("testcase"):
            for clause in clauses.cited_in(case.get("name")):
                counts[clause][suite.get("name")] += 1
    return counts


def table(counts, worlds):
    """A line for each clause."""
    yield "  ".join(["clause ", *worlds])
    for clause in sorted(counts, key=order):
        yield "  ".join([f"{clause:7}", *(f"{counts[clause][world] or '-':>{len(world)}}" for world in worlds)])


def ranges(numbers):
    """Ascending numbers, those that follow each other as one range."""
    groups = []
    for number in numbers:
        if groups and groups[-1][1] == number - 1:
            groups[-1][1] = number
        else:
            groups.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in groups)


def without_case(known, counts):
    """For each series how many of its clauses have a case, and the numbers of those that have none. Threats are left
    out: the clauses that answer them are in the other series."""
    for series in clauses.SERIES.split("|"):
        if series in clauses.UNTESTED:
            continue
        own = {order(clause)[1]: clause in counts for clause in known if clause.startswith(f"{series}-")}
        absent = sorted(number for number, has_case in own.items() if not has_case)
        line = f"{series}: {len(own) - len(absent)} of {len(own)} have a case; without one: {ranges(absent) or 'none'}"
        yield textwrap.fill(line, WIDTH, subsequent_indent="     ", break_on_hyphens=False)


def main(path):
    suites = xml.etree.ElementTree.fromstring(f"{pathlib.Path(path).read_text()}</testsuites>").findall("testsuite")
    counts = counts_of(suites)
    known = clauses.known_clauses(ROOT)
    print("Cases that cite a clause, by world:\n")
    print("\n".join(table(counts, [suite.get("name") for suite in suites])))
    print("\nClauses without a case, by series and number:\n")
    print("\n".join(without_case(known, counts)))


# A reader such as head may close early.
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main(sys.argv[1])
