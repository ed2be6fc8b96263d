// A cache of compiled code on disk, which all processes share, so that the same code is not made twice.
//
// It has two kinds of entries in a DiskCache. The entry of a compilation names an object; its key is the digest of everything
// that the compilation depends on: the module, the options, the compiler's identity and this build of Mneme. The entry of an
// object holds the finished code with its facts; its key is the digest of the translation, the compiler's identity and this
// build. A compilation that was done before thus takes two reads, and one that leads to the same translation as another is not
// assembled again.
#pragma once

#include <memory>

#include "mneme/base/disk_cache.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// A compiler whose find(), compile() and assemble() look into `cache` first, and keep there what `inner` makes.
// CompiledCode::cache says what was found. It never fails where `inner` would not. translate(), emit() and disassemble() are
// those of `inner`.
std::unique_ptr<Compiler> create_caching_compiler(std::unique_ptr<Compiler> inner, std::shared_ptr<DiskCache> cache);

}  // namespace mneme
