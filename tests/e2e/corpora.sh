# Databases of every format version since the first are listed, checked and replayed.
for corpus in "$CASE_FOLDER"/../corpora/*/; do
  expect 0 mneme ls "$corpus"
  for kernel in "$corpus"*.json; do
    expect 0 mneme show --check "$kernel"
    expect 0 mneme replay -rdb "$kernel" --device cpu --iterations 1 "default<O2>"
    [ "$(json out 'd["result"]["verified"]')" = True ] || fail "$kernel: not verified"
  done
done
