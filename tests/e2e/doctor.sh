# mneme doctor: what is there and what is missing, with what mends it, for a person and for a script.
expect 0 mneme doctor
contains out "ok      Mneme"
contains out "ok      processor"
lacks out "broken"
expect 0 mneme doctor --json
[ "$(json out 'd["sound"], {f["health"] for f in d["findings"]} <= {"ok", "absent"}')" = "(True, True)" ] || fail "the findings"
[ "$(json out 'all(f["remedy"] for f in d["findings"] if f["health"] != "ok")')" = True ] || fail "a finding without a remedy"
for what in Mneme processor "address space" "temporary files" cache "NVIDIA driver" "PTX assembler" nvdisasm "clang 22" \
  "CUDA toolkit" "Python package"; do
  [ "$(json out "sum(f['what'] == '$what' for f in d['findings'])")" = 1 ] || fail "nothing of $what"
done

expect 1 env TMPDIR=/nonexistent mneme doctor
contains out "broken  temporary files"
contains out "-> export TMPDIR=/tmp"
expect 1 env MNEME_PTX_ASSEMBLER=nonsense mneme doctor --json
[ "$(json out 'd["sound"]')" = False ] || fail "a doctor that finds nothing"
case $DEVICES in
  *cuda*) expect 0 mneme doctor --device cuda ;;
  *)
    expect 1 mneme doctor --device cuda
    contains out "broken  NVIDIA driver"
    contains out "--gpus all"
    ;;
esac
# Without Mneme's Python package, how to get it: from the sources in this prefix.
expect 0 env PATH="$MNEME_PREFIX/bin:/nonexistent" mneme doctor
contains out "pip install '$MNEME_PREFIX/share/mneme/python[tune,report]'"

# An installation that lacks a part.
cp -r "$MNEME_PREFIX" hurt
rm hurt/lib/libmneme_record.so
expect 1 hurt/bin/mneme doctor
contains out "broken  Mneme"
contains out "not there: $PWD/hurt/lib/libmneme_record.so"
rm hurt/lib/libmneme_tuned.so hurt/lib/libmneme_emulation.so
expect 1 hurt/bin/mneme doctor
contains out "not there: $PWD/hurt/lib/libmneme_emulation.so, $PWD/hurt/lib/libmneme_record.so, $PWD/hurt/lib/libmneme_tuned.so"
