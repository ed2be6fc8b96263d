# What the libraries export. In a user's program nothing of Mneme may meet what is the program's own, and libmneme.so has nothing but
# the C++ API: what it is made of stays inside.
exported() { nm -D -C --defined-only --extern-only "$MNEME_PREFIX/lib/$1" | cut -d ' ' -f 3- | { grep -v ' for std::' || true; } | sort >exported; }
for interposer in libmneme_record.so libmneme_emulation.so; do
  exported "$interposer"
  [ "$(cat exported)" = mneme_attach ] || fail "$interposer exports $(head -c 500 exported)"
done
exported libmneme_instrument.so
[ "$(cat exported)" = llvmGetPassPluginInfo ] || fail "the plugin exports $(head -c 500 exported)"

exported libmneme.so
grep -q '^mneme::Pool::open' exported || fail "libmneme.so has no mneme::Pool::open"
others=$({ grep -vE '^((typeinfo|typeinfo name|vtable) for )?mneme::' exported || true; } | head -n 5)
[ -z "$others" ] || fail "libmneme.so exports $others"
