"""Pictures of the console for the README: the front page of one console, and a page of an app at another.

    pictures.py FRONT-ADDRESS APP-ADDRESS APP FOLDER
"""
import sys
from pathlib import Path

from chromium import Driver

LIMIT = 150 * 1024


# The lower edge of the last part that is whole on a screen of some height.
EDGE = """
const parts = [...document.querySelectorAll(".scroll, .row, fieldset, dl, main > p, main > form")];
const edges = parts.map((part) => part.getBoundingClientRect().bottom).filter((edge) => edge <= arguments[0]);
return Math.ceil(Math.max(...edges)) + 16;
"""


def take(driver, folder, name, width):
    driver.size(width, 1000)
    driver.size(width, driver.run(EDGE, 1000))
    driver.picture(folder, name)
    size = (folder / f"{name}.png").stat().st_size
    assert size < LIMIT, f"{name}.png has {size} bytes"


def main(front, console, app, folder):
    folder = Path(folder)
    driver = Driver()
    try:
        driver.enter(front)
        take(driver, folder, "console", 1100)
        driver.go(f"{driver.enter(console)}/apps/{app}")
        take(driver, folder, "settings", 800)
    finally:
        driver.end()


main(*sys.argv[1:])
