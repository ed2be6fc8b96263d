# The code of recorded HIP kernels: its stages, specialised, as built, for other architectures without a device, with passes of one's own.
needs_hip
compile_hip "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --max 1 --device cpu -- ./vecadd 5000
expect 0 mneme ir db add --stage recorded
contains out 'target triple = "amdgcn-amd-amdhsa"'
expect 0 mneme ir db add --stage specialised
expect 0 mneme ir db add
contains out "amdgpu_kernel"
expect 0 mneme ir db add --stage asm
contains out '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"'
expect 0 mneme ir db add --stage asm --device cpu
contains out "retq"
expect 0 mneme ir db add --stage asm --arch gfx942
contains out '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"'
expect 0 mneme ir db add --stage sass --arch gfx942
contains out "s_endpgm"
expect 0 mneme ir db add --stage asm --launch-bounds 512 --waves-per-eu 2
contains out ".amdhsa_kernel"
expect 2 mneme ir db add --launch-bounds 128 --stage asm
contains err "specialise.max_threads is 128, and a block of the launch has 256 threads"
expect 2 mneme ir db add --stage asm --arch sm_90
contains err "compiling for sm_90: the module is for 'amdgcn-amd-amdhsa', not for NVIDIA GPUs"
# IR in place of the recorded one.
expect 0 mneme ir db add --stage recorded -o other.ll
sed -i 's/fadd/fsub/' other.ll
expect 1 mneme replay db add --device cpu --iterations 1 --ir other.ll

# Specialised: what is read of the launch are constants, on both kinds of code.
replay() { expect 0 mneme replay db add --device cpu --iterations 1 "$@"; }
replay --specialise all --specialise-dims --specialise-ranges
[ "$(json out 'd["result"]["specialised"]["dimensions"]["block"]["x"]')" = 256 ] || fail "the block is not said"
replay --align --no-alias
[ "$(json out 'len(d["result"]["specialised"]["no_alias"])')" = 3 ] || fail "three arrays of their own are not proven to be"
expect 0 mneme ir db add --specialise-dims
lacks out "llvm.amdgcn.implicitarg.ptr()"
expect 2 mneme replay db add --device cpu --launch-bounds 256
contains err "specialise.max_threads has no effect on the CPU device: leave it out there"
expect 2 mneme replay db add --device cpu --waves-per-eu 2
contains err "specialise.waves_per_eu has no effect on the CPU device"

# Without a device: registers, size and occupancy of the code for the recorded GPU and for another.
expect 0 mneme replay db add --compile-only
[ "$(json out 'd["result"]["stage"], d["result"]["device"], d["result"]["reg_usage"] > 0, d["result"]["waves_per_eu"] > 0')" = "('compiled', 'gfx90a', True, True)" ] ||
  fail "what is known of the code"
expect 0 mneme sweep db add --compile-only --arch gfx942 --grid 'passes=default<O0>|default<O3>' --grid 'specialise.waves_per_eu=1|8' --results-dir swept
contains out "4 of 4 configurations done: 4 compiled, and not run"
contains out "as recorded (as-built: default<O2>), for gfx942: "

# Passes: from a file, of AMD's target, and of a plugin, which makes the kernel wrong.
printf 'default<O1>,\n  function(\n    sroa, gvn\n  )\n' >passes
replay @passes
replay "function(amdgpu-promote-kernel-arguments),default<O2>"
expect 0 mneme sweep db add --device cpu --iterations 1 --grid 'passes=as-built|function(amdgpu-promote-kernel-arguments),default<O2>' --results-dir passes.swept
contains out "2 of 2 configurations done: 2 verified"
expect 2 mneme replay db add --device cpu "function(instcombin),default<O3>"
contains err "unknown function pass 'instcombin'; did you mean 'instcombine'?"
"$(mneme config cxx)" -std=c++20 -fPIC -shared -fno-rtti -isystem /usr/lib/llvm-22/include -o subtract.so "$CASE_FOLDER/../../mneme/compile/testing/pass_plugin.cc"
expect 1 mneme replay db add --device cpu --iterations 1 --load-pass-plugin subtract.so "function(test-subtract),default<O3>"

# A long function that is called is called in the code of the pipeline that the program had, and gives what the program gave.
for level in O0 O2 O3; do
  compile_hip "$CASE_FOLDER/programs/long_function.cu" program -$level
  rm -rf built
  expect 0 mneme record -rdb built --max 1 --device cpu -- ./program
  expect 0 mneme show built "relax(float*, float, float, int)"
  contains out "compiled by   default<$level>"
  expect 0 mneme replay --device cpu --iterations 1 built "relax(float*, float, float, int)" --json
  [ "$(json out 'd["configuration"]["passes"], d["result"]["verified"]')" = "('as-built', True)" ] || fail "not verified as built at $level"
done
