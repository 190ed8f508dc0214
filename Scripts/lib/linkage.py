"""Libraries that a built executable links: it must start without Foundation, shared or static, and all but `tandem`
without libssl."""
import subprocess
from pathlib import Path


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, errors="replace").stdout


def linkage_problems(binary):
    """Shared libraries and symbols of Foundation in an ELF executable."""
    for line in output("readelf", "--dynamic", "--wide", binary).splitlines():
        if "NEEDED" in line and "Foundation" in line:
            yield f"{binary}: links {line.split('[')[-1].rstrip(']')}"
    # Libraries that its own libraries pull in; a static build has symbols instead.
    for line in output("ldd", binary).splitlines():
        if "Foundation" in line or "libicu" in line:
            yield f"{binary}: loads {line.split()[0]}"
        if "libssl" in line and Path(binary).name != "tandem":
            yield f"{binary}: loads {line.split()[0]}, which only tandem needs"
    symbols = output("readelf", "--symbols", "--wide", binary)
    count = sum("$s10Foundation" in line or "$s20FoundationEssentials" in line for line in symbols.splitlines())
    if count:
        yield f"{binary}: holds {count} symbols of Foundation"
