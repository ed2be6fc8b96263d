"""What the launches of a kernel gain by deployed code, shape by shape: the figures of bench/deployed_gain.py, without a GPU."""

import json
import re
import statistics
import struct
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """Of one launch: what a rule of deployed code is about."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int = 0  # dynamic shared memory in bytes

    @classmethod
    def of_json(cls, value):
        return cls(tuple(value["grid"]), tuple(value["block"]), value["dynamic_shared_memory"])

    def __str__(self):
        shared = f", {self.shared} B" if self.shared else ""
        return f"{'x'.join(map(str, self.grid))} blocks of {'x'.join(map(str, self.block))}{shared}"


@dataclass(frozen=True)
class Launch:
    kernel: str  # mangled
    shape: Shape
    nanoseconds: int


def read_launches(text):
    """The launches that bench/kernel_times.c has written, in the order in which they began."""

    def extent(word):
        return tuple(int(number) for number in word.split(","))

    rows = []
    for line in text.splitlines():
        start, nanoseconds, grid, block, shared, kernel = line.split(" ", 5)
        rows.append((int(start), Launch(kernel, Shape(extent(grid), extent(block), int(shared)), int(nanoseconds))))
    return [launch for _, launch in sorted(rows, key=lambda row: row[0])]


@dataclass(frozen=True)
class Rule:
    """How the launch of deployed code follows from the program's: `rule` of docs/reference/tuned.md."""

    covers: str
    recorded: Shape
    tuned: Shape
    max_threads: int = 0

    @classmethod
    def of_json(cls, value):
        return cls(value["covers"], Shape.of_json(value["recorded"]), Shape.of_json(value["tuned"]), value["max_threads"])

    def apply(self, shape):
        """The shape in the place of this one; None where the rule is not for it."""
        if self.covers == "shape":
            return self.tuned if shape == self.recorded else None
        if self.covers == "any":
            threads = shape.block[0] * shape.block[1] * shape.block[2]
            return shape if self.max_threads == 0 or threads <= self.max_threads else None
        if (shape.block, shape.shared) != (self.recorded.block, self.recorded.shared):
            return None
        threads = [blocks * size for blocks, size in zip(shape.grid, shape.block)]
        if any(count % size for count, size in zip(threads, self.tuned.block)):
            return None
        return Shape(tuple(count // size for count, size in zip(threads, self.tuned.block)), self.tuned.block, self.tuned.shared)


@dataclass(frozen=True)
class Promise:
    """What a file of deployed code says of one kernel."""

    kernel: str  # the symbol
    demangled: str
    rule: Rule
    value: float
    low: float
    high: float


def promises(file):
    """Of the bytes of a file of deployed code (docs/reference/tuned.md): each kernel by its static hash."""
    (length,) = struct.unpack_from("<Q", file, 40)
    found = {}
    for kernel in json.loads(file[48 : 48 + length])["kernels"]:
        speed_up = (kernel["evidence"][name] for name in ("speed_up", "low", "high"))
        found[kernel["static_hash"]] = Promise(kernel["name"], kernel["demangled"], Rule.of_json(kernel["rule"]), *speed_up)
    return found


@dataclass
class ShapeGain:
    """The launches of one shape that deployed code has replaced, of all runs together; nanoseconds."""

    bare_shape: Shape
    tuned_shape: Shape
    bare: list[int] = field(default_factory=list)
    tuned: list[int] = field(default_factory=list)

    def figures(self, promise):
        def gained(of):
            return of(self.bare) / of(self.tuned)

        first = {"bare_first_ns": self.bare[0], "tuned_first_ns": self.tuned[0]}
        both = {"bare_ns": self.bare, "tuned_ns": self.tuned}
        return {
            "shape": str(self.bare_shape),
            "becomes": str(self.tuned_shape),
            "promised_for": self.bare_shape == promise.rule.recorded,
            "launches": len(self.bare),
            **{f"{name}_mean": statistics.mean(times) for name, times in both.items()},
            **{f"{name}_median": statistics.median(times) for name, times in both.items()},
            **first,
            "kept": gained(statistics.mean) / promise.value,
            "kept_median": gained(statistics.median) / promise.value,
            **{name: times[:100] for name, times in both.items()},
        }


@dataclass
class Gain:
    """What one kernel has gained in the program."""

    launches: int  # in a run
    replaced: int | None = None  # of them; None: it cannot be told which
    problem: str | None = None  # why
    shapes: list[ShapeGain] = field(default_factory=list)
    whole: float | None = None  # of all launches of the kernel, replaced or not

    def of_replaced(self, figure):
        """The speed-up of all that was replaced: `figure` (a mean or a median) of each shape's times, weighed by its launches."""
        if not self.shapes:
            return None
        bare, tuned = (sum(len(getattr(one, which)) * figure(getattr(one, which)) for one in self.shapes) for which in ("bare", "tuned"))
        return bare / tuned


def said_to_have_run(stderr, demangled):
    """How many launches ran deployed code, as the last lines of `mneme run --tuned` say; None where they do not."""
    line = re.search(rf"^mneme: tuned: {re.escape(demangled)}: (\d+) of \d+ launches ran the deployed code", stderr, re.MULTILINE)
    return int(line[1]) if line else None


def gain(promise, runs):
    """Compares launches of `promise.kernel`: `runs` has, of each run, the bare launches, those with deployed code, and the number of them
    that is said to have run it. The n-th launch of one run is the n-th of the other."""
    shapes = {}
    problems = []
    totals = [0, 0]
    counts = []
    for bare_run, tuned_run, said in runs:
        bare, tuned = ([launch for launch in run if launch.kernel == promise.kernel] for run in (bare_run, tuned_run))
        counts.append(len(bare))
        totals[0] += sum(launch.nanoseconds for launch in bare)
        totals[1] += sum(launch.nanoseconds for launch in tuned)
        pairs = [(one, other) for one, other in zip(bare, tuned) if promise.rule.apply(one.shape) == other.shape]
        if len(bare) != len(tuned):
            problems.append(f"{len(bare)} launches bare, {len(tuned)} with deployed code")
        elif len(pairs) != said:
            problems.append(f"{len(pairs)} launches have shapes that the rule covers, and {said} ran the deployed code")
        for one, other in pairs:
            shape = shapes.setdefault(one.shape, ShapeGain(one.shape, other.shape))
            shape.bare.append(one.nanoseconds)
            shape.tuned.append(other.nanoseconds)
    found = Gain(counts[0], whole=totals[0] / totals[1] if totals[1] else None)
    if problems:
        found.problem = problems[0]
        return found
    found.shapes = sorted(shapes.values(), key=lambda shape: -sum(shape.bare))
    found.replaced = sum(len(shape.bare) for shape in found.shapes) // len(runs)
    return found
