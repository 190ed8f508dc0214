"""The floor plan of Sources/README.md against the manifest: both show the same rooms on the same floors."""

PLAN = "Sources/README.md"

FLOORS = ("Commands", "Services", "Decisions", "Machinery", "Values", "System")


def plan_problems(house, root):
    """Rooms that only the drawing or only the manifest has."""
    drawn = set(drawing((root / PLAN).read_text()))
    built = {(room.floor, room.name) for room in house if room.floor != "Tests"}
    for floor, name in sorted(built - drawn):
        yield f"{PLAN}: the floor plan lacks {name} on {floor}"
    for floor, name in sorted(drawn - built):
        yield f"{PLAN}: the floor plan shows {name} on {floor}, which Package.swift does not have"


def drawing(text):
    """(floor, room) of the drawing: names stand two spaces apart, remarks are what holds a single space."""
    floor = None
    for block in text.split("```")[1::2]:
        if not block.startswith("\nCommands"):
            continue
        for line in block.splitlines():
            for part in filter(None, (part.strip(" |") for part in line.split("  "))):
                if part in FLOORS:
                    floor = part
                elif " " not in part:
                    yield floor, part
