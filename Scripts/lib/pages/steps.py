"""The steps of a walk over an app's pages (Tests/Gallery/walk.txt), and what every renderer proves in the same way.

A renderer is a subclass of Renderer: what a person sees and does at it. `places` are the words by which differences name it.
"""
import shlex
import time


class Wrong(Exception):
    """A step whose effect is another one."""


class Step:
    """One line: a verb with its arguments, and what is played in its place somewhere, each with its reason."""

    def __init__(self, line):
        first, *others = line.split(" | ")
        self.plain = shlex.split(first)
        self.others = [self.difference(text) for text in others]

    @staticmethod
    def difference(text):
        where, _, what = text.partition(":")
        words = what[:what.rindex("(")]
        return set(where.split()), shlex.split(words), what[what.rindex("("):].strip()

    def at(self, places):
        """The words of the step and the reason of its difference; of several that fit the one that says most."""
        fitting = [other for other in self.others if other[0] <= places]
        if not fitting:
            return self.plain, ""
        return max(fitting, key=lambda other: len(other[0]))[1:]


def read(path):
    """The steps of each part, with the numbers of their lines."""
    parts = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("part "):
            steps = parts.setdefault(line.split()[1], [])
        elif line and not line.startswith("#"):
            steps.append((number, Step(line)))
    return parts


def play(name, steps, renderer):
    """Plays a part; prints a line for each step, and ends the program at the first that has another effect."""
    for number, step in steps:
        (verb, *arguments), reason = step.at(renderer.places)
        what = f"{name}, line {number}: {' '.join([verb, *arguments])} {reason}".rstrip()
        try:
            getattr(renderer, verb)(*arguments)
        except Wrong as wrong:
            print(f"FAILED  {what}: {wrong}", flush=True)
            renderer.fail()
            raise SystemExit(1) from None
        print(f"ok      {what}", flush=True)


class Renderer:
    """What is seen, by the titles of rows. A subclass has `rows()`, of dictionaries with `title`, `value`, `notes` and, for
    links, `target`; `options(title)`, `titles()` of the list's items, and `look()`, which shows the page again; and what a
    person does: the other verbs."""

    patience = 15

    def until(self, see, wanted, what):
        """What is seen may come a moment later: another reader's edit, or the answer of the running app."""
        end = time.monotonic() + self.patience
        while (seen := see()) != wanted:
            if time.monotonic() > end:
                raise Wrong(f"{what} is {seen!r}")
            time.sleep(0.1)
            self.look()

    def row(self, title):
        return next((row for row in self.rows() if row["title"] == title), None)

    def part(self, title, name):
        return (self.row(title) or {}).get(name)

    # MARK: verbs

    def shows(self, title, text):
        self.until(lambda: self.part(title, "value"), text, title)

    def hides(self, title):
        self.until(lambda: self.row(title), None, title)

    def locked(self, title, why):
        self.until(lambda: why in (self.part(title, "notes") or ""), True, f"that {title} is locked")

    def leads(self, title, target):
        self.until(lambda: self.part(title, "target"), target, f"the target of {title}")

    def choices(self, title, *texts):
        self.until(lambda: self.options(title), list(texts), f"what can be chosen for {title}")

    def items(self, *titles):
        self.until(self.titles, list(titles), "the list")

    def fail(self):
        """Called before the program ends because of a step."""
