"""Writing of vector files, shared by the scripts that make them: one case on each line, and `--check`."""
import json
import sys
from pathlib import Path

root = Path(__file__).resolve().parents[3]
FOLDER = root / "Protocol/Vectors"


def text(document):
    """One case on each line, so that a change shows as the case that it changes."""
    head = "".join(f'"{name}": {json.dumps(value, indent=1)},\n' for name, value in document.items() if name != "cases")
    lines = ",\n".join(json.dumps(case) for case in document["cases"])
    return f'{{\n{head}"cases": [\n{lines}\n]\n}}\n'


def main(doc, made):
    """Writes the files, or compares with them. `made` returns a document for each path below Protocol/Vectors: a
    dictionary with the list `cases`."""
    arguments = sys.argv[1:]
    if arguments not in ([], ["--check"]):
        print(doc, file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 2
    documents = made()
    texts = {FOLDER / name: text(document) for name, document in documents.items()}
    if arguments:
        stale = [path for path, content in texts.items() if not path.exists() or path.read_text() != content]
        for path in stale:
            print(f"{path.relative_to(root)} is not what Scripts/{Path(sys.argv[0]).name} writes", file=sys.stderr)
        if stale:
            return 1
    else:
        for path, content in texts.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
    count = sum(len(document["cases"]) for document in documents.values())
    print(f"{count} cases in {len(documents)} file{'s' * (len(documents) > 1)}")
    return 0
