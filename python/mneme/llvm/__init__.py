"""LLVM IR at hand: read, change and write modules, and run passes on them.

>>> module = mneme.llvm.example()
>>> for kernel in module.kernels:
...     print(kernel.name, [i.opcode for i in kernel.instructions if i.is_memory_access])
saxpy ['load', 'load', 'store']
>>> module.run("default<O2>")

What can go wrong raises an exception of `mneme.errors`, and nothing else. Misuse does, too: values that are gone, wrong
types, other modules' values. Only what a pass of yours raises goes on to you as it is.

>>> mneme.llvm.example().functions[99]
Traceback (most recent call last):
...
mneme.errors.NotFoundError: Values.__getitem__: tuple index out of range
"""

from __future__ import annotations

from mneme.llvm._analysis import FEATURES, CallGraph, DominatorTree, Loop
from mneme.llvm._attributes import Attributes
from mneme.llvm._builder import Builder
from mneme.llvm._function import Function, GlobalValue, GlobalVariable, LaunchBounds
from mneme.llvm._instruction import BasicBlock, Instruction
from mneme.llvm._metadata import AttachedMetadata, DebugLocation, Metadata
from mneme.llvm._module import Module, example, parse, read
from mneme.llvm._own_errors import class_with_own_errors
from mneme.llvm._passes import ModulePass, RegisteredPass, module_pass, registered_passes
from mneme.llvm._types import Type
from mneme.llvm._values import Argument, Constant, Use, Value, Values

__all__ = [
    "FEATURES",
    "Argument",
    "AttachedMetadata",
    "Attributes",
    "BasicBlock",
    "Builder",
    "CallGraph",
    "Constant",
    "DebugLocation",
    "DominatorTree",
    "Function",
    "GlobalValue",
    "GlobalVariable",
    "Instruction",
    "LaunchBounds",
    "Loop",
    "Metadata",
    "Module",
    "ModulePass",
    "RegisteredPass",
    "Type",
    "Use",
    "Value",
    "Values",
    "example",
    "module_pass",
    "parse",
    "read",
    "registered_passes",
]

for _class in (
    AttachedMetadata,
    Attributes,
    Value,  # before those that are made of it
    Argument,
    BasicBlock,
    Builder,
    CallGraph,
    Constant,
    DominatorTree,
    GlobalValue,
    Function,
    GlobalVariable,
    Instruction,
    LaunchBounds,
    Loop,
    Metadata,
    Module,
    Type,
    Values,
):
    class_with_own_errors(_class)
