"""Writing of vector files: one case on each line."""
import json
from pathlib import Path

root = Path(__file__).resolve().parents[3]
FOLDER = root / "Protocol/Vectors"
LISTS = "cases", "sequences", "successions"


def text(document):
    """One case on each line, so that a change shows as the case that it changes."""
    def written(name, value):
        if name not in LISTS:
            return json.dumps(value, indent=1)
        return "[\n" + ",\n".join(json.dumps(case) for case in value) + "\n]"
    parts = ",\n".join(f'"{name}": {written(name, value)}' for name, value in document.items())
    return f"{{\n{parts}\n}}\n"


def write(documents):
    """Writes a document into each path below Protocol/Vectors."""
    for name, document in documents.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(document))


def stale(documents):
    """The paths of the files that are not what would be written."""
    return [FOLDER / name for name, document in documents.items()
            if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text(document)]


def told(documents):
    """How many cases there are; fails if two of one list have one name."""
    count = 0
    for path, document in documents.items():
        for name in LISTS:
            names = [case["name"] for case in document.get(name, [])]
            assert len(set(names)) == len(names), f"{path}: each of its {name} has a name that no other has"
            count += len(names)
    return f"{count} cases in {len(documents)} file{'s' * (len(documents) > 1)}"
