"""Puts code that the build compiles into the pages of a documentation catalog.

    snippets.py CATALOG SOURCES OUT

In the sources a snippet is a region between `// snippet.NAME` and `// snippet.end`; in a page it is a line
`<!-- snippet: NAME -->`. The pages are copied to OUT, each such line replaced by the region as a Swift listing. A name
that only one side has, a region within a region, one without an end and one defined twice are errors: a page never
shows code that does not compile, and no region outlives the page that needed it.
"""
import re
import shutil
import sys
import textwrap
from pathlib import Path

OPENING = re.compile(r"^\s*// snippet\.(\S+)$")
USE = re.compile(r"^<!-- snippet: (\S+) -->$", re.M)
# What only Scripts/tutorial reads.
STEP = re.compile(r"^<!-- (?:(?:file|stop|until|shows): .*|run.*|background|expect|stop) -->\n", re.M)
LISTING = re.compile(r"^```swift", re.M)


def regions(sources):
    """({name: code}, problems) of all Swift files below a folder."""
    found, problems = {}, []
    for file in sorted(Path(sources).rglob("*.swift")):
        name, lines = None, []
        for number, line in enumerate(file.read_text().splitlines(), 1):
            opening = OPENING.match(line)
            if not opening:
                lines.append(line)
            elif opening[1] == "end":
                if not name:
                    problems.append(f"{file}:{number}: snippet.end, and no snippet is open")
                found[name], name = textwrap.dedent("\n".join(lines)).strip("\n"), None
            else:
                if name or opening[1] in found:
                    problems.append(f"{file}:{number}: snippet {opening[1]} is defined twice, or within {name}")
                name, lines = opening[1], []
        if name:
            problems.append(f"{file}: snippet {name} has no end")
    return found, problems


def listed(text, found):
    """The page with each use of a snippet replaced by its listing."""
    return USE.sub(lambda use: f"```swift\n{found.get(use[1], '')}\n```", text)


def main(catalog, sources, out):
    found, problems = regions(sources)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(catalog, out)
    used = set()
    for page in sorted(Path(out).rglob("*.md")):
        text = page.read_text()
        names = USE.findall(text)
        used.update(names)
        problems += [f"{page.name}: no code has the snippet {name}" for name in names if name not in found]
        if LISTING.search(text):
            problems.append(f"{page.name}: a Swift listing that is no snippet, so nothing compiles it")
        page.write_text(listed(STEP.sub("", text), found))
    problems += [f"{sources}: no page uses the snippet {name}" for name in sorted(set(found) - used)]
    print("\n".join(problems) or f"{len(used)} snippets in {catalog}", file=sys.stderr if problems else sys.stdout)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
