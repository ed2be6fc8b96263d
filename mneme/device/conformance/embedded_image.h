// The bytes of the file MNEME_CONFORMANCE_IMAGE, inside the executable. Included once, by a target.
//
// The assembler includes it (.incbin), and not #embed, because compiler caches know the one and do not know the other.
#pragma once

#include "mneme/base/types.h"

asm(".pushsection .rodata, \"a\"\n"
    ".balign 16\n"
    "mneme_conformance_image_begin: .incbin \"" MNEME_CONFORMANCE_IMAGE
    "\"\n"
    "mneme_conformance_image_end: .byte 0\n"
    ".popsection");

extern "C" __attribute__((visibility("hidden"))) const std::byte mneme_conformance_image_begin[], mneme_conformance_image_end[];

namespace mneme::conformance {

// The bytes, without the zero byte that follows them and ends an image that is text.
inline ByteSpan embedded_image() { return {mneme_conformance_image_begin, mneme_conformance_image_end}; }

}  // namespace mneme::conformance
