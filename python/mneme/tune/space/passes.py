"""Lists of passes for `Pipeline`, each a text that LLVM takes at the top of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mneme.errors import InvalidArgumentError
from mneme.tune.names import nearest

DEFAULTS: tuple[str, ...] = ("default<O3>", "default<O2>", "default<O1>", "default<Os>", "default<Oz>")
"""LLVM's own pipelines."""

USEFUL: tuple[str, ...] = (
    "function(sroa)",
    "function(early-cse<memssa>)",
    "function(instcombine)",
    "function(simplifycfg)",
    "function(simplifycfg<sink-common-insts;hoist-common-insts>)",
    "function(gvn)",
    "function(newgvn)",
    "function(gvn-hoist)",
    "function(gvn-sink)",
    "function(sink)",
    "function(reassociate)",
    "function(nary-reassociate)",
    "function(slsr)",
    "function(separate-const-offset-from-gep)",
    "function(correlated-propagation)",
    "function(constraint-elimination)",
    "function(jump-threading)",
    "function(speculative-execution)",
    "function(flatten-cfg)",
    "function(dse)",
    "function(adce)",
    "function(bdce)",
    "function(mldst-motion)",
    "function(div-rem-pairs)",
    "function(infer-address-spaces)",
    "function(load-store-vectorizer)",
    "function(slp-vectorizer)",
    "function(loop-vectorize)",
    "function(loop-distribute)",
    "function(loop-load-elim)",
    "function(loop-fusion)",
    "function(loop-data-prefetch)",
    "function(loop-unroll<O3>)",
    "function(loop-unroll<O3;full-unroll-max=64>)",
    "function(loop-unroll<no-partial;no-runtime>)",
    "function(loop(loop-rotate))",
    "function(loop(indvars))",
    "function(loop(loop-idiom))",
    "function(loop(loop-unroll-full))",
    "function(loop(loop-reduce))",
    "function(loop-mssa(licm))",
    "function(loop-mssa(loop-instsimplify))",
    "function(loop-mssa(simple-loop-unswitch<nontrivial>))",
    "cgscc(inline)",
    "globalopt",
    "ipsccp",
    "deadargelim",
    "globaldce",
)
"""Passes that can make a kernel faster: loops, memory, redundancy, control flow."""

# They print, check, count or instrument, are parts of others, or made for other targets and languages.
_WORDS = """
print verify invalidate require no-op trigger- dump debugify check-debugify lint helloworld kernel-info instcount
count-visits func-properties aa-eval pa-eval transform-warning instnamer metarenamer asan hwasan msan tsan tysan
nsan rtsan dfsan sancov sanmd memprof pgo prof- instrprof insert-gcov instr-profiling gcov ctx- pseudo-probe sample-
profile cg-profile strip-dead-cg-profile hipstdpar embed-bitcode thinlto fatlto lto default write- assign-guid
annotation name-anon rewrite-symbols ee-instrument post-inline-ee coro- objc- wasm- win- dxil- sjlj- dwarf- gc-
lowering strip-gc shadow-stack rewrite-statepoints place-safepoints cfguard kcfi cross-dso jmc- free-machine
extract-blocks function-import function-simplification expand-ir-insts lower-emutls lower-ifunc canon-freeze
inliner- declare-runtime
"""
_OF_NO_USE = tuple(_WORDS.split())
# The others run without it too.
_NEED_MEMORY_SSA = ("licm", "lnicm")


def registered() -> tuple[str, ...]:
    """All passes that LLVM has registered, without their parameters; not those that print, count or instrument.

    Many are made for other code, and a configuration with them fails or is as before: that is a result too.

    >>> "function(loop-mssa(licm))" in registered()
    True
    """
    from mneme import _native

    texts: dict[str, None] = {}
    for level, name, _ in _native.registered_passes():
        if not name.startswith(_OF_NO_USE):
            texts[_at_top(level, name)] = None
    return tuple(texts)


def named(value: Any) -> Sequence[str]:
    """A list by its name ("defaults", "useful", "registered"), or the list that is given.

    Raises InvalidArgumentError for another name.
    """
    lists = {"defaults": lambda: DEFAULTS, "useful": lambda: USEFUL, "registered": registered}
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    if value not in lists:
        raise InvalidArgumentError(f"there is no list of passes '{value}'{nearest(value, lists)}")
    return lists[value]()


def _at_top(level: str, name: str) -> str:
    if level == "module":
        return name
    if level != "loop":
        return f"{level}({name})"
    return f"function(loop-mssa({name}))" if name in _NEED_MEMORY_SSA else f"function(loop({name}))"
