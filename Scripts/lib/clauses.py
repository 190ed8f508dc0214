"""The protocol's text against the code: a clause is defined once, whatever is cited exists, every clause is cited by a
test, and the words that travel (kinds, keys, names, numbers) are the same on both sides. Words only; what they do is
proved by the tests.
"""
import functools
import re

SERIES = "FRM|SES|PAR|DEL|FIL|CFG|CTL|LIM|THR|SET|SCH|CON|PAG"
DEFINED = re.compile(rf"\*\*((?:{SERIES})-\d+)\*\*")
CITED = re.compile(rf"\b((?:{SERIES})-\d+)\b")
# "SES-48 to SES-51" cites what is between, too.
RANGE = re.compile(rf"\b({SERIES})-(\d+) to \1-(\d+)\b")
# Series of which not every clause is cited by a test, and why.
UNTESTED = {
    "THR": "a threat names the clauses that answer it, and those have tests; an actor's row names its tests (threats.py)",
}
LIMIT = re.compile(r"^\| (LIM-\d+) \|", re.M)
RECORD = re.compile(r"\bDecisions/(\d{4})\b")
WORD = re.compile(r"`([A-Za-z][A-Za-z-]*)`")
NUMBER = re.compile(r"\b(70\d\d) (\w+)")
NUMBERED_CASE = re.compile(r"^\s*case (\w+) = (70\d\d)$", re.M)
# The cases of an enum of words, one or more in a line.
CASES = re.compile(r"^ +case ([^.:(\n]+)$", re.M)
CASE = re.compile(r"`?(\w+)`?(?: = \"([^\"]+)\")?")
# (enum, its file, the text in Protocol that lists its words: file, from, to)
WORDS = [
    ("FrameKind", "Values/Wire/FrameKind.swift", "Frames.md", "**FRM-10**", "**FRM-11**"),
    ("EnvelopeKey", "Values/Wire/EnvelopeKey.swift", "Frames.md", "**FRM-8**", "**FRM-9**"),
    ("Channel", "Values/Wire/Channel.swift", "Frames.md", "| `channel` | string |", " |\n"),
    ("RefusalName", "Values/Wire/Refusal.swift", "Session.md", "**SES-21** `name` in `refusal`", "\n## "),
    ("Capability", "Values/Wire/Hello.swift", "Session.md", "**SES-3**", ". An end"),
    ("Rejection", "Decisions/SignedConfiguration/Rejection.swift", "SignedConfiguration.md", "**CFG-24**", "**CFG-25**"),
    ("SettingType", "Decisions/Settings/SettingDeclaration.swift", "Settings.md", "**SET-40**", "**SET-41**"),
    ("ControlName", "Values/Wire/ControlFrames.swift", "Control.md", "**CTL-3**", "**CTL-4**"),
    ("ControlFailureName", "Values/Wire/ControlFrames.swift", "Control.md", "**CTL-4**", ", and the rejection"),
    ("Word", "Decisions/Operations/HealthLedger.swift", "Control.md", "**CTL-12** A problem's `name`:", ". `unlinked` and"),
]


def clause_problems(root):
    """Clauses defined twice, citations of what does not exist, and words that only one side knows."""
    protocol = protocol_texts(root)
    definitions = definitions_in(protocol)
    for clause in sorted({clause for clause in definitions if definitions.count(clause) > 1}):
        yield f"Protocol: {clause} is defined {definitions.count(clause)} times"
    known = known_clauses(root)
    records = {file.name[:4] for file in (root / "Protocol/Decisions").glob("*.md")}
    yield from citation_problems(root, known, records)
    yield from untested_problems(root, known)
    for name, file, document, start, end in WORDS:
        yield from word_problems(root, name, file, document, between(protocol[document], start, end))
    yield from number_problems(root, between(protocol["Session.md"], "**SES-20**", "`name`"))


def protocol_texts(root):
    """The protocol's documents by their names."""
    return {file.name: file.read_text() for file in sorted((root / "Protocol").glob("*.md"))}


def definitions_in(protocol):
    """The clauses of the documents in their order, one that is defined twice as often."""
    return [clause for text in protocol.values() for clause in DEFINED.findall(text)]


def known_clauses(root):
    """All clauses, those of the table of limits too."""
    protocol = protocol_texts(root)
    return {*definitions_in(protocol), *LIMIT.findall(protocol["Limits.md"])}


def cited_in(text):
    """The clauses that a text cites, and those between them in ranges."""
    between_them = {f"{series}-{number}" for series, first, last in RANGE.findall(text)
                    for number in range(int(first), int(last) + 1)}
    return frozenset(CITED.findall(text)) | between_them


def cited_by(file):
    """The clauses and the decision records that a file cites, and the clauses with those between them in ranges."""
    status = file.stat()
    return read_citations(file, status.st_mtime_ns, status.st_size)


@functools.cache
def read_citations(file, *_):
    """Once for each state of a file: the self-test looks at all of them for each violation that it plants."""
    text = file.read_text()
    return frozenset(CITED.findall(text)), frozenset(RECORD.findall(text)), cited_in(text)


def citation_problems(root, known, records):
    """Citations of clauses and of decision records that nobody wrote."""
    files = [file for folder in ("Sources", "Tests", "Protocol") for file in (root / folder).rglob("*")]
    for file in sorted(files):
        if file.suffix not in (".swift", ".md", ".json", ".py") or ".build" in file.parts:
            continue
        clauses, cited_records, _ = cited_by(file)
        for found, prefix, there in ((clauses, "", known), (cited_records, "Decisions/", records)):
            for cited in sorted(found - there):
                text = file.read_text()
                line = text.count("\n", 0, text.index(prefix + cited)) + 1
                yield f"{file.relative_to(root)}:{line}: {prefix}{cited} does not exist in Protocol"


def untested_problems(root, known):
    """Clauses that nobody proves."""
    proved = set()
    for file in (root / "Tests").rglob("*"):
        if file.suffix in (".swift", ".py") and ".build" not in file.parts:
            proved |= cited_by(file)[2]
    for clause in sorted(known - proved):
        if clause.partition("-")[0] not in UNTESTED:
            yield f"Protocol: {clause} is cited by no test: name it in the title of the one that proves it"


def word_problems(root, name, file, document, text):
    """Words of one enum that its list in Protocol lacks, and the other way round."""
    source = between((root / "Sources" / file).read_text(), f"enum {name}: String", "\n}")
    code = {raw or case for line in CASES.findall(source) for case, raw in CASE.findall(line)}
    listed = listed_words(text)
    for word in sorted(code - listed):
        yield f"Sources/{file}: {name} has '{word}', which Protocol/{document} does not list"
    for word in sorted(listed - code):
        yield f"Protocol/{document}: '{word}' is listed, and {name} does not have it"


def number_problems(root, text):
    """Error numbers that the code and SES-20 name differently."""
    file = "Sources/Values/Wire/SessionError.swift"
    code = {(number, name) for name, number in NUMBERED_CASE.findall((root / file).read_text())}
    for number, name in sorted(code ^ set(NUMBER.findall(text))):
        yield f"{file}: {number} {name} is not in both the code and Protocol/Session.md SES-20"


def listed_words(text):
    """The words of a table's first column, or all words in backquotes where there is no table."""
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| ")]
    return set(WORD.findall("\n".join(rows) if rows else text))


def between(text, start, end):
    """The part of a text after `start` and before the next `end`; nothing where `start` is missing."""
    return text.partition(start)[2].partition(end)[0]
