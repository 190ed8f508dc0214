"""Cases of settings pages (Protocol/Pages.md): bundles with the files that count, their keys, defaults and layout; and
entries with the property that each declares.
"""
from .raw import Cases
from .values import canonical, notation

SUFFIX = {"phone": "iphone", "pad": "ipad", "mac": "mac", "vision": "vision", "watch": "watch"}
RULES = {"DefaultValue", "TrueValue", "FalseValue", "MinimumValue", "MaximumValue", "TandemInteger"}


def candidates(page, device, language):
    """PAG-1, from the text of the clause."""
    for bundle in ("InAppSettings.bundle", "Settings.bundle"):
        for name in (f"{page}~{SUFFIX[device]}.inApp", f"{page}.inApp", f"{page}~{SUFFIX[device]}", page):
            if language:
                yield f"{bundle}/{language}.lproj/{name}.plist"
            yield f"{bundle}/{name}.plist"


def bundles():
    cases = Cases("Bundles (PAG-1, PAG-5, PAG-6, PAG-12): hex is a dictionary of files (content by path), device and language "
                  "(which may be absent). reads is the file of each page in the order of the pages, keys those of all "
                  "entries, defaults the gathered defaults, faults the number of them, layout that of a schema that declares "
                  "each key of an entry with one.")
    whole = {path: page(title(path)) for path in candidates("Root", "pad", "de")}
    for count in range(len(whole)):
        bundle(cases, "PAG-1", f"candidate {count + 1}", dict(list(whole.items())[count:]), "pad", "de")
    plain = {path: page(title(path)) for path in candidates("Root", "phone", None)}
    for count in range(len(plain)):
        bundle(cases, "PAG-1", f"candidate {count + 1} without a language", dict(list(plain.items())[count:]))
    bundle(cases, "PAG-1", "another device's files do not count",
           {"Settings.bundle/Root~ipad.plist": page(title("a")), "Settings.bundle/Root.plist": page(title("b"))})
    bundle(cases, "PAG-12", "pages in a ring, hidden and foreign entries", {
        "Settings.bundle/Root.plist": page(
            {"Type": "PSGroupSpecifier", "Key": "section"}, entry("PSToggleSwitchSpecifier", "a", DefaultValue="YES"),
            child("A"), entry("PSSliderSpecifier", "pad", DefaultValue=0.5, SupportedUserInterfaceIdioms=["Pad"]),
            entry("PSTitleValueSpecifier", "version", DefaultValue="1")),
        "Settings.bundle/A.plist": page(child("B"), entry("PSTextFieldSpecifier", "b", DefaultValue="me")),
        "Settings.bundle/B.plist": page(child("A"), entry("PSToggleSwitchSpecifier", "a", DefaultValue=True),
                                        entry("IASKDatePickerSpecifier", "c")),
    }, faults=1)
    bundle(cases, "PAG-6", "rules stay with the property, labels and unknown keys with the page, items have their own", {
        "Settings.bundle/Root.plist": page(
            entry("PSMultiValueSpecifier", "m", Values=[1, 2], Titles=["One", "Two"], DefaultValue=1, Later={"x": 1}),
            entry("PSSliderSpecifier", "s", MinimumValue=0, MaximumValue=10, TandemInteger=True),
            entry("IASKListGroupSpecifier", "l", ItemSpecifier=child("Item", Key="name"))),
        "Settings.bundle/Item.plist": page(entry("PSTextFieldSpecifier", "name", DefaultValue="new")),
    }, faults=1, of_items=["Item"])
    bundle(cases, "PAG-4", "a missing page, a malformed one and an unknown type", {
        "Settings.bundle/Root.plist": page(child("None"), child("Odd"), {"Type": "PSFancySpecifier", "Key": "f"}),
        "Settings.bundle/Odd.plist": {"PreferenceSpecifiers": "none"},
    }, faults=3, undeclared=["f"])
    return cases.compared()


def bundle(cases, clause, name, files, device="phone", language=None, faults=0, of_items=(), undeclared=()):
    told = {"files": files, "device": device, **({"language": language} if language else {})}
    reads, order, waiting = {}, [], ["Root"]
    while waiting:
        page_name = waiting.pop()
        if page_name in reads:
            continue
        path = next((path for path in candidates(page_name, device, language) if path in files), None)
        if path is None or not isinstance(files[path]["PreferenceSpecifiers"], list):
            continue
        reads[page_name] = path
        order.append(page_name)
        waiting += [row["File"] for row in reversed(files[path]["PreferenceSpecifiers"])
                    if row.get("Type") == "PSChildPaneSpecifier"]
    panes = list(order)
    for page_name in of_items:
        reads[page_name] = next(path for path in candidates(page_name, device, language) if path in files)
        order.append(page_name)
    rows = [row for page_name in panes for row in files[reads[page_name]]["PreferenceSpecifiers"]]
    keyed = [row for row in rows if "Key" in row]
    defaults = {}
    for row in keyed:
        if "DefaultValue" in row:
            defaults.setdefault(row["Key"], row["DefaultValue"])
    layout = {"pages": [laid(page_name, files[reads[page_name]], page_name in panes, undeclared) for page_name in order]}
    if device != "phone":
        layout["device"] = device
    cases.add(name, clause, canonical(told), reads=[[page_name, reads[page_name]] for page_name in order],
              keys=list(dict.fromkeys(row["Key"] for row in keyed)), defaults=notation(defaults),
              faults=faults, layout=notation(layout))


def laid(name, content, is_pane, undeclared):
    """A page in a layout, as PAG-5 and PAG-6 say."""
    rows = [{key: value for key, value in row.items()
             if not (is_pane and "Key" in row and row["Key"] not in undeclared and row["Type"] != "PSGroupSpecifier"
                     and key in RULES)}
            for row in content["PreferenceSpecifiers"]]
    return {"name": name, "specifiers": rows, **({} if is_pane else {"ofItems": True})}


def page(*rows):
    return {"PreferenceSpecifiers": list(rows)}


def title(text):
    return {"Type": "PSGroupSpecifier", "Title": text}


def entry(kind, key, **more):
    return {"Type": kind, "Key": key, **more}


def child(file, **more):
    return {"Type": "PSChildPaneSpecifier", "File": file, **more}


def specifiers():
    cases = Cases("Entries (PAG-3, PAG-4, PAG-9): hex is an entry; property is the row of a schema (SCH-1) that it declares, "
                  "absent if it declares none; faults are those of the entry, each with the key or the type.")
    text = {"type": "string", "editor": "edit", "nothing": True}
    shown = {"type": "string", "editor": "preference", "nothing": True}
    for kind, more, row in (
        ("PSToggleSwitchSpecifier", {}, {"type": "boolean", "editor": "toggle", "default": False}),
        ("PSToggleSwitchSpecifier", {"DefaultValue": "YES"}, {"type": "boolean", "editor": "toggle", "default": True}),
        ("PSToggleSwitchSpecifier", {"TrueValue": "on", "FalseValue": "off", "DefaultValue": "on"},
         {"type": "boolean", "editor": "toggle", "default": True, "on": "on", "off": "off"}),
        ("PSSliderSpecifier", {"MinimumValue": 0, "MaximumValue": 1, "DefaultValue": 0.5},
         {"type": "double", "editor": "slider", "minimum": 0.0, "maximum": 1.0, "default": 0.5}),
        ("PSSliderSpecifier", {"MinimumValue": 1, "MaximumValue": 9, "TandemInteger": True},
         {"type": "integer", "editor": "slider", "minimum": 1, "maximum": 9, "default": 1}),
        ("PSTextFieldSpecifier", {}, text),
        ("PSTextFieldSpecifier", {"DefaultValue": 7, "KeyboardType": "NumberPad"}, {**text, "default": "7"}),
        ("PSTextFieldSpecifier", {"IsSecure": True, "DefaultValue": "x"}, {**text, "secret": True}),
        ("IASKTextViewSpecifier", {"IASKPlaceholder": "Notes"}, text),
        ("PSTitleValueSpecifier", {"DefaultValue": "1.0"}, {**shown, "default": "1.0"}),
        ("PSTitleValueSpecifier", {"DefaultValue": 3}, {**shown, "type": "integer", "default": 3}),
        ("PSMultiValueSpecifier", {"Values": [1, 2], "Titles": ["One", "Two"], "DefaultValue": 2},
         {"type": "integer", "editor": "choice", "nothing": True, "default": 2,
          "choices": [{"label": "One", "value": 1}, {"label": "Two", "value": 2}]}),
        ("PSMultiValueSpecifier", {}, text),
        ("PSRadioGroupSpecifier", {"Values": ["a"], "Titles": ["A"], "DefaultValue": "a"},
         {"type": "string", "editor": "choice", "nothing": True, "default": "a",
          "choices": [{"label": "A", "value": "a"}]}),
        ("IASKDatePickerSpecifier", {"DatePickerMode": "Time"}, {"type": "date", "editor": "edit", "nothing": True}),
        ("IASKListGroupSpecifier", {"ItemSpecifier": {"Type": "PSTextFieldSpecifier"}},
         {"type": "array", "editor": "preference", "default": []}),
        ("IASKButtonSpecifier", {"DefaultValue": "Log in"}, {**shown, "default": "Log in"}),
        ("IASKCustomViewSpecifier", {}, shown),
    ):
        told = {"Type": kind, "Key": "k", "Title": "T", **more}
        told_by = ", ".join(f"{name} {value}" for name, value in more.items()) or "its key alone"
        cases.add(f"{kind} with {told_by}", "PAG-9", canonical(told),
                  property=notation({"key": "k", "title": "T", **row}), faults=[])
    for kind, more in (("PSGroupSpecifier", {"FooterText": "f"}), ("PSChildPaneSpecifier", {"File": "A", "Key": "k"}),
                       ("IASKOpenURLSpecifier", {"File": "https://example.org"}),
                       ("IASKMailComposeSpecifier", {"IASKMailComposeToRecipents": ["a@example.org"]})):
        cases.add(f"{kind} declares nothing", "PAG-3", canonical({"Type": kind, **more}), faults=[])
    for name, told, faults in (
        ("an unknown type", {"Type": "PSFancySpecifier"}, [["unknownType", "PSFancySpecifier"]]),
        ("no type", {"Title": "x"}, [["missingKey", "Type"]]),
        ("an unknown key", {"Type": "PSGroupSpecifier", "Later": 1}, [["unknownKey", "Later"]]),
        ("a key of another form", {"Type": "PSGroupSpecifier", "Title": 1}, [["malformedKey", "Title"]]),
        ("a key that is missing", {"Type": "PSTextFieldSpecifier"}, [["missingKey", "Key"]]),
        ("titles that are not as many", {"Type": "PSMultiValueSpecifier", "Key": "k", "Values": [1, "a"], "Titles": ["x"]},
         [["unequalLists", "Titles"]]),
        ("a segue", {"Type": "PSChildPaneSpecifier", "IASKSegueIdentifier": "s"}, [["unsupported", "IASKSegueIdentifier"]]),
    ):
        cases.add(name, "PAG-4", canonical(told), faults=faults)
    cases.add("a minimum above the maximum", "PAG-4",
              canonical({"Type": "PSSliderSpecifier", "Key": "k", "MinimumValue": 5}),
              property=notation({"key": "k", "type": "double", "editor": "slider", "default": 5.0}),
              faults=[["reversedBounds"]])
    for name, told, row, fault in (
        ("a value that stands twice", {"Type": "PSMultiValueSpecifier", "Values": [1, 2, 1], "Titles": ["a", "b", "c"]},
         {"type": "integer", "editor": "choice", "nothing": True,
          "choices": [{"label": "a", "value": 1}, {"label": "b", "value": 2}]}, "Values"),
        ("one value for on and off", {"Type": "PSToggleSwitchSpecifier", "TrueValue": "x", "FalseValue": "x"},
         {"type": "boolean", "editor": "toggle", "default": False}, "FalseValue"),
    ):
        cases.add(name, "PAG-4", canonical({"Key": "k", **told}), property=notation({"key": "k", **row}),
                  faults=[["repeatedValue", fault]])
    return cases.compared()
