# Cases of HIP programs once more, in which the programs run and are recorded at the tests' HIP runtime, as on an AMD GPU.
# timeout: 600
needs_hip
[ -n "${MNEME_TEST_HIP_RUNTIME:-}" ] || skip "built without the tests' HIP runtime"
mkdir -p prefix/bin
for path in "$MNEME_PREFIX"/* "$MNEME_PREFIX"/bin/*; do
  [ "$path" = "$MNEME_PREFIX/bin" ] || ln -s "$path" "prefix/${path#"$MNEME_PREFIX/"}"
done
rm prefix/bin/mneme
cat >prefix/bin/mneme <<SCRIPT
#!/usr/bin/env bash
# The installed command, which has the device hip where a case asks for cpu.
case \$1 in
  run | record | profile) ;;
  *) exec "$MNEME_PREFIX/bin/mneme" "\$@" ;;
esac
command=\$1
shift
options=()
while [ "\$#" != 0 ] && [ "\$1" != -- ]; do
  options+=("\$1")
  if [ "\$1" = --device ]; then options+=("\${2/#cpu/hip}") && shift; fi
  shift
done
LD_PRELOAD=$MNEME_TEST_HIP_RUNTIME MNEME_COMMAND=$MNEME_PREFIX/bin/mneme exec "$MNEME_PREFIX/bin/mneme" "\$command" "\${options[@]}" "\$@"
SCRIPT
chmod +x prefix/bin/mneme
for case in hip_record_replay hip_variables hip_mask; do
  mkdir "$case"
  MNEME_PREFIX=$PWD/prefix MNEME_WORK=$PWD/$case bash "$CASE_FOLDER/lib.sh" "$CASE_FOLDER/$case.sh" >out 2>err || fail "$case"
done
# The device was indeed another.
expect 0 mneme show hip_record_replay/vecadd.db add
contains out "(hip), Mneme"
