"""A walk over the pages of a running console in a real browser, for Scripts/browser.

    browser.py [--axe FILE] [--primary ADDRESS --join COMMAND] [--apply COMMAND] [--spare ADDRESS --daemon COMMAND]
        ADDRESS APP KEY [FOLDER]

FILE is axe-core's script, which audits each kind of page. The page of pairing is that of a primary's console; the command
of --join reads a join link and joins with it. That of --apply signs the app's colour as #eeeeee. That of --daemon is the
daemon `spare` of another console, which runs without it. Exit code 0: every step has happened.
"""
import argparse
import shlex
import subprocess
import time
from pathlib import Path

from audit import VIEWS, Audit
from chromium import ENTER, Driver


def check(condition, what):
    print(("ok      " if condition else "FAILED  ") + what)
    if not condition:
        raise SystemExit(1)


def judge(audit, name):
    """The accessibility of the page that is shown."""
    problems = audit.problems()
    check(not problems, "\n".join([f"axe-core about the {name}: {len(problems)} problems", *problems]))


def enter(driver, address):
    origin = driver.enter(address)
    check(driver.run("return location.hash") == "", "the token is gone from the address")
    return origin


def prove(driver, audit):
    """A field without a name and a text that nobody can read, put into the page, are found in every view."""
    if not audit.script:
        return
    driver.run("document.querySelector('main').insertAdjacentHTML('beforeend', '<input id=planted>');"
               "document.querySelector('h1').style.color = '#888'; document.querySelector('h1').style.background = '#777'")
    found = audit.problems()
    check(all(sum(f"{view}: {rule}" in problem for problem in found) == 1
              for view, _, _ in VIEWS for rule in ("label", "color-contrast")), "axe-core finds what is planted")


def walk(driver, audit, address, app, key, folder):
    driver.size(1024, 900)
    driver.go(address.split("#")[0] + "apps")
    judge(audit, "entry")
    prove(driver, audit)
    origin = enter(driver, address)
    for place in ("/", "/apps"):
        driver.go(f"{origin}{place}#{'a0' * 16}")
        check(driver.wait("location.href === arguments[0]", origin + place),
              f"{place}: a browser that is in leaves an unused token in no address")
    page = f"{origin}/apps/{app}"
    field = f'[name="v.{key}"]:not([type=hidden])'
    driver.go(f"{origin}/")
    driver.picture(folder, "front")
    judge(audit, "front page")
    driver.go(f"{origin}/apps")
    driver.picture(folder, "apps")
    judge(audit, "apps")
    driver.go(page)
    driver.picture(folder, "settings")
    judge(audit, "settings page")
    driver.run("for (const part of document.querySelectorAll('details')) part.open = true")
    unnamed = [control for control in driver.all("input:not([type=hidden]), select, textarea, button, a, summary")
               if not driver.call("GET", f"/element/{control}/computedlabel")]
    check(not unnamed, "every control has a name for a screen reader")
    other = driver.run("return document.querySelector(arguments[0]).value", field) != "41"
    value = "41" if other else "42"
    type_value(driver, field, value)
    driver.keys(driver.find(field), ENTER)
    check(driver.wait("document.querySelector(arguments[0]).value === arguments[1] && document.readyState === 'complete'",
                      field, value), "a value was edited by keyboard")
    exact(driver, key, field)
    driver.run("const f = document.querySelector(arguments[0]); f.type = 'text'; f.removeAttribute('max');"
               "f.value = '100000'; f.form.noValidate = true; f.form.requestSubmit();", field)
    check(driver.wait("document.querySelector('#mistakes') !== null"), "a mistake is refused without the browser's checks")
    check(driver.wait("document.querySelector('.notes .mistake')?.textContent.includes('over the maximum')"),
          "the text stands beside the field")
    driver.picture(folder, "mistake")
    judge(audit, "form with a mistake")
    load_changed(driver, "")
    check(driver.run("return document.querySelector('.row .mistake')?.textContent.includes('over the maximum')"
                     "&& document.querySelector(arguments[0]).value === '100000'", field),
          "it stays there with the refused text when the page loads itself again")
    links(driver, field)
    live(driver, page, field)
    moved(driver, page, field)
    connections(driver, page)
    items(driver, audit, page, folder)
    appearance(driver, origin, page, folder)


def type_value(driver, field, value):
    """A number or a slider gets its value as a person's edit."""
    driver.run("const f = document.querySelector(arguments[0]); f.focus(); f.value = arguments[1];"
               "f.dispatchEvent(new Event('input', {bubbles: true}));", field, value)


def exact(driver, key, field):
    """A slider's number is typed; nothing for a number without a slider."""
    number = f'[name="n.{key}"]'
    if not driver.all(number):
        print("-       the number has no slider")
        return
    for value, is_script in (("37", True), ("38", False)):
        driver.scripts(is_script)
        driver.go(driver.run("return location.href"))
        driver.run("document.querySelector(arguments[0]).value = ''", number)
        driver.keys(driver.find(number), value)
        if is_script:
            check(driver.run("return document.querySelector(arguments[0]).value", field) == value,
                  "a slider follows its typed number")
        driver.run("window.isOld = true")
        driver.keys(driver.find(number), ENTER)
        check(driver.wait("window.isOld === undefined && document.querySelector(arguments[0])?.value === arguments[1]",
                          field, value), f"a slider's typed number counts, {'with' if is_script else 'without'} a script")
    driver.scripts(True)


def asks(driver):
    """Whether the browser asks before the page is left. The driver would answer the question by itself."""
    return driver.run("""
        const leaving = new Event("beforeunload", {cancelable: true});
        dispatchEvent(leaving);
        return leaving.defaultPrevented;""")


def stream(driver):
    """The address of the page's stream."""
    return driver.run("return document.querySelector('[data-events]').dataset.events")


def first_event(driver, address):
    """The name of the first event of a stream."""
    return driver.run_later("""
        const [address, done] = arguments;
        const stream = new EventSource(address);
        for (const name of ["settings", "current", "silent"]) {
          stream.addEventListener(name, () => { stream.close(); done(name); });
        }""", address)


def live(driver, page, field):
    driver.go(page)
    before = stream(driver)
    first = driver.call("GET", "/window")
    second = driver.call("POST", "/window/new", {"type": "tab"})["handle"]
    driver.call("POST", "/window", {"handle": second})
    driver.go(page)
    time.sleep(1)
    type_value(driver, field, "33")
    driver.run("document.querySelector('#values').requestSubmit()")
    driver.call("POST", "/window", {"handle": first})
    check(driver.wait("document.querySelector(arguments[0]).value === '33'", field), "an open page has another one's edit")
    check(first_event(driver, before) == "settings", "a stream that begins after a change says so at once")
    check(not asks(driver), "a page without unsaved text does not ask before it is left")
    type_value(driver, field, "12")
    check(asks(driver), "one with unsaved text asks")
    driver.call("POST", "/window", {"handle": second})
    driver.go(page)
    type_value(driver, field, "34")
    driver.run("document.querySelector('#values').requestSubmit()")
    driver.call("POST", "/window", {"handle": first})
    time.sleep(2)
    check(driver.run("return document.querySelector(arguments[0]).value", field) == "12",
          "a field that is being edited is not overwritten")
    check("Changed elsewhere: 34." in driver.run(
        "return document.querySelector(arguments[0]).closest('.row').querySelector('.notes').textContent", field),
        "its row says the value that another one has saved")
    type_value(driver, field, "33")
    driver.call("POST", "/window", {"handle": second})
    driver.call("DELETE", "/window")
    driver.call("POST", "/window", {"handle": first})


def load_changed(driver, change):
    """The page loads itself again, and gets an answer that a script has changed: `next` is its document. Returns the
    address of the stream by which the page follows then."""
    return driver.run_later("""
        const [done] = arguments, unchanged = window.fetch;
        window.fetch = async (...request) => {
          window.fetch = unchanged;
          const answer = await unchanged(...request);
          const next = new DOMParser().parseFromString(await answer.text(), "text/html");
          %s
          return new Response(`<!DOCTYPE html>${next.documentElement.outerHTML}`, { status: answer.status });
        };
        isLeaving = false;
        due = 0;
        Promise.resolve(decide()).then(() => done(stream?.url));""" % change)


# Another release of the app has an entry more before all others.
RELEASE = """
for (const it of next.querySelectorAll("#values *")) {
  for (const { name, value } of [...it.attributes]) {
    if (name !== "value") it.setAttribute(name, value.replace(/\\b([rf])-(\\d+)/g, (_, of, number) => `${of}-${+number + 1}`));
  }
}
next.querySelector("#values fieldset").insertAdjacentHTML("afterbegin", `
  <div class="row" id="r-0" data-key=".fresh"><label class="title" for="f-0">Fresh</label>
  <input type="hidden" name="b.fresh" value="new"><input id="f-0" name="v.fresh" value="new" aria-describedby="r-0-notes">
  <div id="r-0-notes" class="notes"></div></div>`);
"""


def moved(driver, page, field):
    """What a person has typed stays with its property, wherever the app has the row by then, and if it has none."""
    driver.go(page)
    type_value(driver, field, "12")
    there = """
        const it = document.querySelector(arguments[0]), row = it.closest(".row");
        const notes = document.getElementById(it.getAttribute("aria-describedby").split(" ").at(-1));
        return [document.querySelectorAll(arguments[0]).length, it.value, row.contains(notes), it.id, row.matches(".gone"),
            row.textContent.includes("not on the page now"), document.activeElement === it,
            document.querySelector("#f-0")?.name, document.querySelectorAll("#" + row.id).length];"""
    before = driver.run(there, field)
    check(before[:3] == [1, "12", True], "a text is typed")
    load_changed(driver, RELEASE)
    after = driver.run(there, field)
    check(after[3] == f"f-{int(before[3][2:]) + 1}" and after[:3] + after[4:] == [
        1, "12", True, False, False, True, "v.fresh", 1], "it stays in its row when another release has rows before it")
    check(driver.run("return document.querySelector('#news').textContent") == "Fresh: changed.",
          "the page says which row is new, and of no other that it was changed")
    load_changed(driver, f"next.querySelector({field!r}).closest('.row').remove();")
    kept = field.replace('"v.', '"v2048.')
    gone = driver.run(there, kept)
    check(gone[:3] + gone[4:7] == [1, "12", True, True, True, True], "it stays, with a note, when its row is gone")
    check(gone[8] == 1 and asks(driver), "and the page asks before it is left")
    load_changed(driver, "")
    check(driver.run(there, field) == before, "its row takes it again")
    load_changed(driver, f"next.querySelector({field!r}).closest('.row').dataset.key += '!';")
    names = driver.run("""
        const form = document.querySelector("#values");
        return [new FormData(form).getAll(document.querySelector(arguments[0]).name).length,
            form.querySelector(arguments[1]).value];""", field, kept.replace("2048", "2049"))
    check(names == [1, "12"], "a row that is gone has no field of the row that has its key")
    driver.run("document.querySelector('#values').requestSubmit()")
    check(driver.wait("document.querySelector('#mistakes')?.textContent.includes('The page has no field')"),
          "and a form with it is refused")


def links(driver, field):
    """The link of a mistake leads to its field, wherever the app has the row by then."""
    there = """
        const link = document.querySelector("#mistakes a").getAttribute("href");
        return [link, `#${document.querySelector(arguments[0]).id}`];"""
    before = driver.run(there, field)
    load_changed(driver, RELEASE)
    after = driver.run(there, field)
    check(before[0] == before[1] != after[1] == after[0], "the link of a mistake moves with its row")
    load_changed(driver, f"next.querySelector({field!r}).closest('.row').remove();")
    gone = driver.run(there, field.replace('"v.', '"v2048.'))
    check(gone[0] == gone[1] == "#f-2048", "also to where a row that is gone is kept")
    load_changed(driver, "")
    check(driver.run(there, field) == before, "and back")
    load_changed(driver, "for (const row of document.querySelectorAll('.row')) delete row.dataset.typed;"
                         f"next.querySelector({field!r}).closest('.row').remove();")
    check(driver.run("return document.querySelector('#mistakes a').hash") == "#f-", "nowhere while there is no row")
    load_changed(driver, "")
    check(driver.run(there, field) == before, "and to the row that comes again")


def connections(driver, page):
    """A page has one connection: a browser has six for one console."""
    driver.go(page)
    is_open = "stream?.readyState === EventSource.OPEN"
    check(driver.wait(is_open), "a page follows by a stream")
    url = load_changed(driver, "document.title = stream; next.querySelector('#values').dataset.events += '-';"
                               "next.querySelector('#facts').innerHTML = '<p id=running data-passing>';")
    check(driver.run("return document.title") == "null", "which it ends before it loads itself")
    check(url.endswith("-"), "and begins again with the mark of the page that came")
    check(driver.wait("!document.querySelector('#running')"), "it loads itself again while the running app does not answer")
    load_changed(driver, "next.querySelector('#facts').innerHTML = '<p id=running>';")
    check(driver.wait("due === Infinity && pause === 1000"), "and not because the app does not run")
    load_changed(driver, "next.querySelector('#values').dataset.events = '/refused';")
    check(driver.wait(f"{is_open} && !stream.url.endsWith('/refused')"), "it tries again when its stream is refused")
    hide = """
        const hide = (isHidden) => {
          Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
          dispatchEvent(new Event("visibilitychange"));
          return stream !== null;
        };"""
    check(driver.run(hide + "return !hide(true) && hide(false);"), "it has no stream while nobody sees it")
    # What it has before and after it is hidden and seen, and after a while.
    leave = hide + """
        const [isSent, done] = arguments, has = () => stream !== null || loading !== null;
        due = 0;
        decide();
        const { signal } = loading;
        if (isSent) document.querySelector("#values").dispatchEvent(new Event("submit", { bubbles: true }));
        dispatchEvent(new Event("beforeunload"));
        const found = [signal.aborted, has()];
        hide(true);
        hide(false);
        found.push(has());
        setTimeout(() => done([...found, has()]), 1500);"""
    check(driver.run_later(leave, False) == [True, False, False, True], "it has one again when a person stays")
    check(driver.run_later(leave, True) == [True, False, False, False],
          "and none, and no load, while a form that it has sent has no answer, also when it is hidden and seen again")
    driver.run("navigation.dispatchEvent(new Event('navigateerror'))")
    check(driver.wait(is_open), "it follows at once when the form is given up")
    driver.run("""
        const own = setTimeout;
        window.setTimeout = (what, time) => own(what, time < 30000 ? time : time / 30);
        document.querySelector("#values").dispatchEvent(new Event("submit", { bubbles: true }));
        dispatchEvent(new Event("beforeunload"));""")
    stale = "document.querySelector('#stale').textContent"
    check(driver.wait(f"{stale}.startsWith('Not up to date since')"), "it says so when the form has no answer for long")
    check(driver.wait(f"{is_open} && {stale} === ''"), "and follows again in the end")
    driver.run_later("window.fetch = () => Promise.reject(); due = 0; decide().then(arguments[0]);")
    check(driver.run(f"return {stale}").startswith("Not up to date since"),
          "it says so when it cannot be loaded again")


def lock(driver, audit, page, command):
    """A signed value takes the place of what a person is typing, and the page says so."""
    field = "[name='v.colour']:not([type=hidden])"
    driver.go(page)
    type_value(driver, field, "#123456")
    # Its name goes with the lock.
    field = "#" + driver.run("return document.querySelector(arguments[0]).id", field)
    subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL)
    signed = "(it => it.readOnly && it.value === '#eeeeee')(document.querySelector(arguments[0]))"
    check(driver.wait(signed, field), "a row that is signed meanwhile shows the signed value")
    check(driver.run("""
        const it = document.querySelector(arguments[0]);
        const reason = it.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).textContent);
        return !it.name && !it.disabled && it.tabIndex === 0 && reason.join(" ").includes("signed configuration");""", field),
        "its field can be reached, has the reason, and is sent by no form")
    check("what was typed is dropped" in driver.run("return document.querySelector('#news').textContent"),
          "the page says that the typed text is dropped")
    check(driver.run("return document.activeElement.matches('.row')"), "the focus stays at the row")
    check("Configuration 3" in driver.run("return document.querySelector('#facts').textContent"),
          "the head of the page has the new configuration")
    check(not asks(driver), "nothing is left that could be lost")
    judge(audit, "page with a row that was locked")


def away(driver, audit, address, command):
    """A front page follows a daemon that comes and goes."""
    driver.go(f"{enter(driver, address)}/")
    check(driver.run("return document.querySelectorAll('#live .mistake').length") == 1,
          "a page without a daemon says so once")
    stale = "document.querySelector('#stale').textContent"
    for what in ("comes", "comes back"):
        daemon = subprocess.Popen(shlex.split(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            check(driver.wait(f"document.querySelector('h1').textContent === 'spare' && {stale} === ''"),
                  f"the page follows by itself when the daemon {what}")
        finally:
            daemon.terminate()
            daemon.wait()
        check(driver.wait(f"{stale}.startsWith('Not up to date since')"), "it says so when the daemon is gone")
    judge(audit, "front page without its daemon")


def items(driver, audit, page, folder):
    """Drafts of the first list that a page has, without scripts; nothing for an app without a list."""
    new = 'a[href*="/lists/"][href$="/new"]'
    places = [page] + driver.run("return [...document.querySelectorAll('a[href*=\"/pages/\"]')].map((a) => a.href)")
    for place in places:
        driver.go(place)
        if driver.all(new):
            break
    else:
        print("-       no page of the app has a list")
        return
    driver.click(new)
    check(driver.wait("document.querySelector('#draft') !== null"), "a draft begins")
    judge(audit, "draft")
    driver.go(place)
    driver.scripts(False)
    rows = "document.querySelectorAll('.list li').length"
    before = driver.run(f"return {rows}")
    driver.click(new)
    unnamed = [control for control in driver.all("main input:not([type=hidden]), main select, main button, main a")
               if not driver.call("GET", f"/element/{control}/computedlabel")]
    check(not unnamed, "every control of a draft has a name for a screen reader")
    driver.picture(folder, "draft")
    narrow(driver, folder, "draft")
    driver.click("#draft p a")
    check(driver.wait(f"location.href.split('#')[0] === arguments[0] && {rows} === {before}", place),
          "Cancel stores nothing")
    for count in (before + 1, before + 2):
        driver.click(new)
        check(driver.wait("document.querySelector('#draft') !== null"), "a draft begins")
        driver.keys(driver.find("#draft input[name^='v.'][type=text]"), "!")
        driver.click("#draft button[type=submit]")
        check(driver.wait(f"{rows} === {count}"), "Done adds an item, without a script")
    driver.click(".list li:last-child a")
    check(driver.wait("document.querySelector('#draft') !== null"), "a draft of an item begins")
    driver.keys(driver.find("#draft input[name^='v.'][type=text]"), f" again{ENTER}")
    last = '(document.querySelector(".list li:last-child bdi")?.textContent ?? "").endsWith("again")'
    check(driver.wait(last), "an item is changed by keyboard")
    driver.click('.list li:last-child [name="item-up"]')
    check(driver.wait(f"document.querySelector('.list') && !{last}"), "an item is moved")
    driver.picture(folder, "list")
    narrow(driver, folder, "list")
    driver.scripts(True)
    judge(audit, "list")
    driver.scripts(False)
    for left in (before + 1, before):
        delete_last(driver)
        check(driver.wait(f"document.querySelector('.list') && {rows} === {left}"), "an item is deleted")
    driver.scripts(True)
    driver.go(place)
    first = driver.call("GET", "/window")
    second = driver.call("POST", "/window/new", {"type": "tab"})["handle"]
    driver.call("POST", "/window", {"handle": second})
    driver.go(place)
    driver.click(new)
    check(driver.wait("document.querySelector('#draft') !== null"), "a draft begins")
    driver.click("#draft button[type=submit]")
    driver.call("POST", "/window", {"handle": first})
    check(driver.wait(f"{rows} === {before + 1}"), "an open page has a new item")
    driver.call("POST", "/window", {"handle": second})
    check(driver.wait(f"{rows} === {before + 1}"), "so has the page of the person who made it")
    delete_last(driver)
    driver.call("DELETE", "/window")
    driver.call("POST", "/window", {"handle": first})


def delete_last(driver):
    """The question and then the button, also without scripts."""
    driver.click(".list li:last-child summary")
    check(driver.wait("document.querySelector('.list li:last-child [name=item-remove]').checkVisibility()"),
          "the deletion of an item asks first")
    driver.click('.list li:last-child [name="item-remove"]')


def narrow(driver, folder, name):
    driver.size(320, 640)
    wide = driver.run("return document.documentElement.scrollWidth")
    driver.picture(folder, f"{name}-narrow")
    check(wide <= 320, f"{name}: no sideways scrolling at 320 px ({wide} px)")
    driver.size(1024, 900)


def pairing(driver, audit, address, join, folder):
    """A link that a primary's page makes is used by a real secondary, and another one is taken back without scripts."""
    origin = enter(driver, address)
    driver.go(f"{origin}/pair")
    judge(audit, "page of pairing")
    driver.click("#make")
    check(driver.wait("document.querySelector('.secret svg path') !== null"), "a join link is shown and drawn as a code")
    check(driver.run("return location.href") == f"{origin}/pair", "the address has nothing of it")
    judge(audit, "join link")
    driver.picture(folder, "link")
    narrow(driver, folder, "link")
    driver.dark(True)
    driver.picture(folder, "link-dark")
    driver.dark(False)
    link = driver.run("return document.querySelector('.secret code').textContent")
    subprocess.run(shlex.split(join), input=link, text=True, check=True, stdout=subprocess.DEVNULL)
    used = "document.querySelector('#live').textContent.includes('was used by')"
    check(driver.wait(used), "the page says which device has used it")
    driver.scripts(False)
    driver.go(f"{origin}/pair")
    driver.click("#make")
    check(driver.wait("document.querySelectorAll('#live form').length === 1"), "another link is made without a script")
    driver.picture(folder, "pairing")
    driver.click("#live form button")
    check(driver.wait("document.querySelector('#make') && !document.querySelector('#live form')"), "it is taken back")
    driver.scripts(True)


def appearance(driver, origin, page, folder):
    for name, path in (("front", origin + "/"), ("settings", page)):
        driver.go(path)
        narrow(driver, folder, name)
        driver.dark(True)
        driver.picture(folder, f"{name}-dark")
        driver.dark(False)
        driver.run("document.documentElement.dir = 'rtl'")
        driver.picture(folder, f"{name}-rtl")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--axe", "--primary", "--join", "--apply", "--spare", "--daemon", "address", "app", "key"):
        parser.add_argument(name)
    parser.add_argument("folder", nargs="?", type=Path)
    options = parser.parse_args()
    driver = Driver()
    try:
        audit = Audit(driver, options.axe)
        walk(driver, audit, options.address, options.app, options.key, options.folder)
        if options.primary:
            pairing(driver, audit, options.primary, options.join, options.folder)
        if options.apply:
            lock(driver, audit, f"{options.address.split('/#')[0]}/apps/{options.app}", options.apply)
        if options.spare:
            away(driver, audit, options.spare, options.daemon)
    finally:
        driver.end()
    print("every step has happened")


main()
