# LLVM is loaded by what asks something of it, and by nothing else. (LD_DEBUG=files has the loader tell of each library.)
loaded() {
  LD_DEBUG=files LD_DEBUG_OUTPUT="$PWD/loaded" expect "$@"
  cat loaded.* >libraries 2>/dev/null
  rm -f loaded.*
}
without_llvm() {
  loaded "$@"
  contains libraries libmneme.so
  lacks libraries libLLVM
  lacks libraries libmneme_llvm
}

compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd
kernel=$(echo db/*.json)

without_llvm 0 mneme --help
without_llvm 0 mneme --version
without_llvm 0 mneme ls db
without_llvm 0 mneme fsck db
without_llvm 0 mneme config version
without_llvm 0 mneme copy db copy
without_llvm 0 mneme export db -o db.mneme
without_llvm 0 mneme import db.mneme imported
# The kernel is in the cache, so that `mneme lower` need not run.
without_llvm 0 mneme run --device cpu -- ./vecadd
expect 0 mneme sweep "$kernel" --device cpu --iterations 3 --grid 'block.x=64|128' --results-dir swept
expect 0 mneme deploy swept -o app.tuned --unconfirmed
without_llvm 0 mneme run --device cpu --tuned app.tuned -- ./vecadd
without_llvm 0 mneme clean imported --yes

# Code, and what is known of IR, is in the cache after the first time: on the CPU device, and as code for a GPU, which the driver for tests
# loads.
compile "$CASE_FOLDER/programs/keep.cu" keep
expect 0 mneme record -rdb kept --device cpu -- ./keep
export MNEME_CACHE_DIR=$PWD/cache
replay() { "$1" 0 env LD_LIBRARY_PATH="$MNEME_TEST_DRIVER" mneme replay "$2" "$3" --device "$4" --iterations 3 --json "${@:5}"; }
for launch in "db add cpu" "kept keep cpu" "kept keep_variable cpu" "kept keep cuda" "kept keep_variable cuda"; do
  read -r database name device <<<"$launch"
  replay loaded "$database" "$name" "$device"
  contains libraries libLLVM
  [ "$(json out 'd["result"]["cache"]')" = miss ] || fail "$launch was compiled before"
  json out '[d["result"][key] for key in ("obj_hash", "verified", "mask", "masked_bytes")]' >first
  replay without_llvm "$database" "$name" "$device"
  [ "$(json out 'd["result"]["cache"]')" = hit ] || fail "$launch was not in the cache"
  json out '[d["result"][key] for key in ("obj_hash", "verified", "mask", "masked_bytes")]' | cmp -s - first || fail "$launch: another result"
done
replay loaded kept keep cuda --no-cache
contains libraries libLLVM
replay loaded kept keep cuda --no-alias  # asks what pointers start from, which is kept, and for other code, which is not
replay without_llvm kept keep cuda --no-alias
loaded 0 mneme replay kept keep --compile-only
without_llvm 0 mneme replay kept keep --compile-only

loaded 0 mneme show kept keep
contains libraries libLLVM
cp out first
without_llvm 0 mneme show kept keep
cmp out first
loaded 0 mneme show kept keep --no-cache
contains libraries libLLVM
cmp out first

# Entries that are damaged are made again.
find cache -type f -size -100c -path '*/*/*' -exec sh -c 'for file; do printf damaged >"$file"; done' sh {} +
replay loaded kept keep cpu
contains libraries libLLVM
[ "$(json out 'd["result"]["verified"]')" = True ] || fail "not verified with a damaged cache"
replay without_llvm kept keep cpu
loaded 0 mneme show kept keep
contains libraries libLLVM
cmp out first

# What asks LLVM has it.
loaded 0 mneme ir "$kernel"
contains libraries libLLVM

# An installation that is not whole says so where LLVM is needed, and works elsewhere.
mkdir -p half
cp -r "$MNEME_PREFIX"/. half
library=$(realpath half)/lib/$(basename half/lib/libmneme_llvm.so.*)
rm "$library"
expect 0 half/bin/mneme ls db
expect 2 half/bin/mneme ir "$kernel"
contains err "LLVM is needed now, and $(basename "$library") cannot be loaded: it is missing: $library is not there, and the system finds none: install Mneme again, or name the folder that has the file by LD_LIBRARY_PATH"
: >"$library"
expect 2 half/bin/mneme ir "$kernel"
contains err "LLVM is needed now, and $(basename "$library") cannot be loaded: $library: file too short: install Mneme again, or the library that this names"
