// Compiled code kept on the disk, so that the same code is not made twice, by whichever process.
//
// Two kinds of entries of a DiskCache. A compilation's, by the digest of everything that it depends on (the module, the options,
// the compiler's identity, this build of Mneme), names an object. An object's, by the digest of the translation and the
// compiler's identity, is the finished code with what is known of it. So a compilation that was done before costs two reads, and
// one that ends in the same translation as another is not assembled again.
#pragma once

#include <memory>

#include "mneme/base/disk_cache.h"
#include "mneme/compile/compiler.h"

namespace mneme {

// A compiler like `inner` that looks into `cache` first, and keeps there what it makes. CompiledCode::cache says what was found.
// Never fails where `inner` would not.
std::unique_ptr<Compiler> create_caching_compiler(std::unique_ptr<Compiler> inner, std::shared_ptr<DiskCache> cache);

}  // namespace mneme
