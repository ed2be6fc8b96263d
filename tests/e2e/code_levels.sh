# A kernel of a program that nobody rebuilt: what the commands tell of its code, and what they refuse where there is no GPU.
corpus=$(realpath "$CASE_FOLDER/../corpora/3.0")

expect 0 mneme ls "$corpus"
contains out "ON DISK  CODE  KERNEL"
contains out "152 KiB  ptx   scale(int*, int, int)"
expect 0 mneme ls "$corpus" --json
[ "$(json out 'd["kernels"][0]["code"], [i["kind"] for i in d["kernels"][0]["images"]]')" = "('ptx', ['cubin', 'ptx'])" ] || fail "images"
expect 0 mneme ls "$CASE_FOLDER/../corpora/2.2"
lacks out CODE

expect 0 mneme show --check "$corpus" scale
contains out "code          cubin, sm_90, 4.67 KiB (Image_7c06eecb5d9f2e50820aa664c502fa27.cubin)"
contains out "code          PTX, sm_90, 1.39 KiB (Image_09031196790fe240b29d9fb9e400dedf.ptx)"
contains out "no LLVM IR: a replay can change what the assembler makes of the PTX, and the launch"
contains out "argument    #1 = 0x9c40 (4 B)"
contains out "attribute   programmatic_stream_serialization = 1"
contains out "checked: the code, 1 instance and 10 pages: all whole"
expect 0 mneme show --json "$corpus" scale
[ "$(json out 'd["ir"], d["order_dependences"]')" = "(None, None)" ] || fail "the IR"

for stage in recorded specialised optimised; do
  expect 2 mneme ir "$corpus" scale --stage $stage
  contains err "the stage '$stage': the kernel was recorded as PTX, without LLVM IR; --stage asm shows the PTX"
done
expect 0 mneme ir "$corpus" scale --stage asm
contains out ".visible .entry _Z5scalePiii("
expect 2 mneme ir "$corpus" scale --stage asm --specialise-dims
contains err "specialise.dimensions: the kernel was recorded as PTX: there is no IR that it could change; leave it out"
expect 2 mneme ir "$corpus" scale 'default<O2>' --stage asm
contains err "passes: the kernel was recorded as PTX: there is no IR that passes could change; leave the pipeline out, or say as-built"
expect 2 mneme ir "$corpus" scale --stage asm --max-registers 10
contains err "assembler.max_registers is 10, fewer than the 24 registers"

no_cpu="the kernel was recorded as PTX, without LLVM IR: it can be replayed on a CUDA device (--device cuda), and not on the CPU device"
for command in replay check diff "sweep --grid block.x=64|128"; do
  # shellcheck disable=SC2086  # a command and its options
  expect 2 mneme $command "$corpus" scale --device cpu
  contains err "$no_cpu"
done
expect 2 mneme replay "$corpus" scale --device cpu --json
[ "$(json out 'd["configuration"]["passes"]')" = as-built ] || fail "the pipeline"
expect 2 mneme replay "$corpus" scale as-built --device cpu

# An image that is damaged is named, and the rest is told all the same.
cp -r "$corpus" damaged
printf x | dd of=damaged/Image_09031196790fe240b29d9fb9e400dedf.ptx bs=1 seek=90 conv=notrunc 2>dd.log
expect 2 mneme ls damaged
contains out "scale(int*, int, int)"
contains err "Image_09031196790fe240b29d9fb9e400dedf.ptx: offset 24: the file's checksum is wrong: it was damaged"
expect 2 mneme show --check damaged scale
contains err "offset 24: the file's checksum is wrong"
