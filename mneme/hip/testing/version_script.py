"""Writes a linker's version script that gives each function the version that it has in ROCm's library: version_script.py NM LIBRARY OUTPUT"""

import subprocess
import sys

NEWER = ("hipModuleLaunchCooperativeKernel",)  # newer_functions.c

nm, library, output = sys.argv[1:]
versions: dict[str, list[str]] = {}
for line in subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines():
    name, _, version = line.split()[-1].partition("@@")
    if version and line.split()[-2] in "TW":
        versions.setdefault(version, []).append(name)
with open(output, "w") as script:
    if not versions:
        script.write("{ global: hip*; __hip*; _Z*hip*; local: *; };\n")
    for i, (version, names) in enumerate(sorted(versions.items())):
        # The first one hides what is in none.
        hidden = "\n  local: *;" if i == 0 else ""
        script.write(f"{version} {{\n  global: {'; '.join(names)};{hidden}\n}};\n")
    known = [name for names in versions.values() for name in names]
    if newer := [name for name in NEWER if versions and name not in known]:
        script.write(f"mneme_tests {{ global: {'; '.join(newer)}; }};\n")
