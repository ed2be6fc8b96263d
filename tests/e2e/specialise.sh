# Specialisation, launch relations and IR in place of the recorded one, on two examples.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
compile "$EXAMPLES/stencil/stencil.cu" stencil
expect 0 mneme record -rdb db --max 1 --device cpu -- ./vecadd
add=$(echo db/*.json)
expect 0 mneme record -rdb stencils --max 1 --device cpu -- ./stencil
step=$(echo stencils/*.json)
name=$(json "$add" 'd["kernel"]["name"]')
replay() { expect 0 mneme replay --device cpu --iterations 1 -rdb "$@"; }

# Each is right, and the result says what was taken for granted.
replay "$add" --specialise 3
[ "$(json out 'd["result"]["specialised"]["arguments"]')" = "$(json "$add" '[d["kernel"]["parameters"][3]["name"] or "3"]')" ] ||
  fail "the argument is not named"
replay "$add" --specialize all --specialise-dims --specialise-ranges
[ "$(json out 'len(d["result"]["specialised"]["arguments"])')" = 4 ] || fail "not all arguments are constants"
[ "$(json out 'd["result"]["specialised"]["dimensions"]["block"]["x"]')" = 256 ] || fail "the block is not said"
replay "$add" --align --no-alias
[ "$(json out 'd["result"]["specialised"]["no_alias"]')" = "$(json "$add" '[p["name"] or str(i) for i, p in enumerate(d["kernel"]["parameters"][:3])]')" ] ||
  fail "three arrays of their own are not proven to be"
[ "$(json out 'min(d["result"]["specialised"]["alignment"].values()) >= 512')" = True ] || fail "allocations are not aligned"
# The stencil's output is written, and its threads wait for each other.
replay "$step" --no-alias
[ "$(json out 'len(d["result"]["specialised"]["no_alias"])')" = 1 ] || fail "what is only read is not proven not to alias"
contains out "the kernel writes through it, and its threads wait for each other"
replay "$step" --specialise all --specialise-dims --align

# The code is that of the facts.
expect 0 mneme ir "$add" --specialise 3 --specialise-dims --no-alias --stage specialised
contains out noalias
lacks out "call i32 @llvm.nvvm.read.ptx.sreg.ntid.x"
expect 0 mneme ir "$add" --specialise 3 --specialise-dims --stage asm
lacks out "%ntid.x"
lacks out "[${name}_param_3]"
for cap in --maxnreg --max-registers; do
  expect 2 mneme ir "$add" $cap 4 --stage asm
  contains err ".max_registers is 4, fewer than the 24 registers that the calling convention needs on sm_90: ask for 24 to 255, or leave it out"
done
expect 0 mneme ir "$add" --launch-bounds 512,2 --max-cluster 2 --maxnreg 40 --stage asm
for directive in ".maxntid 512" ".minnctapersm 2" ".maxclusterrank 2" ".maxnreg 40"; do contains out "$directive"; done

# What cannot be is refused.
expect 2 mneme replay --device cpu -rdb "$add" --specialise 4
contains err "has no parameter '4'; it has"
expect 2 mneme replay --device cpu -rdb "$add" --launch-bounds 256
contains err "specialise.max_threads has no effect on the CPU device: leave it out there"
expect 64 mneme replay --device cpu -rdb "$add" --launch-bounds many
contains err "MAX or MAX,MIN is expected"
expect 2 mneme ir "$add" --launch-bounds 128 --stage asm
contains err "specialise.max_threads is 128, and a block of the launch has 256 threads"

# As many threads in other blocks.
replay "$add" --keep-threads --block-dim-x 64
mneme show --json "$add" >shown
[ "$(json out 'd["result"]["grid"]["x"] * 64')" = "$(json shown 'd["instances"][0]["grid"]["x"] * 256')" ] || fail "threads are lost"
expect 2 mneme replay --device cpu -rdb "$add" --keep-threads --block-dim-x 96
contains err "which blocks of 96 do not divide"
expect 2 mneme replay --device cpu -rdb "$add" --keep-threads --grid-dim-x 4
contains err "keep_threads computes grid.x, which is given as 4"

# Other IR in the place of the recorded one, which the configuration holds to.
expect 0 mneme ir "$add" --stage recorded -o same.ll
sed 's/fadd\( contract\)\? float/fsub\1 float/' same.ll >wrong.ll
replay "$add" --ir same.ll
mv out pinned.json
expect 1 mneme replay --device cpu --iterations 1 -rdb "$add" --ir wrong.ll
expect 0 mneme ir "$add" --bitcode --stage recorded -o same.bc
replay "$add" --ir same.bc
expect 0 mneme replay --device cpu --iterations 1 -rdb "$add" --config pinned.json
cp wrong.ll same.ll
expect 2 mneme replay --device cpu --iterations 1 -rdb "$add" --config pinned.json
contains err "has changed: its digest is"
expect 2 mneme replay --device cpu -rdb "$step" --ir wrong.ll
contains err "does not define the recorded kernel"
