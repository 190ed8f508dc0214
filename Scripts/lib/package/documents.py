"""Ships the documents of the package, and proves that their links lead somewhere.

    documents.py ship SOURCES DIR    copies README, Protocol, its decisions and the guides; a link to a file that is
                                     shipped leads to its new place, and any other one becomes text; fails for one
                                     that is dead in the sources
    documents.py check DIR           fails with a line for each relative link of a page in DIR that is dead
"""
import os
import re
import shutil
import sys
from pathlib import Path

DOCC = Path("Sources/Services/PairedSession/PairedSession.docc")
GUIDES = Path("Guides")
PICTURES = GUIDES / "Resources"
# Code has no links: a block, a span, a link with its text and address, a page of the documentation by its name.
MARKUP = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|!?\[(?P<text>[^\]]*)\]\((?P<address>[^)\s]+)\)|<doc:(?P<page>[\w#-]+)>",
                    re.M | re.S)


def places(root: Path) -> dict[Path, Path]:
    """The place in the package for each file, and for each directory that links may name."""
    found = {Path("README.md"): Path("README.md"), DOCC: GUIDES}
    for folder in (Path("Protocol"), Path("Protocol/Decisions")):
        found[folder] = folder
        found |= {page: page for page in below(root, folder, "*.md")}
    found |= {page: GUIDES / page.name for page in below(root, DOCC, "*.md")}
    for folder, kind in ((DOCC / "Resources", "*.png"), (Path("Tests/Benchmarks"), "*.svg")):
        found |= {picture: PICTURES / picture.name for picture in below(root, folder, kind)}
    return found


def below(root: Path, folder: Path, kind: str) -> list[Path]:
    return sorted(path.relative_to(root) for path in (root / folder).glob(kind))


def is_relative(address: str) -> bool:
    return not re.match(r"[a-z]+:|#", address)


def shipped(root: Path, page: Path, moved: dict[Path, Path]) -> str:
    """The page with its links as they are in the package."""
    here = moved[page].parent

    def target_of(address: str) -> Path:
        # A guide names a picture without its folder and its ending.
        picture = DOCC / "Resources" / f"{address}.png"
        target = picture if picture in moved else Path(os.path.normpath(page.parent / address))
        return target if (root / target).exists() else sys.exit(f"a dead link in {page}: {address}")

    def link(found: re.Match[str]) -> str:
        if name := found["page"]:
            name, mark, anchor = name.partition("#")
            target = moved.get(DOCC / f"{name}.md")
            return f"[{name}]({os.path.relpath(target, here)}{mark}{anchor})" if target else name
        if not found["address"] or not is_relative(found["address"]):
            return found[0]
        address, mark, anchor = found["address"].partition("#")
        target = target_of(address)
        if target not in moved:
            text = "" if found["text"] == str(target) else f"{found['text']} "
            return f"{text}[`{target}` in the sources]"
        return found[0].replace(f"({found['address']})", f"({os.path.relpath(moved[target], here)}{mark}{anchor})")

    return MARKUP.sub(link, (root / page).read_text())


def ship(root: Path, tree: Path) -> None:
    os.umask(0o022)
    moved = places(root)
    for source, place in moved.items():
        if not (root / source).is_file():
            continue
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            (tree / place).write_text(shipped(root, source, moved))
        else:
            shutil.copyfile(root / source, tree / place)


def check(tree: Path) -> None:
    dead = []
    for page in sorted(tree.rglob("*.md")):
        for found in MARKUP.finditer(page.read_text()):
            address = found["address"]
            if found["page"]:
                dead.append(f"{page}: {found[0]}")
            elif address and is_relative(address) and not (page.parent / address.partition("#")[0]).exists():
                dead.append(f"{page}: {address}")
    sys.exit("\n".join(f"a dead link in {line}" for line in dead) or None)


def main() -> None:
    match sys.argv[1:]:
        case ["ship", sources, tree]: ship(Path(sources), Path(tree))
        case ["check", tree]: check(Path(tree))
        case _: sys.exit(__doc__)


main()
