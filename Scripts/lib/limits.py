"""The numbers of Protocol/Limits.md against the code: each is the value of a constant whose comment cites its clause."""
import math
import re

ROW = re.compile(r"^\| (LIM-\d+) \|[^|]*\|([^|]*)\|", re.M)
# A number without a unit counts; one in a word, such as LIM-6, is no value.
NUMBER = re.compile(r"(?<![\w`-])(\d[\d,]*)( ?(?:KiB|MiB|GiB|TiB|ms|us|s|min|h|days)\b)?")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60,
         "h": 3600, "days": 86_400}
CITED = re.compile(r"\bLIM-\d+\b")
COMMENT = re.compile(r"\s*//")
TIME = re.compile(r"\.(microseconds|milliseconds|seconds)\(([\d_ *]+)\)")
FACTOR = {"microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1}
PRODUCT = re.compile(r"(?<![\w.])\d[\d_]*(?: (?:\*|<<) \d[\d_]*)*")
# A declaration behind its comment, with the one that shares the comment.
LINES = 3


def limit_problems(root):
    """Values of the table that no constant has."""
    values = constants(root)
    for clause, cell in ROW.findall((root / "Protocol/Limits.md").read_text()):
        for digits, unit in NUMBER.findall(cell):
            value = int(digits.replace(",", "")) * UNITS[unit.strip() or "s"]
            if not any(math.isclose(value, other) for other in values.get(clause, ())):
                yield (f"Protocol/Limits.md: {clause} says {digits}{unit}, and no constant whose comment cites {clause} "
                       "has this value")


def constants(root):
    """The numbers in the declarations behind comments that cite a limit, by the limit."""
    found = {}
    for file in sorted((root / "Sources").rglob("*.swift")):
        text = file.read_text()
        if "LIM-" not in text:
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines):
            cited = CITED.findall(line) if line.lstrip().startswith("///") else []
            if cited:
                numbers = set(numbers_of(declaration(lines, number)))
                for clause in cited:
                    found.setdefault(clause, set()).update(numbers)
    return found


def declaration(lines, number):
    """The code that a comment describes."""
    while COMMENT.match(lines[number]):
        number += 1
    code = []
    while len(code) < LINES and lines[number].strip() and not COMMENT.match(lines[number]):
        code.append(lines[number].partition("//")[0])
        number += 1
    return "\n".join(code)


def numbers_of(code):
    for unit, factors in TIME.findall(code):
        yield product(factors) * FACTOR[unit]
    for match in PRODUCT.findall(code):
        yield product(match)
        # Milliseconds as the wire counts them.
        if "Milliseconds" in code:
            yield product(match) / 1000


def product(text):
    base, *shift = text.replace("_", "").split("<<")
    return math.prod(int(factor) for factor in base.split("*")) << (int(shift[0]) if shift else 0)
