# A recording is killed, with the command that started it, at several moments: what `mneme ls` then lists is whole, nothing that was
# written waits to be listed any more, and the next recording goes on.
compile "$CASE_FOLDER/../../bench/programs/slices.cu" slices
expect 0 mneme run --device cpu -- ./slices 1 1 10  # its code is in the cache from here on
for pause in 0.5 1 2; do
  setsid mneme record -rdb db --device cpu --max all -- ./slices 1 1000000 10 >out 2>err &
  group=$!
  for _ in $(seq 600); do
    if compgen -G "db/DeviceState.*" >/dev/null; then break; fi
    sleep 0.1
  done
  sleep "$pause"
  kill -KILL -- "-$group"
  wait "$group" 2>/dev/null || true
  # The program may be gone a moment later than the command that started it: its locks tell.
  for file in db/Unlisted.tmp.*; do
    if [ -e "$file" ]; then flock --wait 60 "$file" true || fail "$file is locked by a process that was killed"; fi
  done

  expect 0 mneme ls --json db
  [ "$(json out 'sum(len(k["instances"]) for k in d["kernels"])')" -ge 1 ] || fail "nothing is listed"
  ! compgen -G "db/Unlisted.tmp.*" >/dev/null || fail "launches that were written are not listed"
  expect 0 mneme fsck db
done
expect 0 mneme record -rdb db --device cpu --max all -- ./slices 1 3 10
expect 0 mneme fsck db
! compgen -G "db/*.tmp.*" >/dev/null || fail "what was half-written is left"
