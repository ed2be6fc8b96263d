# What the libraries export. In a user's program nothing of Mneme may meet what is the program's own, and libmneme.so has nothing but
# the C++ API: what it is made of stays inside.
exported() { nm -D -C --defined-only --extern-only "$MNEME_PREFIX/lib/$1" | cut -d ' ' -f 3- | { grep -v ' for std::' || true; } | sort >exported; }
exported libmneme_emulation.so
[ "$(cat exported)" = mneme_attach ] || fail "the emulation exports $(head -c 500 exported)"
exported libmneme_record.so
[ "$(tr '\n' ' ' <exported)" = "mneme_attach mneme_attach_driver " ] || fail "the recorder exports $(head -c 500 exported)"
exported libmneme_tuned.so
[ "$(tr '\n' ' ' <exported)" = "mneme_attach mneme_attach_driver " ] || fail "what runs deployed code exports $(head -c 500 exported)"
! readelf -d "$MNEME_PREFIX/lib/libmneme_tuned.so" | grep -q LLVM || fail "what runs deployed code needs LLVM"
# What is preloaded has the names that it stands before, and needs nothing but libc.
exported libmneme_preload.so
others=$(grep -vE '^(cu[A-Z]\w+|dlsym)$' exported || true)
[ -z "$others" ] || fail "the preloaded library exports $others"
grep -qx cuLaunchKernel exported || fail "the preloaded library does not stand before cuLaunchKernel"
needed=$(readelf -d "$MNEME_PREFIX/lib/libmneme_preload.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "the preloaded library needs $needed"
exported libmneme_instrument.so
[ "$(cat exported)" = llvmGetPassPluginInfo ] || fail "the plugin exports $(head -c 500 exported)"

exported libmneme.so
grep -q '^mneme::Pool::open' exported || fail "libmneme.so has no mneme::Pool::open"
others=$({ grep -vE '^((typeinfo|typeinfo name|vtable) for )?mneme::' exported || true; } | head -n 5)
[ -z "$others" ] || fail "libmneme.so exports $others"
! readelf -d "$MNEME_PREFIX/lib/libmneme.so" | grep -q LLVM || fail "libmneme.so needs LLVM"

# What is made of LLVM: libmneme.so has an entry of each of its functions.
library=$(basename "$MNEME_PREFIX"/lib/libmneme_llvm.so.*)
exported "$library"
others=$({ grep -vE '^((typeinfo|typeinfo name|vtable) for )?mneme::' exported || true; } | head -n 5)
[ -z "$others" ] || fail "$library exports $others"
readelf -d "$MNEME_PREFIX/lib/$library" | grep -q LLVM || fail "$library does not need LLVM"
