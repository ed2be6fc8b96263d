# The sources of a pass pipeline: the command line, a file, a configuration, and plugins with passes of one's own.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --max 1 --device cpu -- ./vecadd
kernel=$(echo db/*.json)
replay() { mneme replay --device cpu -rdb "$kernel" --iterations 1 "$@"; }

printf '# twice\ndefault<O1>,\n  function(\n    sroa, gvn\n  )\n' >passes
for arguments in @passes "--passes-file passes"; do
  # shellcheck disable=SC2086  # two words
  expect 0 replay $arguments
  [ "$(json out 'd["configuration"]["passes"]')" = "default<O1>,function(sroa,gvn)" ] || fail "the file's pipeline is not the one"
done
expect 2 replay @nowhere
contains err "reading the pass pipeline: opening nowhere"
expect 64 replay sroa --passes-file passes

# A plugin's pass makes the kernel wrong, which the replay sees, and is in the code; without the plugin there is no such pass.
plugin() {
  "$(mneme config cxx)" -std=c++20 -fPIC -shared -fno-rtti -isystem /usr/lib/llvm-22/include "$@" \
    "$CASE_FOLDER/../../mneme/compile/testing/pass_plugin.cc"
}
plugin -o subtract.so
expect 1 replay --load-pass-plugin subtract.so "function(test-subtract),default<O3>"
[ "$(json out 'd["configuration"]["pass_plugins"]')" = "['$PWD/subtract.so']" ] || fail "the configuration does not name the plugin"
mv out result.json
expect 1 replay --config result.json
expect 0 replay --load-pass-plugin subtract.so
expect 0 mneme ir "$kernel" --stage asm --load-pass-plugin subtract.so "function(test-subtract),default<O3>"
contains out "sub.f32"
expect 2 replay "function(test-subtract),default<O3>"
contains err "unknown"
expect 2 replay "function(instcombin),default<O3>"
contains err "unknown function pass 'instcombin'; did you mean 'instcombine'?"

plugin -DTEST_API_VERSION=1 -o old.so
expect 2 replay --load-pass-plugin old.so
contains err "it has version 1 of LLVM's plugin interface"
contains out '"failed": true'
expect 2 replay --load-pass-plugin missing.so
contains err "missing.so: there is no such file"
expect 2 replay --load-pass-plugin substract.so
contains err "substract.so: there is no such file; did you mean 'subtract.so'?"
expect 2 replay --load-pass-plugin passes
contains err "it is no shared library"
