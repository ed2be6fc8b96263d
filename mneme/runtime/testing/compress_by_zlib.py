"""compress_by_zlib.py PLAIN COMPRESSED: a bundle as a clang without zstd compresses it (format version 2)."""

import hashlib
import pathlib
import struct
import sys
import zlib

plain, compressed = map(pathlib.Path, sys.argv[1:])
content = plain.read_bytes()
data = zlib.compress(content)
digest = hashlib.md5(content).digest()[:8]
compressed.write_bytes(struct.pack("<4sHHII8s", b"CCOB", 2, 0, 24 + len(data), len(content), digest) + data)
