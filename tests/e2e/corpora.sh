# Databases of every format version since the first are listed, checked and replayed.
for corpus in "$CASE_FOLDER"/../corpora/*/; do
  expect 0 mneme ls "$corpus"
  for kernel in "$corpus"*.json; do
    expect 0 mneme show --check "$kernel"
    if ! ls "$corpus"RecordedIR_* >/dev/null 2>&1; then
      expect 2 mneme replay -rdb "$kernel" --device cpu
      contains out "the kernel was recorded as PTX, without LLVM IR: it can be replayed on a CUDA device (--device cuda)"
      continue
    fi
    expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1 "default<O2>"
    [ "$(json out 'd["result"]["verified"]')" = True ] || fail "$kernel: not verified"
  done
done
