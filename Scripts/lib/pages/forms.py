"""The console's pages in Chromium as a renderer. A person has the keyboard alone: Tab to what is meant, which shows that it
has the focus, and the keys of its kind. Each page is looked at once: by axe-core, at 320 px, and as pictures."""
import re

from chromium import ENTER
from steps import Renderer, Wrong

TAB, SPACE, HOME, DELETE = "\ue004", " ", "\ue011", "\ue017"
LEFT, UP, RIGHT, DOWN, CONTROL = "\ue012", "\ue013", "\ue014", "\ue015", "\ue009"

ROWS = """
const text = (node) => node ? node.textContent.trim() : "";
function value(row) {
  const box = row.querySelector("input[type=checkbox]");
  if (box) return box.checked ? "on" : "off";
  const chosen = row.querySelector("input[type=radio]:checked");
  if (row.querySelector("input[type=radio]")) return chosen ? text(chosen.parentNode) : "";
  if (row.querySelector("input[type=password]")) return "<redacted>";
  const menu = row.querySelector("select");
  if (menu) return text(menu.selectedOptions[0]);
  const field = row.querySelector("input:not([type=hidden]), textarea");
  if (field) return field.value;
  return text(row.querySelector("output") ?? row.querySelector(":scope > p:not(.target)"));
}
return [...document.querySelectorAll(".row")].map((row) => ({
  id: row.id, title: text(row.querySelector(".title") ?? row.querySelector("a, button")), value: value(row),
  notes: text(row.querySelector(".notes")),
  target: row.querySelector(":scope > a[rel=noreferrer]") ? text(row.querySelector(".target")) : null,
}));
"""

# The request of a form with a text that no control of the browser lets through.
FORGE = """
const [key, text] = arguments;
const form = document.querySelector("#draft") ?? document.querySelector("#values");
for (const control of form.querySelectorAll(`[name="v.${key}"]`)) control.remove();
const field = document.createElement("input");
field.name = `v.${key}`;
field.value = text;
form.append(field);
form.noValidate = true;
form.requestSubmit();
"""

# The stops of Tab up to a control, as far as the page says: a date has more of them.
STOPS = """
const stops = [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary, [tabindex]")]
  .filter((it) => !it.disabled && it.checkVisibility() && (it.type !== "radio" || it.checked || it.matches(arguments[0])))
  .filter((it) => it.tabIndex >= 0 || it === document.activeElement);
const active = document.activeElement;
return Math.max(0, stops.findIndex((it) => it.matches(arguments[0])) - stops.indexOf(active));
"""

CONTROL_OF = "#{} :is(input:not([type=hidden]), select, textarea)"


class Forms(Renderer):
    """The pages of one app at one console."""

    def __init__(self, driver, audit, page, place, seen, folder=None):
        self.driver, self.audit, self.place, self.seen, self.folder = driver, audit, place, seen, folder
        self.places = {"console", place}
        self.listed = None
        driver.size(1024, 900)
        driver.go(page)
        self.arrive()

    # MARK: what is seen

    def rows(self):
        return self.driver.run(ROWS)

    def look(self):
        # An open page follows by itself; one that lacks the running app's answer was made without it.
        if self.driver.run("return document.querySelector('#running') !== null"):
            self.driver.go(self.driver.run("return location.href"))

    def options(self, title):
        row = self.row(title)
        return row and self.driver.run(
            "return [...document.querySelectorAll(arguments[0])].map((it) => it.textContent.trim())",
            f"#{row['id']} :is(option, .radio label)")

    def titles(self):
        return self.driver.run("return [...document.querySelectorAll(arguments[0])].map((it) => it.textContent)",
                               f"#{self.listed} .list li > :is(a, bdi)")

    def arrive(self):
        """Another page is shown."""
        if not self.driver.wait("document.readyState === 'complete' && document.querySelector('h1') !== null"):
            raise Wrong("no page comes")
        address, is_refused = self.driver.run("return [location.pathname, document.querySelector('#mistakes') !== null]")
        kind = re.sub(r"\d+$", "N", address.split("/apps/")[1].partition("/")[2]) or f"Root, {self.place}"
        kind += " refused" if is_refused else ""
        if kind in self.seen:
            return
        self.seen.add(kind)
        name = re.sub(r"[^A-Za-z]+", "-", kind)
        problems = self.audit.problems()
        if problems:
            raise Wrong("\n".join([f"axe-core about {kind}: {len(problems)} problems", *problems]))
        self.picture(name, 1024)
        self.driver.size(320, 640)
        width = self.driver.run("return document.documentElement.scrollWidth")
        self.picture(f"{name}-narrow", 320)
        self.driver.size(1024, 900)
        if width > 320:
            raise Wrong(f"{kind} has {width} px at 320")

    def picture(self, name, width):
        """The whole page."""
        if self.folder:
            self.driver.size(width, self.driver.run("return document.documentElement.scrollHeight"))
            self.driver.picture(self.folder, name)

    # MARK: the keyboard

    def keys(self, *keys, held=None):
        """Presses keys one after the other, all of them while another one is held."""
        if not keys:
            return
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        if held:
            strokes = [{"type": "keyDown", "value": held}, *strokes, {"type": "keyUp", "value": held}]
        self.driver.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def reach(self, css):
        """Goes to a control by Tab, as far as there is one, and proves that the focus is seen."""
        if not self.driver.wait("document.querySelector(arguments[0]) !== null", css):
            raise Wrong(f"there is no {css}")
        self.keys(*[TAB] * self.driver.run(STOPS, css))
        for _ in range(200):
            state = self.driver.run("""
                const active = document.activeElement;
                return active.matches(arguments[0]) ? getComputedStyle(active).outlineStyle : null;""", css)
            if state == "none":
                raise Wrong(f"the focus at {css} is not seen")
            if state:
                return
            self.keys(TAB)
        raise Wrong(f"Tab does not reach {css}")

    def leave(self, act):
        """Does what leads to another page."""
        self.driver.run("window.isOld = true")
        act()
        if not self.driver.wait("window.isOld === undefined"):
            raise Wrong("the page stays")
        self.arrive()

    def follow(self, css):
        self.reach(css)
        self.leave(lambda: self.keys(ENTER))

    def control(self, title):
        self.until(lambda: self.row(title) is not None, True, f"that there is {title}")
        css = CONTROL_OF.format(self.row(title)["id"])
        kind = self.driver.run("const it = document.querySelector(arguments[0]); return it && (it.type ?? '')", css)
        if not kind:
            raise Wrong(f"{title} has no control")
        return css, kind

    def enter(self, title, text):
        """Types a value, and returns whether Enter in the control sends the form."""
        css, kind = self.control(title)
        if kind == "radio":
            css += ":checked"
        self.reach(css)
        value = self.part(title, "value")
        if kind == "checkbox":
            if value != text:
                self.keys(SPACE)
        elif kind == "range":
            steps = int(text) - int(value)
            self.keys(*[RIGHT if steps > 0 else LEFT] * abs(steps))
        elif kind == "radio":
            options = self.options(title)
            steps = options.index(text) - options.index(value)
            self.keys(*[DOWN if steps > 0 else UP] * abs(steps))
        elif kind == "select-one":
            self.keys(*text)
        elif kind == "date":
            year, month, day = text.split("-")
            self.keys(*month, *day, *year)
        elif kind == "time":
            hour, minute = text.split(":")
            self.keys(*f"{(int(hour) + 11) % 12 + 1:02}", *minute, "P" if int(hour) > 11 else "A")
        else:
            self.keys("a", held=CONTROL)
            self.keys(*(text or DELETE))
        if kind != "password" and self.part(title, "value") != text:
            raise Wrong(f"{title} is {self.part(title, 'value')!r} when it is typed")
        return kind not in ("select-one", "textarea")

    def is_draft(self):
        return self.driver.run("return document.querySelector('#draft') !== null")

    # MARK: what a person does

    def set(self, title, text):
        is_sent = self.enter(title, text)
        if self.is_draft():
            return
        if not is_sent:
            self.reach("#values > p > button")
        self.leave(lambda: self.keys(ENTER))
        mistakes = self.driver.run("return document.querySelector('#mistakes')?.textContent ?? null")
        if mistakes:
            raise Wrong(mistakes)

    def empty(self, title):
        self.set(title, "")

    def refuse(self, title, text, why):
        key, before = title.lower(), self.row(title)
        address, is_draft = self.driver.run("return location.href"), self.is_draft()
        self.leave(lambda: self.driver.run(FORGE, key, text))
        status, said = self.driver.run("""return [performance.getEntriesByType("navigation")[0].responseStatus,
            document.querySelector("#mistakes")?.textContent ?? ""]""")
        if not 400 <= status < 500 or why not in said:
            raise Wrong(f"{status} {said!r}")
        if is_draft:
            self.driver.run("const it = document.querySelector(arguments[0]); it.value = arguments[1];",
                            CONTROL_OF.format(before["id"]), before["value"])
            return
        self.driver.go(address)
        self.arrive()
        self.until(lambda: self.row(title), before, title)

    def reset(self, title):
        self.follow(f"#{self.row(title)['id']} button[name=reset]")

    def press(self, title, answer):
        self.until(lambda: self.row(title) is not None, True, f"that there is {title}")
        self.follow(f"#{self.row(title)['id']} button[name=press]")
        said = self.driver.run("return document.querySelector('#news, [role=alert]')?.textContent ?? ''")
        if answer not in said:
            raise Wrong(f"the answer is {said!r}")

    def elsewhere(self, title, text):
        """Another window edits, and this one follows by itself."""
        address = self.driver.run("return location.href")
        first = self.driver.call("GET", "/window")
        second = self.driver.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.driver.call("POST", "/window", {"handle": second})
        self.driver.size(1024, 900)
        self.driver.go(address)
        self.set(title, text)
        self.driver.call("DELETE", "/window")
        self.driver.call("POST", "/window", {"handle": first})

    def keeps(self, title, text, other):
        """A text that is typed and not sent stays when another window edits the value; the row says what that one is."""
        self.enter(title, text)
        self.elsewhere(title, other)
        if not self.driver.wait("document.getElementById(arguments[0]).querySelector('.notes').textContent"
                                ".includes(`Changed elsewhere: ${arguments[1]}.`)", self.row(title)["id"], other):
            raise Wrong(f"{title} does not say that it was changed: {self.part(title, 'notes')!r}")
        if self.part(title, "value") != text:
            raise Wrong(f"{title} is {self.part(title, 'value')!r}")
        # The driver answers the question about unsaved text by itself.
        self.driver.go(self.driver.run("return location.href"))
        self.arrive()

    def open(self, title):
        self.until(lambda: self.row(title) is not None, True, f"that there is {title}")
        self.follow(f"#{self.row(title)['id']} > a")

    def back(self):
        if self.listed and not self.is_draft():
            self.listed = None
            return
        self.follow("nav[aria-label='Pages of the app'] li:last-child a")

    def list(self, title):
        self.listed = self.row(title)["id"]

    def add(self):
        self.follow(f"#{self.listed} .list > a")

    def item(self, number):
        self.follow(f"#{self.listed} .list li:nth-child({number}) > a")

    def cancel(self):
        self.follow("#draft p a")

    def done(self):
        self.follow("#draft button[type=submit]")
        mistakes = self.driver.run("return document.querySelector('#mistakes')?.textContent ?? null")
        if mistakes:
            raise Wrong(mistakes)

    def up(self, number):
        self.follow(f"#{self.listed} .list li:nth-child({number}) [name=item-up]")

    def delete(self, number):
        item = f"#{self.listed} .list li:nth-child({number})"
        if self.driver.run("return document.querySelector(arguments[0]).checkVisibility()", f"{item} [name=item-remove]"):
            raise Wrong("an item is deleted without a question")
        self.reach(f"{item} summary")
        self.keys(ENTER)
        self.follow(f"{item} [name=item-remove]")

    def fail(self):
        self.driver.picture(self.folder, "failed")
        print(self.driver.run("return document.body.innerText"))
