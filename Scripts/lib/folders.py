"""The arrows between the folders of one module, proved as imports prove those between modules: a folder may name the
types of the folders that its row lists, and of no other. A type belongs to the folder that declares it.

Only names of types are looked for. A method that an extension adds to another folder's type is seen by the type's name
in the extension's own head.
"""
import functools
import re

from texts import stripped

# module -> folder -> the folders whose types it may name. Composition stands last and may name all.
ARROWS = {
    "Daemon": {
        "Forwarding": [],
        "Delivery": [],
        "Links": [],
        "Apps": ["Forwarding", "Delivery"],
        "Settings": ["Apps"],
        "Configuration": ["Delivery", "Apps", "Settings"],
        "Node": ["Forwarding", "Delivery", "Links", "Apps", "Settings", "Configuration"],
        "Operations": ["Delivery", "Links", "Apps", "Settings", "Configuration", "Node"],
        "Simulator": ["Forwarding", "Delivery", "Apps", "Configuration", "Node", "Operations"],
    },
}
TYPE = re.compile(r"^(?:@\S+\s+)*(?:(?:package|public|internal|final|indirect|nonisolated)\s+)*"
                  r"(?:class|struct|enum|actor|protocol|typealias)\s+([A-Z]\w*)", re.M)
NAME = re.compile(r"\b[A-Z]\w*")


def folder_problems(root):
    """Names that a folder must not know, folders without a row, and arrows that nothing uses."""
    for module, arrows in ARROWS.items():
        home = root / "Sources/Services" / module
        found = {folder.name for folder in home.iterdir() if folder.is_dir()}
        for name in sorted(found ^ arrows.keys()):
            yield f"Sources/Services/{module}/{name}: a folder has one row in Scripts/lib/folders.py, and a row a folder"
        for source in sorted(home.glob("*.swift")):
            yield f"{source.relative_to(root)}: a file of {module} stands in one of its folders"
        yield from arrow_problems(root, home, {name: arrows[name] for name in arrows if name in found})


def arrow_problems(root, home, arrows):
    files = {folder: sorted((home / folder).rglob("*.swift")) for folder in arrows}
    owner = {name: folder for folder in arrows for file in files[folder] for name in names(file)[0]}
    used = set()
    for folder, targets in arrows.items():
        for file in files[folder]:
            for name in sorted(names(file)[1]):
                target = owner.get(name, folder)
                if target in (folder, *targets):
                    used.add((folder, target))
                    continue
                yield f"{file.relative_to(root)}: {folder} names {name} of {target}, and has no arrow to it"
    for folder, targets in arrows.items():
        for target in targets:
            if (folder, target) not in used:
                yield f"Scripts/lib/folders.py: nothing in {folder} names a type of {target}; the arrow can go"


def names(file):
    status = file.stat()
    return read_names(file, status.st_mtime_ns, status.st_size)


@functools.cache
def read_names(file, *_):
    """The types that a file declares at its top level, and every capitalised name that its code uses."""
    text = stripped(file.read_text())
    return frozenset(TYPE.findall(text)), frozenset(NAME.findall(text))
