"""Cases of schemas (SCH-1, SCH-2, SCH-5, SCH-21): documents with the digest by which they are known, values that one takes and
refuses, and documents that are none, with the place of the fault.
"""
import hashlib

from .raw import Cases
from .values import canonical, notation

VOLUME = {"key": "volume", "type": "integer", "editor": "slider", "title": "Volume", "minimum": 0, "maximum": 100,
          "default": 7, "icon": "volume", "page": "Sound"}
COLOUR = {"key": "colour", "type": "string", "editor": "edit", "nothing": True, "pattern": "^#([a-f0-9]{6})$"}
RATING = {"key": "rating", "type": "double", "editor": "choice", "default": 0.5,
          "choices": [{"label": "Low", "value": 0.5}, {"label": "High", "value": 1}]}
TOKEN = {"key": "token", "type": "string", "editor": "edit", "secret": True}
ALL = [VOLUME, COLOUR, RATING, TOKEN]


def made():
    cases = Cases("Schemas (SCH-1, SCH-2, SCH-5, SCH-21): value is what hex reads as; digest is the SHA-256 of the bytes; takes "
                  "and refuses are values that each is judged by the document; opens the buttons that it opens, absent for "
                  "none; error the key path of the fault, which never travels.")
    document(cases, "SCH-1", "no property", [])
    document(cases, "SCH-1", "a property of each kind", ALL,
             takes=[{"volume": 0}, {"volume": 100, "colour": "#0a0b0c"}, {"rating": 1}, {"token": ""}, {}],
             refuses=[{"volume": 101}, {"volume": 1.0}, {"volume": True}, {"colour": "red"}, {"rating": 0.75},
                      {"token": 1}, {"speed": 1}, {"volume": 1, "colour": "red"}])
    document(cases, "SCH-2", "what a later version adds", [{**VOLUME, "later": {"a": 1}, "icon": "sparkle"}],
             takes=[{"volume": 1}], refuses=[{"volume": -1}])
    document(cases, "SCH-2", "a default outside its bounds", [{**VOLUME, "default": 101}], takes=[{"volume": 1}])
    for place, row in (("type", {"type": "later"}), ("editor", {"editor": "later"}), ("access", {"access": "later"}),
                       ("key", {"key": 1}), ("default", {"default": "x"}), ("maximum", {"minimum": 2, "maximum": 1}),
                       ("minimum", {"minimum": "a"}), ("secret", {"secret": 1}), ("choices", {"choices": {}}),
                       ("choices[0].label", {"choices": [{"value": 1}]}),
                       ("choices[0].value", {"choices": [{"label": "a"}]})):
        refused(cases, f"a wrong {place}", {"v": 1, "properties": [{**VOLUME, **row}]}, f"properties[0].{place}")
    refused(cases, "one bound", {"v": 1, "properties": [{**COLOUR, "minimum": "a"}]}, "properties[0].minimum")
    refused(cases, "a key twice", {"v": 1, "properties": [VOLUME, VOLUME]}, "properties")
    refused(cases, "a pattern that does not compile", {"v": 1, "properties": [{**COLOUR, "pattern": "("}]}, "properties")
    refused(cases, "another version", {"v": 2, "properties": []}, "v")
    document(cases, "SCH-21", "no button", [], buttons=[])
    document(cases, "SCH-21", "a button", [], buttons=["test"], opens=["test"])
    document(cases, "SCH-21", "buttons in no order, one of them twice, and one with the key of a property", [VOLUME, TOKEN],
             takes=[{"volume": 1}], refuses=[{"test": 1}], buttons=["volume", "test", "volume", "k" * 256],
             opens=["k" * 256, "test", "volume"])
    for name, buttons in (("a text", "test"), ("a dictionary", {"test": True}), ("a number among them", ["test", 7]),
                          ("an empty key", [""]), ("a key of 257 bytes", ["k" * 257]),
                          ("one more than properties can be", [f"b{number}" for number in range(1025)])):
        refused(cases, f"buttons: {name}", {"v": 1, "properties": [], "buttons": buttons}, "buttons", "SCH-21")
    refused(cases, "no properties", {"v": 1}, "properties")
    refused(cases, "a property that is no dictionary", {"v": 1, "properties": [1]}, "properties[0]")
    return cases.compared()


def document(cases, clause, name, rows, takes=(), refuses=(), buttons=None, opens=()):
    root = {"v": 1, "properties": rows, **({} if buttons is None else {"buttons": buttons})}
    data = canonical(root)
    cases.add(name, clause, data, value=notation(root), digest=hashlib.sha256(data).hexdigest(),
              takes=[notation(values) for values in takes], refuses=[notation(values) for values in refuses],
              **({"opens": opens} if opens else {}))


def refused(cases, name, root, place, clause="SCH-2"):
    cases.add(name, clause, canonical(root), value=notation(root), error=place)
