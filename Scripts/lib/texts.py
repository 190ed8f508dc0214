"""Rules about the text of source files: length, opening comment, words that must not appear, and marks that need a
reason beside them. Comments and string contents are removed before words are looked for, except where a rule is about
the comment itself.
"""
import functools
import re

LONGEST_FILE = 600
LONGEST_FUNCTION = 60
TOP_LEVEL = {"Package.swift", "Package.resolved", "Sources", "Tests", "Protocol", "Scripts", "README.md", "LICENSE"}
NEVER = {
    r"\btry!": "a failure from outside would trap",
    r"\bas!": "a failure from outside would trap",
    r"\bfatalError\s*\(": "use precondition for our own bugs, an error for everybody else's",
    r"\b(?:PropertyListSerialization|PropertyListDecoder|NSKeyedUnarchiver)\b":
        "Foundation's property-list code must never see outside bytes",
    r"\b(?:NSLock|DispatchSemaphore|pthread_mutex_\w+|OSAllocatedUnfairLock)\b": "Mutex and Atomic only",
    r"\b(?:class|struct|enum|protocol|actor)\s+\w*(?:Manager|Helper|Util|Utils)\b": "the name says nothing",
}
DECISION = {
    r"\basync\b": "a decision never waits",
    r"\bawait\b": "a decision never waits",
    r"\bTask\b": "a decision starts nothing",
    r"\b(?:Mutex|Atomic)\b": "a decision takes no lock",
    r"\b(?:ContinuousClock|SuspendingClock)\b": "time comes in as an argument",
    r"\.random\(\)": "random bytes come in as an argument",
    r"\bprint\(": "a decision does no I/O",
}
# A file X+Y.swift extends X for a protocol or a platform; a type is not cut over files by topic.
PLATFORMS = {"Linux"}
DOUBLE = re.compile(
    r"\b(?:class|struct|enum|actor)\s+((?:Fake|Mock|Stub|Dummy|Scripted|Manual|Recording|InProcess)[A-Z]\w*|Fault[A-Z]\w*)")
TASKS = {r"\bTask\s*(?:\.detached\s*)?\{": "tasks start in Services and Commands only"}
# A comment names its subject first: neither it nor a sentence in it opens with a headless relative clause.
LONGEST_COMMENT_LINE = 120
HEADLESS = re.compile(r"(?:^\s*//+\s+|//.*[.:!?]\s+)(What|Who|Whoever|Whose|Whom)\b")
CONFINEMENT = re.compile(r"(?i)\b(?:locks?|mutex|threads?|loops?|queues?|immutable)\b")
COMMENT_WORDS = {
    r"\b(?:TODO|FIXME|XXX|HACK)\b": "finish it or leave it out",
    r"(?i)\bunder construction\b": "a placeholder is not a room",
    r"(?<![\w.])/(?:home|Users)/\w": "a path of somebody's machine",
}


def stripped(text):
    """The text without comments and string contents; line numbers stay."""
    text = re.sub(r'"""(.*?)"""', lambda m: '""' + "\n" * m.group(0).count("\n"), text, flags=re.S)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def text_problems(room, root):
    """Violations in the text of this room's files."""
    for source in room.sources():
        status = source.stat()
        yield from file_problems(source, source.relative_to(root), room.floor, status.st_mtime_ns, status.st_size)


@functools.cache
def file_problems(source, where, floor, *_):
    """Once for each state of a file: the self-test looks at all of them for each violation that it plants."""
    return list(problems_of(where, floor, source.read_text()))


def problems_of(where, floor, text):
    lines = text.splitlines()
    if len(lines) > LONGEST_FILE:
        yield f"{where}: {len(lines)} lines; a file has one idea and at most {LONGEST_FILE}"
    if not lines or not lines[0].startswith("//"):
        yield f"{where}:1: a file opens with a comment: what it is for, what it refuses, why this way"
    yield from word_problems(where, text, COMMENT_WORDS)
    if floor == "Tests":
        return
    code = stripped(text)
    yield from fragment_problems(where, code)
    yield from double_problems(where, code)
    yield from word_problems(where, code, NEVER)
    yield from function_problems(where, code)
    if floor == "Decisions":
        yield from word_problems(where, code, DECISION)
    if floor in ("Values", "Machinery"):
        yield from word_problems(where, code, TASKS)


def fragment_problems(where, text):
    """A file X+Y.swift without an extension that makes X conform to Y."""
    extended, plus, topic = where.stem.partition("+")
    if not plus or topic in PLATFORMS:
        return
    heads = re.findall(rf"\bextension\s+(?:\w+\.)*{re.escape(extended)}\s*:([^{{]*)\{{", text)
    if not any(topic in head for head in heads):
        yield f"{where}: no extension makes {extended} conform to {topic}; the parts of a type belong in its file"


def double_problems(where, text):
    """Types that only a test needs, by their names."""
    for name in DOUBLE.findall(text):
        yield f"{where}: {name} is a test double; it belongs in Tests/TestSupport"


def word_problems(where, text, rules):
    """Lines that hold a forbidden word."""
    for pattern, reason in rules.items():
        for found in re.finditer(pattern, text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{where}:{line}: {found.group(0).strip()!r}: {reason}"


def function_problems(where, text):
    """Functions too long to be read at once."""
    # The braces of a default, one within another at most, are not those of the body.
    for found in re.finditer(r"\b(?:func\s+[^\s(<]+|init[?(<])(?:= \{(?:[^{}]|\{[^{}]*\})*\}|[^{}])*\{", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        length = text.count("\n", found.end(), end) - 1
        if length > LONGEST_FUNCTION:
            line = text.count("\n", 0, found.start()) + 1
            yield f"{where}:{line}: a function of {length} lines; at most {LONGEST_FUNCTION}"


def comment_problems(root):
    """Comments of all Swift and C files, of those too that belong to no room."""
    for floor in ("Sources", "Tests"):
        for source in sorted((root / floor).rglob("*")):
            where = source.relative_to(root)
            if source.suffix in (".swift", ".c", ".h") and not any(part.startswith(".") for part in where.parts):
                status = source.stat()
                yield from comments_of(source, where, status.st_mtime_ns, status.st_size)


@functools.cache
def comments_of(source, where, *_):
    lines = source.read_text().splitlines()
    return [*line_problems(where, lines), *unchecked_problems(where, lines)]


def line_problems(where, lines):
    """Comment lines that swift format does not check: their width, and the words that open a sentence."""
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("//") and len(line) > LONGEST_COMMENT_LINE:
            yield f"{where}:{number}: a comment of {len(line)} columns; at most {LONGEST_COMMENT_LINE}"
        if found := HEADLESS.search(line):
            yield f"{where}:{number}: a sentence opens with {found.group(1)!r}; name the thing as its subject"


def unchecked_problems(where, lines):
    """`@unchecked Sendable` without a comment directly above that names what makes it true."""
    for number, line in enumerate(lines):
        if not re.search(r"@unchecked\s+Sendable", line.split("//")[0]):
            continue
        first = number
        while first > 0 and lines[first - 1].lstrip().startswith(("//", "@")):
            first -= 1
        if not CONFINEMENT.search(" ".join(lines[first:number])):
            yield (f"{where}:{number + 1}: @unchecked Sendable needs a comment naming the lock or thread directly above, "
                   "or that all state is immutable")


def top_level_problems(root):
    """Files at the top level that have no place there."""
    for entry in sorted(root.iterdir()):
        if not entry.name.startswith(".") and entry.name not in TOP_LEVEL and entry.name != "__pycache__":
            yield f"{entry.name}: nothing but {', '.join(sorted(TOP_LEVEL))} and dotfiles at the top level"
