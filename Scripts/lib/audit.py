"""Accessibility audit of the pages that a browser shows, by axe-core, for Scripts/browser: in light, in dark and at
320 px. The driver brings axe-core in, because no page of the console lets a foreign script run."""
from pathlib import Path

VIEWS = [("light", False, 1024), ("dark", True, 1024), ("320 px", False, 320)]

# All rules of axe-core: WCAG A and AA, and its best practices. Closed parts would not be judged: they are open meanwhile.
RUN = """
const closed = [...document.querySelectorAll("details:not([open])")];
for (const part of closed) part.open = true;
const answer = arguments[arguments.length - 1];
const done = (problems) => {
  for (const part of closed) part.open = false;
  answer(problems);
};
const text = (node) => `${node.target.join(" ")}: ${[...node.any, ...node.all, ...node.none].map((it) => it.message)}`;
axe.run(document, { resultTypes: ["violations"] }).then(
  (found) => done(found.violations.map((rule) => `${rule.id}: ${rule.nodes.map(text).join("; ")}`)),
  (error) => done([`axe-core: ${error}`]));
"""


class Audit:
    """The audit of one browser's pages; of none without axe-core."""

    def __init__(self, driver, script):
        self.driver = driver
        self.script = script and Path(script).read_text()

    def problems(self):
        """What is wrong with the page as it is shown, a line for each rule and view."""
        if not self.script:
            return []
        if self.driver.run("return typeof axe === 'undefined'"):
            self.driver.run(self.script)
        found = []
        for view, is_dark, width in VIEWS:
            self.driver.size(width, 900)
            self.driver.dark(is_dark)
            found += [f"{view}: {problem}" for problem in self.driver.run_later(RUN)]
        self.driver.size(1024, 900)
        self.driver.dark(False)
        return found
