#!/usr/bin/env python3
"""recipes.py build FOLDER | measure FOLDER: what each recipe of docs/guide/to-your-program.md is worth in the program itself.

build, on a machine with clang 22 and CUDA's compile-time parts, compiles bench/programs/filter.cu plain, once as it is and once with
each recipe, and once so that it can be recorded. measure, on a machine with a GPU and `mneme` on the PATH, runs them in turn, several
rounds, records the recordable one, and replays its launch under the configuration that each recipe stands for. It prints both gains
side by side: time as it is over time with the recipe, in the program (by events) and in the replay (by Mneme's clock).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent / "programs" / "filter.cu"
ARCH = "sm_90"
PIPELINE = "default<O3>,function(loop-mssa(licm),gvn)"

# name: (options of clang for all code, steps of its own for device code, options of `mneme replay`)
SOURCE_RECIPES = {
    "as it is": ([], []),
    "block": (["-DBLOCK=128"], ["--block-dim-x", "128", "--keep-threads"]),
    "grid": (["-DBLOCKS=1056"], ["--grid-dim-x", "1056"]),
    "launch bounds": (["-DBOUNDS=__launch_bounds__(256, 8)"], ["--launch-bounds", "256,8"]),
    "constant argument": (["-DCONSTANT_TAPS=9"], ["--specialise", "taps"]),
    "no-alias": (["-DRESTRICT=__restrict__"], ["--no-alias"]),
    "ptxas options": (["-Xcuda-ptxas", "--maxrregcount=32"], ["--max-registers", "32"]),
    "constant argument, no-alias": (["-DCONSTANT_TAPS=9", "-DRESTRICT=__restrict__"], ["--specialise", "taps", "--no-alias"]),
}
# name: (pipeline, level of the code generator, options of `mneme replay`)
DEVICE_RECIPES = {
    "pipeline": (PIPELINE, 3, [PIPELINE]),
    "codegen level": ("default<O3>", 1, ["--codegen-opt", "1"]),
}


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(str(part) for part in command)}\n{done.stdout}{done.stderr}ended with {done.returncode}")
    return done.stdout


def file_of(name: str) -> str:
    return "filter-" + name.replace(", ", "-").replace(" ", "-")


def build(folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cxx = run("mneme", "config", "cxx").strip()
    cuda = pathlib.Path(run("mneme", "config", "cudadir").strip())
    common = ["-O3", "-std=c++17", f"--offload-arch={ARCH}", f"--cuda-path={cuda}", "-Wno-unknown-cuda-version"]
    link = [f"-L{cuda}/lib64", "-lcudart_static", "-lrt", "-ldl", "-lpthread"]
    for name, (options, _) in SOURCE_RECIPES.items():
        run(cxx, *common, *options, SOURCE, "-o", folder / file_of(name), *link)
    for name, (pipeline, level, _) in DEVICE_RECIPES.items():
        base = folder / file_of(name)
        run(cxx, *common, "--cuda-device-only", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", SOURCE, "-o", f"{base}.bc")
        run("opt-22", f"-passes={pipeline}", f"-mcpu={ARCH}", f"{base}.bc", "-o", f"{base}.opt.bc")
        run("llc-22", f"-O{level}", f"-mcpu={ARCH}", f"{base}.opt.bc", "-o", f"{base}.ptx")
        run(cuda / "bin/ptxas", f"-arch={ARCH}", f"{base}.ptx", "-o", f"{base}.cubin")
        run(cuda / "bin/fatbinary", "-64", f"--create={base}.fatbin", f"--image3=kind=elf,sm={ARCH[3:]},file={base}.cubin")
        included = ["-Xclang", "-fcuda-include-gpubinary", "-Xclang", f"{base}.fatbin"]
        run(cxx, *common, "--cuda-host-only", *included, "-c", SOURCE, "-o", f"{base}.o")
        run(cxx, f"{base}.o", "-o", base, *link)
        for left in folder.glob(f"{base.name}.*"):
            left.unlink()
    flags, libraries = (shlex.split(run("mneme", "config", key)) for key in ("cxxflags", "ldflags"))
    run(cxx, "-O3", "-std=c++17", *flags, SOURCE, "-o", folder / "filter-recordable", *libraries)
    print(f"{len(SOURCE_RECIPES) + len(DEVICE_RECIPES) + 1} programs are in {folder}")


def replayed(database: pathlib.Path, options: list[str]) -> float:
    """The median time of ten launches; raises SystemExit where the launch is not as recorded."""
    kernel = next(file for file in database.glob("*.json"))
    tolerance = ["--tolerance", "out: f32, 1e-5, relative"]
    document = json.loads(run("mneme", "replay", "-rdb", kernel, "--device", "cuda", *tolerance, "--iterations", "100", *options))
    return statistics.median(document["result"]["exec_time"])


def measure(folder: pathlib.Path, elements: int, rounds: int) -> None:
    names = [*SOURCE_RECIPES, *DEVICE_RECIPES]
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            times[name].append(float(run(folder / file_of(name), elements, 9, 200).split()[0]))
    database = folder / "record-db"
    recordable = folder / "filter-recordable"
    run("mneme", "record", "-rdb", database, "--device", "cuda", "--max", "1", "--", recordable, elements, 9, 3)
    options = {name: each[-1] for name, each in [*SOURCE_RECIPES.items(), *DEVICE_RECIPES.items()]}
    replays = {name: replayed(database, each) for name, each in options.items()}
    print("| recipe | in the program | gain | in a replay | gain |\n| --- | --- | --- | --- | --- |")
    before, before_replayed = statistics.median(times["as it is"]), replays["as it is"]
    for name in names:
        program, replay = statistics.median(times[name]), replays[name]
        cells = [name, f"{program / 1000:.1f} us", f"{before / program:.2f}", f"{replay / 1000:.1f} us", f"{before_replayed / replay:.2f}"]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "measure"])
    parser.add_argument("folder", type=pathlib.Path, help="where the programs are")
    parser.add_argument("--elements", type=int, default=1 << 26, help="elements of the filter (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all programs in turn (default: %(default)s)")
    given = parser.parse_args()
    if given.what == "build":
        build(given.folder.resolve())
    else:
        measure(given.folder.resolve(), given.elements, given.rounds)


if __name__ == "__main__":
    main()
