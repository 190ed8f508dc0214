"""Cases of synced settings (Settings SET-71 to SET-76): a body that comes, with what its receiver had, and what comes of
them by the rules, which are written here once more.
"""
from .raw import Cases
from .values import canonical, notation

OTHER = {"primary": "secondary", "secondary": "primary"}


def made():
    cases = Cases("Synced settings (SET-71 to SET-76): side is the receiver's, own the body that it would have sent before, heard "
                  "the highest seen that it has merged; of one that has had no body, app has the app's values instead. hex "
                  "is the body that comes; then merged is what it would send, answers whether it does, conflicts the "
                  "names that both had edited; or error.")
    for part in (edits, removals, first_bodies, orders, refusals):
        part(cases)
    return cases.compared()


def entry(revision, side, value=None):
    return {"revision": revision, "side": side, **({} if value is None else {"value": value})}


def body(clock, seen, **values):
    return {"clock": clock, "seen": seen, "values": values}


def knows(told, sender, one):
    return one["revision"] <= told["clock" if one["side"] == sender else "seen"]


def chosen(side, own, told, name):
    """The entry that counts, and whether the two are a conflict."""
    ours, theirs = own["values"].get(name), told["values"].get(name)
    if told["seen"] > own["clock"]:
        return theirs, False
    known = {"ours": ours and knows(told, OTHER[side], ours), "theirs": theirs and knows(own, side, theirs)}
    if not ours or not theirs:
        return (None if known["ours"] or known["theirs"] else ours or theirs), False
    primary = ours if side == "primary" else theirs
    if (ours["revision"], ours["side"]) == (theirs["revision"], theirs["side"]):
        return primary, False
    if known["ours"] or known["theirs"]:
        return (theirs if known["ours"] else ours), False
    return primary, ours.get("value") != theirs.get("value")


def merge(side, own, heard, told):
    if not told:
        return own, True, []
    if told["clock"] < own["seen"] or told["seen"] < heard:
        return own, True, []
    values, conflicts = {}, []
    for name in sorted(own["values"] | told["values"], key=str.encode):
        one, is_conflict = chosen(side, own, told, name)
        if one:
            values[name] = one
        if is_conflict:
            conflicts.append(name)
    return body(max(own["clock"], told["seen"]), told["clock"], **values), values != told["values"], conflicts


def add(cases, clause, name, side, own, told, heard=0):
    merged, answers, conflicts = merge(side, own, heard, told)
    cases.add(name, clause, canonical(told), side=side, own=notation(own), heard=heard, merged=notation(merged),
              answers=answers, conflicts=conflicts)


def edits(cases):
    clause = "SET-73"
    for side, other in OTHER.items():
        had = body(1, 1, volume=entry(1, side, 1), colour=entry(1, other, "#000000"))
        add(cases, clause, f"{side}: nothing new", side, had, body(1, 1, **had["values"]))
        add(cases, clause, f"{side}: a later edit of the same name", side, had,
            body(2, 1, volume=entry(2, other, 5), colour=entry(1, other, "#000000")))
        add(cases, clause, f"{side}: an edit here that the other has not heard of", side,
            body(2, 1, volume=entry(1, side, 1), colour=entry(2, side, "#ffffff")), body(1, 1, **had["values"]))
        add(cases, clause, f"{side}: two edits that did not know each other", side,
            body(2, 1, volume=entry(2, side, 8), colour=entry(1, other, "#000000")),
            body(4, 1, volume=entry(4, other, 9), colour=entry(1, other, "#000000")))
        add(cases, clause, f"{side}: two such edits to one value", side,
            body(2, 1, volume=entry(2, side, 8)), body(4, 1, volume=entry(4, other, 8)))
        add(cases, clause, f"{side}: set to nil there", side, had,
            body(2, 1, volume=entry(2, other), colour=entry(1, other, "#000000")))
        add(cases, clause, f"{side}: one revision with two values", side, body(1, 0, volume=entry(1, side, 1)),
            body(0, 1, volume=entry(1, side, 2)))


def removals(cases):
    clause = "SET-74"
    for side, other in OTHER.items():
        had = body(1, 1, volume=entry(1, side, 1), colour=entry(1, other, "#000000"))
        add(cases, clause, f"{side}: removed there", side, had, body(2, 1, colour=entry(1, other, "#000000")))
        add(cases, clause, f"{side}: removed here, and not heard of yet", side, body(2, 1, volume=entry(1, side, 1)),
            body(1, 1, **had["values"]))
        add(cases, clause, f"{side}: removed there, edited here", side, body(2, 1, volume=entry(2, side, 7)), body(2, 1))
        add(cases, clause, f"{side}: removed here, edited there", side, body(2, 1), body(2, 1, volume=entry(2, other, 7)))


def first_bodies(cases):
    clause = "SET-75"
    had = body(3, 2, volume=entry(3, "primary", 1))
    add(cases, clause, "a side that knows nothing asks", "primary", had, {}, 1)
    add(cases, clause, "the store here was restored", "secondary", body(2, 1, volume=entry(2, "secondary", 5)),
        body(4, 6, volume=entry(5, "secondary", 8), colour=entry(4, "primary", "#00ff00")))
    there = {"volume": entry(2, "primary", 1), "colour": entry(1, "secondary", "#000000")}
    for side, other in OTHER.items():
        told = body(2, 1, **there) if other == "primary" else body(1, 2, **there)
        used = told["seen"]
        app = {"volume": 5, "rate": 7}
        values = {**there, "rate": entry(used + 1, side, 7)}
        if side == "primary":
            values["volume"] = entry(used + 1, side, 5)
        cases.add(f"{side}: the first body", clause, canonical(told), side=side, app=notation(app),
                  merged=notation(body(used + 1, told["clock"], **values)), answers=True, conflicts=["volume"])


def orders(cases):
    clause = "SET-74"
    had = body(3, 5, volume=entry(5, "secondary", 1))
    add(cases, clause, "a body that is late by its clock", "primary", had, body(4, 3, colour=entry(2, "secondary", "old")), 2)
    add(cases, clause, "a body that is late by what it has seen", "primary", had, body(5, 1, colour=entry(2, "secondary", "old")), 2)
    add(cases, clause, "a body that comes again", "primary", had, body(5, 3, volume=entry(5, "secondary", 1)), 3)


def refusals(cases):
    own = notation(body(1, 1, volume=entry(1, "primary", 1)))

    def refuses(clause, name, told):
        cases.add(name, clause, canonical(told), side="primary", own=own, heard=0, error="rejected")

    good = body(1, 1, volume=entry(1, "secondary", 1))
    for key in good:
        refuses("SET-76", f"without {key}", {name: one for name, one in good.items() if name != key})
        refuses("SET-76", f"{key} as text", {**good, key: "1"})
    for key in ("clock", "seen"):
        refuses("SET-76", f"a negative {key}", {**good, key: -1})
        refuses("LIM-109", f"{key} too far ahead", {**good, key: (1 << 32) + 2})
    for name, one in (("no dictionary", 1), ("no revision", {"side": "primary"}), ("no side", {"revision": 1}),
                      ("a side that is none", entry(1, "relay")), ("the revision 0", entry(0, "primary")),
                      ("an edit here that its sender does not know", entry(2, "primary")),
                      ("an edit there that its sender has not made", entry(2, "secondary"))):
        refuses("SET-76", f"an entry with {name}", body(1, 1, volume=one))
    refuses("LIM-108", "513 entries of one side", body(1, 1, **{f"{n:03}": entry(1, "primary") for n in range(513)}))
