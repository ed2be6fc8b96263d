# Code that is made and not run: replay, sweep and tune with --compile-only, and the architectures of any kind of device.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd 5000

# One launch: what is known of the code, and no more.
expect 0 mneme replay db add --compile-only --arch x86-64-v3
[ "$(json out 'd["result"]["stage"], d["result"]["executed"], d["result"]["verified"], d["result"]["failed"]')" = "('compiled', False, False, False)" ] || fail "$(cat out)"
[ "$(json out 'd["result"]["device"], d["result"]["device_kind"]')" = "('x86-64-v3', None)" ] || fail "the architecture"
[ "$(json out 'd["result"]["instructions"] > 0 and d["result"]["obj_size"] > 0 and d["result"]["exec_time"] == []')" = True ] || fail "the code"
expect 0 mneme replay db add --compile-only --arch x86-64-v3 --all-instances
[ "$(json out '"verified" in d, d["instances"][0]["result"]["stage"]')" = "(False, 'compiled')" ] || fail "all instances"

# Knobs of another kind, and architectures that there are not.
expect 2 mneme replay db add --compile-only --arch x86-64-v3 --code-object 6
contains err "codegen.code_object has no effect on the CPU device: leave it out there"
expect 2 mneme replay db add --compile-only --arch gfx942
contains err "compiling for gfx942: the module is for 'nvptx64-nvidia-cuda', not for AMD GPUs"
expect 2 mneme replay db add --compile-only --arch riscv
contains err "there is no compiler for the architecture 'riscv' in this build; the names of those that there are begin with sm_, gfx, x86-64-v3"
expect 64 mneme replay db add --arch gfx942
contains err "--compile-only"
expect 64 mneme replay db add --compile-only --device cpu
contains err "--device"

# mneme ir has the architecture alone.
expect 0 mneme ir db add --stage asm --arch x86-64-v3
contains out ".text"
expect 0 mneme ir db add --stage asm --arch sm_80
contains out ".target sm_80"

# A sweep ranks code, has no best.json, and goes on.
expect 0 mneme sweep db add --compile-only --arch x86-64-v3 --grid 'passes=default<O0>|default<O3>' --grid 'codegen.ftz=off|on' --results-dir swept
contains out "RANK  passes"
contains out "INSTRUCTIONS  REGISTERS"
contains out "as recorded (as-built: default<O2>), for x86-64-v3: "
contains out "4 of 4 configurations done: 2 compiled, and not run, 2 failed"
contains out "the CPU device does not flush denormal numbers to zero: ftz can only be recorded or off"
[ ! -e swept/best.json ] || fail "there is a best.json"
lacks err "mneme replay"
expect 0 mneme sweep --resume swept --json
[ "$(json out 'd["compiled_for"], d["device"], d["resumed"], d["verified"], len(d["best"]) >= 2')" = "('x86-64-v3', None, 4, 0, True)" ] || fail "resumed"
[ "$(json out 'd["best"][0]["result"]["stage"]')" = compiled ] || fail "the best"
