"""The actors of the threat model: each row of their tables names a clause and tests that exist. A row without a test
would be a promise that nothing shows.
"""
import functools
import json
import re

import clauses

DOCUMENT = "Protocol/ThreatModel.md"
# A test: its file, and words of its title.
NAMED = re.compile(r'`([\w./-]+)` "([^"]+)"')
# What a file of tests, of cases or of vectors calls them.
FUNCTION = re.compile(r"\bfunc\s+(?:`([^`]+)`|(\w+))")
TITLE = re.compile(r'\(\s*("(?:[^"\\\n]|\\.)*")')
CASE = re.compile(r'\bCase\("\w+", ("(?:[^"\\\n]|\\.)*")')
VECTOR = re.compile(r'"name": ("(?:[^"\\\n]|\\.)*")')
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def threat_problems(root):
    """Rows that name no clause or no test, and names of tests that no file has."""
    text = clauses.between((root / DOCUMENT).read_text(), "\n## Actors\n", "\n## ")
    rows = [row for row in text.splitlines() if row.startswith("| ") and not row.startswith("| clause ")]
    if not rows:
        yield f"{DOCUMENT}: no table of actors"
    files = test_files(root)
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        name = "/".join(clauses.DEFINED.findall(cells[0])) or f"'{row[:40]}'"
        if len(cells) != 5 or cells[1] not in ("can", "cannot") or not cells[2]:
            yield f"{DOCUMENT}: {name} is not a row of clause, can or cannot, what, demanded by, shown by"
            continue
        if not clauses.CITED.search(cells[3]):
            yield f"{DOCUMENT}: {name} names no clause that demands it"
        tests = NAMED.findall(cells[4])
        if not tests or NAMED.sub("", cells[4]).strip("; "):
            yield f'{DOCUMENT}: {name} has to name its tests, as `File` "words of the title"; ...'
        for file, words in tests:
            if problem := unknown_test(files, file, words):
                yield f"{DOCUMENT}: {name}: {problem}"


def test_files(root):
    """Files of tests, of cases with real daemons and of vectors by their path, without its end where that is the
    language's.
    """
    scripts = root / "Scripts/lib"
    found = [*(root / "Tests").glob("*Tests/**/*.swift"), *(scripts / "hostile").glob("*.py"),
             *(scripts / "fleet").glob("*.py"), *(root / "Protocol/Vectors").glob("*/*.json")]
    return {"/" + str(file.relative_to(root)).removesuffix(".swift").removesuffix(".py"): file for file in found}


def unknown_test(files, name, words):
    """Why no test is meant, or more than one."""
    meant = [file for path, file in files.items() if path.endswith("/" + name)]
    if len(meant) != 1:
        return f"`{name}` is the name of {len(meant)} files"
    status = meant[0].stat()
    titles = read_titles(meant[0], status.st_mtime_ns, status.st_size)
    count = sum(words in title for title in titles)
    if count == 1 or sum(words == title for title in titles) == 1:
        return None
    return f'"{words}" is in {count} titles of {name}'


@functools.cache
def read_titles(file, *_):
    """Once for each state of a file: the self-test looks at all of them for each violation that it plants."""
    text = file.read_text()
    if file.suffix == ".json":
        return [json.loads(name) for name in VECTOR.findall(text)]
    if file.suffix == ".py":
        return [json.loads(title) for title in CASE.findall(text)]
    return [title_of(test) for test in text.split("@Test")[1:]]


def title_of(test):
    """The title of the test whose text follows its `@Test`: the one that is given, or else its function's name."""
    if title := TITLE.match(test):
        return json.loads(title[1])
    function = FUNCTION.search(test)
    raw, plain = function.groups() if function else ("", "")
    return raw or CAPITAL.sub(" ", plain).lower()
