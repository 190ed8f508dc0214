"""Wire words stand in the room Wire only: all other code writes the case of the enum that declares a word, so that a
misspelled word does not compile and a renamed one has a single place.

The words are read from Wire's own enums, so there is no second list of them. Many are plain English too, and the keys
of structured bodies stand with the types that read and write them. So a literal is a violation where it makes or
compares a word of a frame: after a label such as `name:`, beside `==`, in or after a `case`, behind `return`. A word
that is no English, such as `too-large` or `messageData`, is a violation anywhere. The raw values of an enum in
Decisions are a vocabulary of their own, such as the names of health problems, and may share a word. The keys of the
bodies of failures, items and refusals are Wire's `BodyKey`: as keys they are violations where such bodies are made.

A text becomes a case of such an enum, of whichever room, through `init(word:)` alone, which looks at its bytes first:
comparing a text from outside by Unicode may take the square of its length.
"""
import functools
import re

from clauses import CASE, CASES, between
from texts import stripped

HOME = "Sources/Values/Wire"
FLOORS = ("Decisions", "Services", "Commands")
# Where bodies are those of items, failures and refusals; other folders have types with keys of their own.
KEYED = ("Decisions/Delivery/", "Services/PairedSession/", "Services/PairedSessionFoundation/", "Services/Daemon/Apps/",
         "Services/Daemon/Delivery/", "Services/Daemon/Forwarding/", "Services/Daemon/Links/")
BODY_KEY = re.compile(r'^    package static let \w+ = "(\w+)"$', re.M)
ENUM = re.compile(
    r"^( *)(?:(?:package|public|private|fileprivate) )?enum (\w+): ([^{\n]*)\{(.*?)(?: \}$|^\1\})", re.M | re.S)
ENUM_HEAD = re.compile(r"^( *)(?:(?:package|public|private|fileprivate) )?enum (\w+): ([^{\n]*)\{", re.M)
WORDS = re.compile(r"\b(?:String|EnvelopeWord)\b")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
# The code before a literal that makes or compares a word.
MADE = re.compile(r"(?:\b(?:name|kind|command|channel|capability|reason|outcome|note)\s*:[^,()]*"
                  r"|[=!]=|\bcase\b[^:]*|\bcase\b[^:]*:|\breturn)\s*$")
COMPARED = re.compile(r"\s*[=!]=")
NO_ENGLISH = re.compile(r"-|[a-z][A-Z]")
KEY_LABEL = re.compile(r"\bkey:\s*$")
RAW_VALUE = re.compile(r"^\s*case \w+ = $")
PATH = re.compile(r"\bpath: \[[^\]]*$")
# The door, in which a text becomes a case, and the heads of types and extensions.
DOOR = "Sources/Values/Base/OutsideWord.swift"
HEAD = re.compile(r"^( *)(?:[\w@]+ )*(?:enum|struct|class|actor|extension) ([\w.]+)([^{\n]*)", re.M)
RAW_INIT = re.compile(r"\b(self|Self|\w+)?\.?(?:init)?\(rawValue:")
UNNAMED = "an enum of texts"
OF_TEXT = re.compile(r"\b(\w+): RawRepresentable<String>|\bRawValue == String\b")


def wire_words(root):
    """The words of the enums of Wire, each with the enums that have it; without the keys of the envelope, because they
    are keys of structured bodies, too."""
    words = {}
    for source in sorted((root / HOME).glob("*.swift")):
        for _, name, parents, body in ENUM.findall(source.read_text()):
            if not WORDS.search(parents) or name == "EnvelopeKey":
                continue
            for line in CASES.findall("\n".join(" " + line.strip() for line in body.splitlines())):
                for case, raw in CASE.findall(line):
                    words.setdefault(raw or case, set()).add(name)
    return words


def body_keys(root):
    """The keys of the bodies that Wire declares."""
    return set(BODY_KEY.findall(between((root / HOME / "SessionError.swift").read_text(), "enum BodyKey {", "\n}")))


def wire_word_problems(root):
    """Literals that spell a word of the wire outside its room."""
    words, keys = wire_words(root), body_keys(root)
    for floor in FLOORS:
        for source in sorted((root / "Sources" / floor).rglob("*.swift")):
            where, status = source.relative_to(root), source.stat()
            is_keyed = str(where).startswith(tuple(f"Sources/{folder}" for folder in KEYED))
            for line, word, is_key in literals(source, floor, status.st_mtime_ns, status.st_size):
                if is_key and is_keyed and word in keys:
                    yield f'{where}:{line}: "{word}" is a wire word; write BodyKey.{word}'
                elif not is_key and word in words:
                    yield f'{where}:{line}: "{word}" is a wire word; write the case of {" or ".join(sorted(words[word]))}'


def door_problems(root):
    """Texts that become cases of an enum of texts elsewhere than in the door."""
    files = [(source, source.stat()) for source in sorted((root / "Sources").rglob("*.swift"))]
    enums = set().union(*(text_enums(source, status.st_mtime_ns, status.st_size) for source, status in files))
    for source, status in files:
        where = source.relative_to(root)
        if str(where) == DOOR:
            continue
        for line, name in raw_inits(source, status.st_mtime_ns, status.st_size):
            if name in enums:
                yield f"{where}:{line}: a text becomes a case of {name} through init(word:), which looks at its bytes first"


@functools.cache
def text_enums(source, *_):
    """The names of the enums of texts, of the protocol of such enums, and of generic parameters that are one."""
    text = source.read_text()
    names = {name.split(".")[-1] for _, name, parents, *_ in ENUM_HEAD.findall(text) if WORDS.search(parents)}
    return names | {name for name in OF_TEXT.findall(text) if name} | {"EnvelopeWord", UNNAMED}


@functools.cache
def raw_inits(source, *_):
    """(line, type) of each call of an initializer with a raw value. `Self` is the type around it; one that is not
    named counts as an enum of texts."""
    text, found = stripped(source.read_text()), []
    for call in RAW_INIT.finditer(text):
        name = call.group(1)
        if name in ("self", "Self", None):
            column = indent(text, call.start())
            heads = [head for head in HEAD.finditer(text, 0, call.start()) if len(head.group(1)) < column]
            name = heads[-1].group(2).split(".")[-1] if heads else None
        elif name == "init" and text[call.start() - 1] == ".":
            # The type that the compiler finds is not in the text.
            name = UNNAMED
        found.append((text.count("\n", 0, call.start()) + 1, name))
    return found


def indent(text, position):
    line = text[text.rfind("\n", 0, position) + 1:]
    return len(line) - len(line.lstrip(" "))


@functools.cache
def literals(source, floor, *_):
    """(line, text, whether it is a key) of the literals that make or compare a word, once for each state of a file."""
    found = []
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if line.lstrip().startswith("//"):
            continue
        for literal in LITERAL.finditer(line):
            before, after, text = line[:literal.start()], line[literal.end():], literal.group(1)
            is_key = (after.startswith(":") and not before.lstrip().startswith("case") or KEY_LABEL.search(before)
                      or before.endswith("[") and after.startswith("]"))
            # A subcommand's path is what a person types; it may share a word.
            is_own = floor == "Decisions" and RAW_VALUE.match(before) or floor == "Commands" and PATH.search(before)
            if is_key or not is_own and (MADE.search(before) or COMPARED.match(after) or NO_ENGLISH.search(text)):
                found.append((number, text, bool(is_key)))
    return found
