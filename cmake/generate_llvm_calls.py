#!/usr/bin/env python3
"""generate_llvm_calls.py NM LIBRARY OUTPUT OBJECT...

Writes the assembly of what libmneme.so has of functions that are in LIBRARY (libmneme_llvm.so): an entry of each function of the
namespace mneme that the OBJECTs define. It jumps through a table, whose elements lead to the loading of LIBRARY until their functions
were looked up (mneme/library/llvm_calls.cc).
"""
import subprocess
import sys

FIRST_CALL = """
# What a call has in registers stays as it is. The place in the table is on the stack.
        .p2align 4
mneme_llvm_first_call:
        pushq   %rax
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        subq    $136, %rsp
{save}
        movq    192(%rsp), %rdi
        callq   mneme_llvm_address
        movq    %rax, %r11
{restore}
        addq    $136, %rsp
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %rax
        addq    $8, %rsp
        jmpq    *%r11
"""


def functions(nm: str, objects: list[str]) -> list[str]:
    told = subprocess.run([nm, "--defined-only", "--extern-only", "--format=posix", *objects], check=True, capture_output=True, text=True)
    words = [line.split() for line in told.stdout.splitlines()]
    return sorted({word[0] for word in words if len(word) > 1 and word[1] == "T" and word[0].startswith(("_ZN5mneme", "_ZNK5mneme"))})


def main() -> None:
    nm, library, output, *objects = sys.argv[1:]
    names = functions(nm, objects)
    lines = ["        .text"]
    for place, name in enumerate(names):
        # A pointer to a member says by its lowest bit whether the function is virtual, so that functions begin at even addresses.
        lines += ["        .p2align 4", f"        .globl  {name}", f"        .type   {name}, @function", f"{name}:", f"        jmpq    *mneme_llvm_table+{8 * place}(%rip)",
                  f"        .size   {name}, .-{name}", f".Lfirst{place}:", f"        pushq   ${place}", "        jmp     mneme_llvm_first_call"]
    registers = range(8)
    lines.append(FIRST_CALL.format(save="\n".join(f"        movups  %xmm{i}, {16 * i}(%rsp)" for i in registers),
                                   restore="\n".join(f"        movups  {16 * i}(%rsp), %xmm{i}" for i in registers)))
    lines += ["        .data", "        .p2align 3", "        .globl  mneme_llvm_table", "        .hidden mneme_llvm_table", "mneme_llvm_table:"]
    lines += [f"        .quad   .Lfirst{place}" for place in range(len(names))]
    lines += ["        .section .data.rel.ro,\"aw\"", "        .p2align 3", "        .globl  mneme_llvm_names", "        .hidden mneme_llvm_names",
              "mneme_llvm_names:"]
    lines += [f"        .quad   .Lname{place}" for place in range(len(names))]
    lines += ["        .section .rodata"]
    lines += [f'.Lname{place}: .asciz "{name}"' for place, name in enumerate(names)]
    lines += ["        .globl  mneme_llvm_library", "        .hidden mneme_llvm_library", f'mneme_llvm_library: .asciz "{library}"']
    # LLVM's headers have each source that includes them name this, so that it does not link with an LLVM of other checks.
    for check in ("24DisableABIBreakingChecksE", "23EnableABIBreakingChecksE"):
        lines += ["        .bss", "        .p2align 2", f"        .globl  _ZN4llvm{check}", f"        .hidden _ZN4llvm{check}", f"_ZN4llvm{check}: .zero 4"]
    lines += ['        .section .note.GNU-stack,"",@progbits', ""]
    with open(output, "w", encoding="ascii") as file:
        file.write("\n".join(lines))


if __name__ == "__main__":
    main()
