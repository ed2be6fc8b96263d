# The cache of compiled code: what is compiled once, what becomes of damage and of folders that cannot be written, and its command.
export MNEME_CACHE_DIR=$PWD/objects
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd
kernel=$(echo db/*.json)
mneme cache --clear >out
# Without a mask at first, whose own code is kept too.
replay() { expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1 --no-mask "$@"; }
use() { json out 'd["result"]["cache"]'; }
compiled() { json out 'bool({"prepare", "optimise", "lower", "codegen", "link"} & set(d["result"]["times"]))'; }

replay "default<O2>"
[ "$(use)" = miss ] && [ "$(compiled)" = True ] || fail "the first replay was not compiled"
json out '[d["result"][k] for k in ("obj_hash", "obj_size", "instructions", "assembler")]' >first
replay "default<O2>"
[ "$(use)" = hit ] && [ "$(compiled)" = False ] || fail "the second replay was compiled"
json out '[d["result"][k] for k in ("obj_hash", "obj_size", "instructions", "assembler")]' | cmp -s - first || fail "the result differs"
[ "$(json out 'd["result"]["instructions"] > 0')" = True ] || fail "no instructions"
replay "default<O2>,verify"
[ "$(use)" = same_code ] || fail "a pipeline that changes nothing more made other code"
replay --no-cache "default<O2>"
[ "$(use)" = None ] && [ "$(compiled)" = True ] || fail "--no-cache used the cache"

# Two compilations, what both led to, and which block the recorded code requires.
expect 0 mneme cache --json
[ "$(json out 'd["directory"], d["entries"], d["limit"] == 4 << 30, d["size"] > 1000')" = "('$MNEME_CACHE_DIR', 4, True, True)" ] || fail "mneme cache"
expect 0 mneme cache
contains out "$MNEME_CACHE_DIR"
contains out "4 entries, "
contains out " of at most 4.00 GiB"

# Entries that are damaged are made again.
for entry in objects/??/*; do truncate -s 60 "$entry"; done
replay "default<O2>"
[ "$(use)" = miss ] || fail "damaged entries were used"
replay "default<O2>"
[ "$(use)" = hit ] || fail "what was damaged was not made again"

# With a mask, which is looked for once, by whichever process: neither the recorded code nor the one that notes its accesses is needed again. So it is
# for those who only look.
uses() { grep "cache of compiled code: " err | sed 's/.*: //' | sort | uniq -c | xargs; }
masked() { MNEME_LOG=debug expect "$1" mneme "$2" -rdb "$kernel" --device cpu "${@:3}"; }
expect 0 mneme cache --clear
masked 0 replay --iterations 1 "default<O2>"
[ "$(json out 'd["result"]["mask"]')" = on ] || fail "nothing was masked"
! grep -q "code: hit" err || fail "the first replay: $(uses)"
grep -q "cache of masks: miss" err || fail "no mask was looked for"
bytes=$(json out 'd["result"]["masked_bytes"]')
for i in 1 2; do
  masked 0 replay --iterations 1 "default<O2>"
  [ "$(json out 'd["result"]["mask"], d["result"]["masked_bytes"]')" = "('on', $bytes)" ] || fail "not the same was masked"
  [ "$(uses)" = "1 hit" ] || fail "a replay like one before: $(uses)"
  grep -q "cache of masks: hit" err || fail "the mask was looked for again"
  [ "$(use)" = hit ] && [ "$(compiled)" = False ] || fail "a replay like one before was compiled"
done
masked 0 diff "default<O2>"
[ "$(uses)" = "1 hit" ] || fail "mneme diff of what was replayed: $(uses)"
grep -q "cache of masks: hit" err || fail "mneme diff looked for the mask again"
masked 0 check --runs 2 "default<O2>"
[ "$(uses)" = "1 hit 1 miss" ] || fail "mneme check, whose notes of who comes where are new, of what was replayed: $(uses)"
masked 0 check --runs 2 "default<O2>"
[ "$(uses)" = "2 hit" ] || fail "mneme check once more: $(uses)"
masked 0 check --runs 2 --no-cache "default<O2>"
[ "$(uses)" = "" ] || fail "--no-cache used the cache"
expect 2 env MNEME_LOG=debug mneme ir "$kernel" --stage sass --device cpu "default<O2>"
[ "$(grep -c ': hit' err)" -eq 1 ] || fail "the object that is disassembled was not taken from the cache"

# Several at once, in a cache that holds next to nothing: every one is right.
expect 0 mneme cache --clear
for i in 1 2 3; do
  MNEME_CACHE_SIZE=200K mneme replay -rdb "$kernel" --device cpu --iterations 1 "default<O$i>" >"out-$i" 2>"err-$i" &
done
for i in 1 2 3; do wait -n || fail "one of several replays at once failed: $(cat err-*)"; done

# Where nothing can be kept everything works, and one line says so.
MNEME_CACHE_DIR=/proc/nowhere replay "default<O2>"
[ "$(use)" = miss ] || fail "no cache, and not compiled"
[ "$(grep -c 'nothing more is kept in the cache of compiled code' err)" -eq 1 ] || fail "not one warning"
MNEME_CACHE_SIZE=much expect 2 mneme replay -rdb "$kernel" --device cpu "default<O2>"
contains err "MNEME_CACHE_SIZE is 'much', not a number of bytes, as in 500M or 4G"
MNEME_CACHE_SIZE=much expect 2 mneme cache
# Who only looks is told, and sees what there is.
MNEME_CACHE_SIZE=much expect 0 mneme show db add
contains err "no cache of compiled code is used: MNEME_CACHE_SIZE is 'much', not a number of bytes, as in 500M or 4G"
MNEME_CACHE_SIZE=much expect 0 mneme show db add --json
[ "$(json out 'd["damaged"]')" = "[]" ] || fail "a setting is no damage of the recording"

# Knobs of the PTX assembler are nothing to the CPU device.
expect 2 mneme replay -rdb "$kernel" --device cpu --max-registers 32 "default<O2>"
contains err "assembler.max_registers has no effect on the CPU device, whose code is not made from PTX: leave it out"
if [[ $DEVICES = *cuda* ]]; then
  expect 0 mneme record -rdb gpu-db --device cuda --max 1 -- ./vecadd
  kernel=$(echo gpu-db/*.json)
  replay() { expect 0 mneme replay -rdb "$kernel" --device cuda --iterations 1 "$@"; }
  for wanted in miss hit; do
    replay "default<O3>" --max-registers 32 --load-cache cg
    [ "$(use)" = $wanted ] || fail "on the GPU: not $wanted"
    [ "$(json out 'd["result"]["reg_usage"] <= 32 and d["result"]["instructions"] > 0 and d["result"]["spill_store_bytes"] is not None')" = True ] || fail "facts on the GPU"
  done
  for assembler in nvptxcompiler nvjitlink ptxas driver; do
    MNEME_PTX_ASSEMBLER=$assembler mneme replay -rdb "$kernel" --device cuda --iterations 1 --max-registers 40 "default<O3>" >out 2>err && continue
    contains err "to assemble PTX"  # one that is not there
  done
  expect 2 mneme replay -rdb "$kernel" --device cuda --max-registers 4 "default<O3>"
  contains err "assembler.max_registers is 4, fewer than the 24 registers that the calling convention needs on "
fi
