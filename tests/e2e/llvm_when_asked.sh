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

# What asks LLVM has it.
loaded 0 mneme ir "$kernel"
contains libraries libLLVM

# An installation that is not whole says so where LLVM is needed, and works elsewhere.
mkdir -p half
cp -r "$MNEME_PREFIX"/. half
rm half/lib/libmneme_llvm.so*
expect 0 half/bin/mneme ls db
expect 2 half/bin/mneme ir "$kernel"
contains err "LLVM is needed now, and libmneme_llvm.so."
