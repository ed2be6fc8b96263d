# Wrong requests to replay, ls and show: each its own message and exit status, and never a crash.
compile "$EXAMPLES/cg/cg.cu" cg
expect 0 mneme record -rdb db --max 2 --device cpu -- ./cg
expect 0 mneme ls --json db
several=db/$(json out '[k["static_hash"] for k in d["kernels"] if k["demangled"].startswith("dot_segments(") and len(k["instances"]) == 2][0]').json
hash=$(basename "$several" .json)
instance=$(json out '[k["instances"][0]["dynamic_hash"] for k in d["kernels"] if k["static_hash"] == "'"$hash"'"][0]')
replay() { mneme replay --device cpu -rdb "$@"; }

expect 64 mneme replay
expect 64 replay "$several" --iterations -1
expect 64 replay "$several" --no-such-option
expect 64 mneme replay --device gpu -rdb "$several"
expect 2 replay "$several"
contains err "2 instances"
[ "$(json out 'd["result"]["failed"], d["result"]["verified"], d["result"]["device"]')" = "(True, False, None)" ] || fail "the result"
contains err "$instance"
expect 64 replay "$several" -rid ''
contains err "does not begin a hash"
expect 2 replay "$several" -rid 00000000000000000000000000000000
contains err "no instance of"
contains err "$instance"
expect 2 replay db/ffffffffffffffffffffffffffffffff.json
contains err ffffffffffffffffffffffffffffffff
expect 2 replay nowhere/"$hash".json
contains err nowhere
expect 2 replay db
expect 2 mneme ls nowhere
contains err nowhere

expect 2 replay "$several" -rid "$instance" 'default<O7>'
contains err 'O7'
[ "$(json out 'd["result"]["failed"], d["result"]["executed"], d["result"]["exec_time"]')" = "(True, False, [])" ] || fail "the result"
expect 2 replay "$several" -rid "$instance" 'no-such-pass'
contains err 'no-such-pass'
# Launch shapes that no device, this device, or nobody has.
shape() { expect 2 replay "$several" -rid "$instance" "${@:2}"; contains err "$1"; }
shape "the device's largest block is 1024x1024x64" --block-dim-x 2048
shape "the block has 2048 threads, the device runs at most 1024" --block-dim-x 32 --block-dim-y 64
shape "the device's largest grid is 2147483647x65535x65535" --grid-dim-y 65536
shape "1000000000 B dynamic shared memory exceed the device's " --shared-mem 1000000000
expect 64 replay "$several" -rid "$instance" --grid-dim-x 0
contains err "--grid-dim-x: '0' is not a whole number from 1 to 4294967295"
expect 64 replay "$several" -rid "$instance" --shared-mem -1
contains err "--shared-mem: '-1' is not a whole number"
# IR in place of the recorded one that is none, or none for this.
expect 0 mneme ir "$several" --stage recorded -o recorded.ll
sed 's/^target triple = .*/target triple = "x86_64-linux-gnu"/' recorded.ll >host.ll
head -c 400 recorded.ll >cut.ll
wrong_ir() { expect 2 replay "$several" -rid "$instance" --ir "$1"; contains err "$2"; lacks err "record it again"; }
wrong_ir host.ll "host.ll is for the target 'x86_64-linux-gnu', and the recorded kernel for 'nvptx64-nvidia-cuda'"
wrong_ir cut.ll "the IR in place of the recorded one: reading $PWD/cut.ll as textual LLVM IR: line "
other=$(for k in db/[0-9a-f]*.json; do [ "$k" = "$several" ] || echo "$k"; done | head -n 1)
expect 0 mneme ir "$other" --stage recorded -o other.ll
wrong_ir other.ll "other.ll does not define the recorded kernel '"
if [ "$DEVICES" = cpu ]; then
  expect 2 mneme replay --device cuda -rdb "$several" -rid "$instance"
  contains err libcuda
fi

# What it names is looked for before the recorded memory is read.
mv "db/DeviceState.prologue.$hash.$instance.mneme" prologue
early() { expect "$1" replay "$several" -rid "$instance" "${@:3}"; contains err "$2"; lacks err DeviceState; }
early 2 "plugni.so: there is no such file" --load-pass-plugin plugni.so
early 2 "reading the IR in place of the recorded one: opening $PWD/nowhere.ll: No such file" --ir nowhere.ll
early 64 "unknown key 'blok'; the nearest is 'block'" --set blok.x=64
echo '{"passes": ' >cut.json
early 2 "the configuration cut.json is no JSON" --config cut.json
expect 2 mneme diff --device cpu "$several" -rid "$instance" --png nowhere/picture.png
contains err "writing nowhere/picture.png: there is no folder nowhere"
expect 2 mneme ir "$several" -rid "$instance" -o nowhere/code.ll
contains err "writing nowhere/code.ll: there is no folder nowhere"
mv prologue "db/DeviceState.prologue.$hash.$instance.mneme"

# LLVM needs stack. A soft limit is raised; a hard one is named with the command that mends it.
small_stack() { expect "$1" bash -c 'ulimit '"$2"' 64; exec "$@"' bash mneme "${@:3}"; }
small_stack 0 -Ss replay --device cpu "$several" -rid "$instance"
small_stack 0 -s replay --device cpu "$several" -rid "$instance"  # from the cache, without LLVM
small_stack 2 -s replay --device cpu "$several" -rid "$instance" --no-cache
contains err "LLVM needs a stack of 1.00 MiB, and this thread's has 64.0 KiB: run \`ulimit -s 8192\` first"
small_stack 2 -s ir "$several" -rid "$instance"
contains err "run \`ulimit -s 8192\` first"
small_stack 2 -s sweep "$several#0" --device cpu --grid block.x=64 --results-dir too-little
contains err "run \`ulimit -s 8192\` first"

# IR with what only a library for the host has is refused by the name of that.
sed '0,/^define/s//declare void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr, ptr, i64, i32)\ndefine/' recorded.ll >atomic.ll
sed -i '0,/  ret void/s//  call void @llvm.memcpy.element.unordered.atomic.p0.p0.i64(ptr align 4 %partial, ptr align 4 %a, i64 64, i32 4)\n  ret void/' atomic.ll
wrong_ir atomic.ll "an intrinsic as llvm.memcpy.element.unordered.atomic is not supported on the CPU device"

# Damage: every file of the instance, cut short, emptied, or with one bit flipped, is named.
damaged() {
  local file=$1 how=$2
  rm -rf hurt && cp -r db hurt
  python3 - "hurt/$file" "$how" <<'P'
import sys
path, how = sys.argv[1:]
data = bytearray(open(path, "rb").read())
if how == "empty": data = data[:0]
elif how == "cut": data = data[: len(data) * 2 // 3]
else: data[len(data) // 2] ^= 0x10
open(path, "wb").write(data)
P
  expect 2 replay "hurt/$hash.json" -rid "$instance"
  contains err "$file"
}
for how in empty cut flip; do
  damaged "DeviceState.prologue.$hash.$instance.mneme" "$how"
  damaged "DeviceState.epilogue.$hash.$instance.mneme" "$how"
  damaged "RecordedIR_$hash.bc" "$how"
  damaged "Instances_$hash.mneme" "$how"
done
for how in empty cut; do damaged "$hash.json" "$how"; done
for pack in db/pages/*.mneme; do
  cp "$pack" whole
  : >"$pack"
  status=0
  replay "$several" -rid "$instance" >out 2>err || status=$?
  [ "$status" -eq 0 ] || { [ "$status" -eq 2 ] && contains err "$(basename "$pack")"; }
  cp whole "$pack"
done

# A newer format, a file name that leads out of the folder, wrong types; in a database of version 1, where they are in one file.
old=$CASE_FOLDER/../corpora/1.1
hash=$(basename "$old"/*.json .json)
instance=$(json "$old/$hash.json" 'd["instances"][0]["dynamic_hash"]')
edit() {
  rm -rf hurt && cp -r "$old" hurt
  python3 -c 'import json,sys; p=sys.argv[1]; d=json.load(open(p)); exec(sys.argv[2]); json.dump(d,open(p,"w"))' "hurt/$hash.json" "$1"
  expect 2 replay "hurt/$hash.json" -rid "$instance"
  contains err "$hash.json"
  lacks err "terminate"
}
edit 'd["instances"] = 7'
edit 'd["instances"][0]["grid"] = "wide"'
edit 'd["instances"][0]["grid"][0] = -1'
edit 'd["instances"][0]["dynamic_hash"] = "../../../../etc/passwd"'
edit 'd["instances"][0]["state_bytes"] = 1e300'
expect 0 replay "$several" --all-instances
