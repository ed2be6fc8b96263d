"""cubin_sections.py ONE OTHER: ends with 1 unless the code of two cubins is the same, section by section.

Left out is what the assembler writes of itself and of its command: names, notes, and debug information with its paths.
"""

import struct
import sys

LEFT_OUT = (".strtab", ".shstrtab", ".symtab", ".note", ".debug", ".nv_debug", ".nv.compat", ".rel.debug", ".rel.nv_debug")


def sections(path: str) -> dict[str, bytes]:
    data = open(path, "rb").read()
    assert data[:4] == b"\x7fELF", f"{path} is no ELF file"
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    names = data[headers[names_at][4] :]
    found = {}
    for name, kind, _, _, at, length in headers:
        text = names[name : names.index(b"\0", name)].decode()
        if text and not text.startswith(LEFT_OUT):
            found[text] = b"" if kind == 8 else data[at : at + length]  # 8: it has no bytes in the file
    return found


one, other = sections(sys.argv[1]), sections(sys.argv[2])
code = [name for name in one if name.startswith(".text.")]
different = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
print(f"{len(one)} sections, {len(code)} with code; different: {different}")
sys.exit(1 if different or not code else 0)
