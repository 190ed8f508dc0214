"""The terminal as a renderer: `tandem settings edit` at a terminal of its own, and what a person types there."""
import os
import pty
import re
import sys
import termios

from steps import Renderer, Wrong

HEADER = re.compile(r"^ +title +value( +layer)?$")
ITEM = re.compile(r"^  (\d+)  (.*)$")
WORDS = {"-": "", '""': "", "true": "on", "false": "off"}
# Other renderers show these beside the value: the bounds of a slider, and the zone of a date.
BESIDE = re.compile(r" \([-0-9.]+ to [-0-9.]+\)$| UTC$")


class Terminal(Renderer):
    """One session, from the command to quit."""

    def __init__(self, command, place):
        self.command, self.place = command, place
        self.places = {"terminal", place}
        self.shown = []
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.execv(command[0], command)
        quiet = termios.tcgetattr(self.terminal)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(self.terminal, termios.TCSANOW, quiet)
        self.answer()

    def end(self):
        os.write(self.terminal, b"quit\n")
        _, status = os.waitpid(self.child, 0)
        os.close(self.terminal)
        if status:
            raise Wrong(f"the command ends with {status}")

    def answer(self):
        """The lines up to the next prompt; those of a page are remembered."""
        seen = b""
        while not re.search(rb"(^|\n)> $", seen):
            try:
                piece = os.read(self.terminal, 65_536)
            except OSError:
                piece = b""
            if not piece:
                raise Wrong(f"the command ends: {seen.decode()}")
            seen += piece
        lines = seen.decode().replace("\r", "").splitlines()[:-1]
        if len(lines) > 1 and lines[1].startswith("  ") and lines[0][:1] != " " or any(map(HEADER.match, lines)):
            self.shown = lines
            return None
        return "\n".join(lines)

    def type(self, line):
        os.write(self.terminal, f"{line}\n".encode())
        return self.answer()

    def change(self, line):
        """A line after which the page is shown again."""
        text = self.type(line)
        if text is not None:
            raise Wrong(text)

    def look(self):
        self.type("")

    def rows(self):
        rows, columns = [], None
        for line in self.shown:
            if HEADER.match(line):
                columns = line.index("title"), line.index("value"), line.index("layer") if "layer" in line else None
            elif columns and line.startswith("    "):
                columns = self.take(line, columns, rows)
            else:
                columns = None
        for row in rows:
            value = WORDS.get(row["value"], row["value"])
            row["value"] = row["target"] = BESIDE.sub("", value)
        return rows

    @staticmethod
    def take(line, columns, rows):
        """A line of a section: a row, the rest of one that is wrapped, a note below it, or the footer, which ends the rows."""
        first, second, third = columns
        number, title, value = line[:first].strip(), line[first:second].strip(), line[second:third].strip()
        if number.isdigit():
            rows.append({"number": number, "title": title, "value": value, "notes": ""})
        elif number:
            return None
        elif line[first:first + 2] == "  " and line[first + 2] != " ":
            rows[-1]["notes"] = f"{rows[-1]['notes']} {line.strip()}".strip()
        else:
            for name, text in (("title", title), ("value", value)):
                rows[-1][name] = f"{rows[-1][name]} {text}".strip()
        return columns

    def number(self, title):
        self.until(lambda: self.row(title) is not None, True, f"that there is {title}")
        return self.row(title)["number"]

    def options(self, title):
        row = self.row(title)
        text = self.type(row["number"]) if row else None
        return [line.strip().split("  ", 1)[1] for line in (text or "").splitlines()]

    def titles(self):
        return [found.group(2) for line in self.shown if (found := ITEM.match(line))]

    # MARK: what a person types

    def set(self, title, text):
        self.change(f"{self.number(title)} {text}")

    def refuse(self, title, text, why):
        before = self.row(title)
        said = self.type(f"{self.number(title)} {text}")
        if said is None or why not in said:
            raise Wrong(f"{said}")
        self.look()
        if self.row(title) != before:
            raise Wrong(f"the row is {self.row(title)} now")

    def empty(self, title):
        self.change(f"empty {self.number(title)}")

    def reset(self, title):
        self.change(f"reset {self.number(title)}")

    def press(self, title, answer):
        said = self.type(self.number(title))
        if said is None or answer not in said:
            raise Wrong(f"the answer is {said}")

    def elsewhere(self, title, text):
        other = Terminal(self.command, self.place)
        other.set(title, text)
        other.end()

    def open(self, title):
        self.change(self.number(title))

    def list(self, title):
        self.change(self.number(title))

    def item(self, number):
        self.change(number)

    def back(self):
        self.change("back")

    def add(self):
        self.change("add")

    def cancel(self):
        self.change("cancel")

    def done(self):
        self.change("done")

    def up(self, number):
        self.change(f"up {number}")

    def delete(self, number):
        said = self.type(f"delete {number}")
        if said is None or "with all of its values." not in said:
            raise Wrong(f"the question is {said}")
        said = self.type("no")
        if said is None or "Nothing was changed." not in said:
            raise Wrong(f"no changes something: {said}")
        self.type(f"delete {number}")
        self.change("yes")

    def fail(self):
        print("\n".join(self.shown), file=sys.stderr)
