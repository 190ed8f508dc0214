"""Makes a command's manual page, or its completion for bash, from the help that the command prints itself.

    manual.py man|bash COMMAND

COMMAND is run with --help, and each of its subcommands, too. The files and other pages that belong to it are here.
"""
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


PROTOCOL = Path(__file__).resolve().parents[3] / "Protocol"
DOCUMENTS = "/usr/share/doc/tandem"
FILES = {
    "tandem": {
        "/etc/tandem/primary.plist, /etc/tandem/secondary.plist": "Options of the daemons that run as a service.",
        "/lib/systemd/system/tandem@.service": "The service: systemctl enable --now tandem@primary (or @secondary).",
        "/var/lib/tandem/ROLE": "State of the device: keys, pairings, queues. The device is gone with it.",
        "/run/tandem/ROLE.sock": "Socket for host apps and commands, where each of them looks for the daemon.",
        DOCUMENTS: "README.md, the protocol with its clauses, and guides for operators and developers.",
    },
    "tandem-console": {DOCUMENTS: "README.md, and Protocol/Console.md with the clauses of the console."},
}
SEE_ALSO = {
    "tandem": ["tandem-console(1)", "systemctl(1)", "journalctl(1)"],
    "tandem-console": ["tandem(1)"],
}


@dataclass
class Help:
    """A help page: `options` holds usages with their explanations, `notes` and `examples` the lines at its end."""

    summary: str
    usage: list[str]
    options: list[tuple[str, str]] = field(default_factory=list)
    commands: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)


def printed(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def read(text: str) -> Help:
    blocks = text.strip().split("\n\n")
    page = Help(blocks[0], [line.removeprefix("usage: ").strip() for line in blocks[1].splitlines()])
    for block in blocks[2:]:
        head, *rest = block.splitlines()
        if head == "options:":
            page.options = rows(rest)
        elif head in ("example:", "examples:"):
            page.examples = [line.strip() for line in rest]
        elif head.endswith(":") and rest and all(line.startswith("  ") for line in rest):
            page.commands += rows(rest)
        else:
            page.notes += [head] + rest
    return page


def rows(lines: list[str]) -> list[tuple[str, str]]:
    """Two columns; a line without the first one goes on with the second of the line before."""
    found: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("      "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            name, text = re.split(r"  +", line.strip(), maxsplit=1)
            found.append((name, text))
    return found


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return "\\&" + text if text.startswith((".", "'")) else text


def manual(name: str, version: str, page: Help, subpages: dict[str, Help]) -> list[str]:
    title, _, does = page.summary.rstrip(".").partition(": ")
    out = [f'.TH {name.upper()} 1 "" "{version}"', ".SH NAME", f"{escaped(title)} \\- {escaped(does)}", ".SH SYNOPSIS"]
    out += [f".B {escaped(' '.join(page.usage))}", ".SH DESCRIPTION"]
    for note in page.notes:
        out += [escaped(note), ".br"]
    out += options(page, ".SH OPTIONS")
    if subpages:
        out.append(".SH COMMANDS")
    for command, subpage in subpages.items():
        out += [f".SS {escaped(command)}", escaped(f"{subpage.summary[0].upper()}{subpage.summary[1:]}.")]
        out += [".PP", f".B {escaped(' '.join(subpage.usage))}", *options(subpage, ".PP")]
        if subpage.notes:
            out += [".PP", escaped(" ".join(subpage.notes))]
        out += examples(subpage)
    if page.examples:
        out += [".SH EXAMPLES", *examples(page)]
    out.append(".SH FILES")
    for file, use in FILES[name].items():
        out += [".TP", f".I {escaped(file)}", escaped(use)]
    return out + ['.SH "SEE ALSO"', escaped(", ".join(SEE_ALSO[name])), *clauses("\n".join(out))]


def clauses(text: str) -> list[str]:
    """Where the clauses are that a page cites, such as CTL-22."""
    homes: dict[str, str] = {}
    for prefix in sorted(set(re.findall(r"\b([A-Z]{3})\\-\d", text))):
        for home in sorted(PROTOCOL.glob("*.md")):
            if re.search(rf"^[*| ]*{prefix}-1\b", home.read_text(), re.M):
                homes[prefix] = home.name
    if not homes:
        return []
    names = ", ".join(f"{prefix} in {home}" for prefix, home in homes.items())
    return [".PP", escaped(f"Clauses in parentheses are in {DOCUMENTS}/Protocol: {names}.")]


def options(page: Help, head: str) -> list[str]:
    lines = [head] if page.options else []
    for usage, text in page.options:
        lines += [".TP", f".B {escaped(usage)}", escaped(text)]
    return lines


def examples(page: Help) -> list[str]:
    return [".PP", ".EX", *[escaped(line) for line in page.examples], ".EE"] if page.examples else []


def completion(name: str, page: Help, subpages: dict[str, Help]) -> list[str]:
    """The words before the cursor select a command, whose options and subcommands are offered; after an option with
    fixed values, these."""
    arms: dict[str, list[str]] = {"": [], **{command: [] for command in subpages}}
    values: list[str] = []
    for command, of in [("", page), *subpages.items()]:
        for usage, _ in of.options:
            for option, value in re.findall(r"(--\S+) ?([^\s-]\S*)?", usage):
                arms[command] += [option.replace("[no-]", "")] + [option.replace("[no-]", "no-")] * ("[" in option)
                if not value:
                    continue
                # Words in small letters are fixed values; FILE and the like stand for any, for which bash offers files,
                # and a word before a colon only begins one.
                words = " ".join(re.findall(r"\b[a-z]+\b", value)) if "|" in value and ":" not in value else ""
                begins = f"'{command} '" if command else ""
                values.append(f"    {begins}*'{option} ') words='{words}' ;;")
    for command in subpages:
        first, _, second = command.partition(" ")
        arms[""].append(first)
        if second:
            arms.setdefault(first, []).append(second)
    out = [f"# Completion of {name} for bash.", f"_{name.replace('-', '_')}() {{", "    local words=''"]
    out += ['    case "${COMP_WORDS[*]:1:COMP_CWORD-1} " in', *values]
    # Longer commands first: 'trust ' also begins 'trust add '.
    for command in sorted(arms, reverse=True):
        words = " ".join(dict.fromkeys(arms[command]))
        out.append(f"    '{command} '{'*' if command else ''}) words='{words}' ;;")
    out += ["    esac", '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")', "}"]
    return out + [f"complete -o bashdefault -o default -F _{name.replace('-', '_')} {name}"]


def main() -> None:
    form, path = sys.argv[1:]
    name = Path(path).name
    page = read(printed(path, "--help"))
    subpages = {command: read(printed(path, *command.split(), "--help")) for command, _ in page.commands}
    if form == "man":
        print("\n".join(manual(name, printed(path, "--version").strip(), page, subpages)))
    else:
        print("\n".join(completion(name, page, subpages)))


main()
