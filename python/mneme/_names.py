"""How advice names a recorded launch."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mneme import _native
from mneme.errors import MnemeError


def launch_words(database: str, kernel: str, instances: Sequence[str]) -> str:
    """`DB KERNEL#N` as a shell takes it, of a kernel's hash and its instances'; by the hashes where it cannot be read.

    >>> launch_words("/nowhere", "2860ab17c62173867bb5cfae93fbb671", ["59779c44a50d4083720688bc55d52bf9"])
    '/nowhere 2860ab17c62173867bb5cfae93fbb671 -rid 59779c44'
    """
    try:
        return _native.launch_words(database, kernel, list(instances))
    except (MnemeError, TypeError):  # TypeError: text that is no Unicode
        chosen = [word for instance in instances for word in ("-rid", instance[:8])]
        return shlex.join([database, kernel, *chosen])
