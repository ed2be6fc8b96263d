"""What becomes of recorded launches: trimmed to the memory that they touch, or a program."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ExportedProgram", "Trimmed", "Trimming"]


@dataclass(frozen=True)
class Trimming:
    """What was dropped of the memory that a launch was recorded with, since its kernel does not touch it."""

    of: tuple[str, ...]
    """The dynamic hashes with which it was recorded: several where launches differed in dropped memory alone."""
    pages: int
    """How many pages were dropped."""
    bytes: int
    """How much memory they are."""


@dataclass(frozen=True)
class Trimmed:
    """What `Database.trim` has come to with one instance."""

    before: str
    """The dynamic hash that it had."""
    after: str
    """The one that it has now; the same where nothing was dropped."""
    pages: int = 0
    """How many pages were dropped now."""
    all_pages: int = 0
    """How many pages the memory before the launch has."""
    bytes: int = 0
    """How much memory is in the dropped pages."""
    stored: int = 0
    """Bytes that its pages took on disk, those that other instances share included."""
    stored_now: int = 0
    """What they take now."""
    left: tuple[str, ...] = ()
    """Files that could not be removed, and why."""
    failure: str | None = None
    """Why it was left as it was; None: it is trimmed, or has nothing to drop."""


@dataclass(frozen=True)
class ExportedProgram:
    """A launch as a program: what is in it, and what it found when it was run once where it was made."""

    path: str
    size: int
    """Bytes of the file."""
    memory: int
    """Bytes of recorded memory in it."""
    left_out: int
    """Bytes that were recorded and are not in it, as the kernel neither reads nor writes them."""
    kept: str | None
    """Why nothing was left out; None: the memory was looked through."""
    verified: bool
    """Whether the memory was as recorded after the launch."""
