"""The picture of the ratios to the floor: a row for each case, a bar for Tandem, a mark for its target, dots for the peers,
on a logarithmic scale that begins at the floor. Plain SVG that reads on light and dark grounds.
"""
import math
from xml.sax.saxutils import escape

LEFT, RIGHT, TOP, ROW, WIDTH = 280, 40, 70, 26, 900
LOWEST, HIGHEST = 0.7, 32
COLOURS = {"redis-server": "#c0392b", "mosquitto": "#8e44ad", "dbus-daemon": "#b9770e", "dbus-broker": "#d4ac0d",
           "nats-server": "#1e8449"}
OURS, TARGET, QUIET = "#2471a3", "#888888", "#999999"


def across(ratio):
    share = math.log(min(max(ratio, LOWEST), HIGHEST) / LOWEST) / math.log(HIGHEST / LOWEST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(x, y, words, anchor="start", colour=QUIET, size=12):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">'
            f"{escape(words)}</text>")


def line(x, top, bottom, colour, width=1, more=""):
    return f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}" stroke-width="{width}" {more}/>'


def scale(bottom):
    for ratio in (1, 2, 4, 8, 16, 32):
        yield line(across(ratio), TOP - 6, bottom, QUIET, 2 if ratio == 1 else 0.5)
        yield text(across(ratio), TOP - 12, "floor" if ratio == 1 else f"{ratio}x", "middle")


def legend(names):
    x = LEFT
    entries = [("Tandem", OURS), ("target", TARGET), *((name, COLOURS.get(name, QUIET)) for name in names)]
    for name, colour in entries:
        yield f'<circle cx="{x}" cy="24" r="5" fill="{colour}"/>'
        yield text(x + 9, 28, name, colour=colour)
        x += 24 + 7 * len(name)


def case(row, y):
    middle = y + ROW / 2
    start, end = sorted((across(1), across(row["ratio"])))
    yield text(LEFT - 12, middle + 4, row["case"], "end")
    yield f'<rect x="{start:.1f}" y="{y + 6}" width="{max(end - start, 2):.1f}" height="{ROW - 12}" fill="{OURS}"/>'
    if "target" in row:
        yield line(across(row["target"]), y + 3, y + ROW - 3, TARGET, 3)
    for name, ratio in row["peers"].items():
        yield (f'<circle cx="{across(ratio):.1f}" cy="{middle}" r="4" fill="{COLOURS.get(name, QUIET)}">'
               f"<title>{escape(name)} {ratio:.2f}</title></circle>")
    yield text(WIDTH - 4, middle + 4, f"{row['ratio']:.2f}", "end", OURS)


def of(rows):
    """The whole picture as text."""
    shown = [row for row in rows if "peers" in row and row.get("ratio")]
    names = dict.fromkeys(name for row in shown for name in row["peers"])
    bottom = TOP + ROW * len(shown)
    parts = [*legend(names), *scale(bottom)]
    for place, row in enumerate(shown):
        parts += case(row, TOP + ROW * place)
    parts.append(text(LEFT, bottom + 24, "ratio to a C relay that only forwards; logarithmic; left is better"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 36}" font-family="sans-serif">\n'
            + "\n".join(parts) + "\n</svg>\n")
