"""The commands that a page of the guide prints: what test_guides.py runs, and what a job on a GPU runs as typed.

python3 tests/python/guide_commands.py docs/guide/deploy.md --numbered --on-a-gpu
"""

import argparse
import re
from pathlib import Path


def commands(page: Path) -> list[str]:
    """The commands behind the prompts of a page, a continued one in one line."""
    joined = re.sub(r" *\\\n +", " ", page.read_text())
    return [line.strip() for line in re.findall(r"^    \$ (.*)$", joined, re.M)]


def numbered(page: Path, *, on_a_gpu: bool = False) -> list[str]:
    """Those that the page numbers in the comments behind them, without these. On a GPU what names the CPU device is
    left away."""
    found = [match[1] for command in commands(page) if (match := re.fullmatch(r"(.*?) +# \d+\. .*", command))]
    return [command.replace(" --device cpu", "") for command in found] if on_a_gpu else found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--numbered", action="store_true", help="only those that the page numbers")
    parser.add_argument("--on-a-gpu", action="store_true", help="of these, without what names the CPU device")
    asked = parser.parse_args()
    print(*(numbered(asked.page, on_a_gpu=asked.on_a_gpu) if asked.numbered else commands(asked.page)), sep="\n")
