# Cases of CUDA programs once more, as they are, with programs that are compiled as HIP: docs/developer.md has the other cases.
# timeout: 900
needs_hip
for case in host_memory managed_memory pageable_memory reachable_memory profile told verdict deploy_verify; do
  mkdir "$case"
  MNEME_TEST_AS_HIP=1 MNEME_WORK=$PWD/$case bash "$CASE_FOLDER/lib.sh" "$CASE_FOLDER/$case.sh" >out 2>err || fail "$case"
done
# The programs were indeed HIP's.
expect 0 mneme show reachable_memory/cpu walk
contains out "gfx90a"
