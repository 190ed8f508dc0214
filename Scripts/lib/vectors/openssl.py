"""The openssl command as another verifier of the signing vectors."""
import subprocess
import tempfile
from pathlib import Path

OPTIONS = {
    "ed25519": [],
    "ecdsa-p256-sha256": ["-digest", "sha256"],
    "rsa-pss-sha256": ["-digest", "sha256", "-pkeyopt", "rsa_padding_mode:pss", "-pkeyopt", "rsa_pss_saltlen:32",
                       "-pkeyopt", "rsa_mgf1_md:sha256"],
}


def accepts(case):
    """Whether the command takes the signature of a case."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("key", "message", "signature"):
            Path(folder, name).write_bytes(bytes.fromhex(case[name]))
        return not subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER", "-inkey", "key", "-in", "message",
             "-sigfile", "signature", *OPTIONS[case["algorithm"]]], cwd=folder, capture_output=True).returncode


def compare(path, cases):
    """Counts in words, and the disagreements that are not as the cases list them."""
    differing, problems = 0, []
    for case in cases:
        taken = accepts(case)
        listed = case.get("differs", {}).get("openssl")
        differing += listed is not None
        if (taken == (case["outcome"] == "good")) == (listed is not None):
            told = f"listed as '{listed}'" if listed else "not listed"
            problems.append(f"{path.name}: {case['name']}: openssl {'accepts' if taken else 'refuses'} it, {told}")
    return f"{len(cases) - differing} agree, {differing} differ", problems
