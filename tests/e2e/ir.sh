# mneme ir: every stage of a recorded launch's code, for both kinds of device, under a configuration.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --max 1 --device cpu -- ./vecadd
kernel=$(echo db/*.json)
name=$(json "$kernel" 'd["kernel"]["name"]' 2>/dev/null || json "$kernel" 'd["name"]')

expect 0 mneme ir "$kernel" --stage recorded
contains out "$name"
contains out 'target triple = "nvptx64-nvidia-cuda"'
expect 0 mneme ir "$kernel" --stage specialised
contains out "@$name("
lacks out optnone
mv out specialised
expect 0 mneme ir "$kernel"
mv out optimised
expect 0 mneme show --json "$kernel"
expect 0 mneme ir "$kernel" --stage optimised as-built -rid "$(json out 'd["instances"][0]["dynamic_hash"]')"
cmp -s out optimised || fail "the default is not the optimised stage as built"
expect 0 mneme ir "$kernel" "default<O0>"
! cmp -s out optimised || fail "the pipeline has no effect"
[ "$(grep -c alloca specialised)" -gt "$(grep -c alloca optimised || true)" ] || fail "the optimised stage is not optimised"

expect 0 mneme ir "$kernel" --stage asm
contains out ".visible .entry $name("
contains out ".target sm_90"
expect 0 mneme ir "$kernel" --stage asm --device cpu
contains out "retq"

# What makes the code reaches it, from options and from a file; a target that no device here runs is for looking at only.
expect 0 mneme ir "$kernel" --stage asm --target sm_80 --contraction off
contains out ".target sm_80"
contains out "add.rn.f32"
echo '{"passes": "default<O1>", "codegen": {"ftz": "on", "features": "+ptx83"}}' >c.json
expect 0 mneme ir "$kernel" --stage asm --config c.json
contains out "add.ftz.f32"
contains out ".version 8.3"
expect 2 mneme ir "$kernel" --stage asm --device cpu --ftz on
contains err "does not flush denormal numbers"
expect 2 mneme ir "$kernel" --mattr +ptx8x3
contains err "sm_90 has no feature 'ptx8x3'; did you mean 'ptx83'?"
expect 64 mneme ir "$kernel" --fast-math quick
expect 0 mneme replay --device cpu -rdb "$kernel" --contraction fast --fast-math nnan,nsz
expect 2 mneme replay --device cpu -rdb "$kernel" --target sm_80
contains err "not for the target 'sm_80'"

# Into a file, as text and as bitcode, which is the same code.
expect 0 mneme ir "$kernel" -o optimised.ll
cmp -s optimised optimised.ll || fail "-o writes something else"
[ ! -s out ] || fail "-o writes to standard output too"
expect 0 mneme ir "$kernel" --bitcode -o optimised.bc
[ "$(head -c 2 optimised.bc)" = BC ] || fail "--bitcode writes no bitcode"
expect 64 mneme ir "$kernel" --bitcode --stage asm
contains err "--bitcode is of IR, and the stage 'asm' is text"
expect 64 mneme ir "$kernel" --bitcode --stage sass
contains err "--bitcode is of IR, and the stage 'sass' is text"
# IR in place of the recorded one.
expect 0 mneme ir "$kernel" --stage recorded -o other.ll
sed -i 's/fadd/fsub/' other.ll
expect 0 mneme ir "$kernel" --stage asm --ir other.ll
contains out "sub.f32"
lacks out "add.f32"
expect 64 mneme ir "$kernel" --stage compiled
expect 2 mneme ir "$kernel" -o nowhere/optimised.ll
contains err nowhere

# What is no regular file is written to as it is, and a link's target is what is replaced. The device is a node of this folder.
mkfifo fifo
cat fifo >heard &
expect 0 mneme ir "$kernel" -o fifo
wait $!
cmp -s optimised heard || fail "the reader of a FIFO hears something else"
[ -p fifo ] || fail "the FIFO was replaced by a file"
if mknod null c 1 3 2>/dev/null; then
  expect 0 mneme ir "$kernel" -o null
  [ -c null ] || fail "the device was replaced by a file"
fi
mkdir elsewhere
ln -s elsewhere/optimised.ll link.ll
expect 0 mneme ir "$kernel" -o link.ll
[ -L link.ll ] && cmp -s optimised elsewhere/optimised.ll || fail "the link's target is not what was written"

# The instructions, where there is nvdisasm; it is not where it was looked for.
expect 2 mneme ir "$kernel" --stage sass --device cpu
contains err "the CPU device's objects are not disassembled"
if [ ! -e /usr/local/cuda/bin/nvdisasm ]; then
  expect 2 env CUDA_HOME=/nonexistent PATH="$MNEME_PREFIX/bin" mneme ir "$kernel" --stage sass
  contains err "not at /nonexistent/bin/nvdisasm, /usr/local/cuda/bin/nvdisasm"
fi
mkdir tools
printf '#!/bin/sh\necho "disassembled $1 $(head -c 4 "$2" | tail -c 3)"\n' >tools/nvdisasm
chmod +x tools/nvdisasm
if [ ! -e /usr/local/cuda/bin/nvdisasm ] && [ ! -e "$CUDA_HOME/bin/nvdisasm" ]; then
  expect 0 env PATH="$PWD/tools:$PATH" mneme ir "$kernel" --stage sass
  contains out "disassembled -c ELF"
else
  expect 0 mneme ir "$kernel" --stage sass
  contains out EXIT
fi
