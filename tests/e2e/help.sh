# timeout: 600
# Help: what each command's says runs as it stands, and the pages of the manual say the same.
sed 's|../check.h|check.h|' "$EXAMPLES/vecadd/vecadd.cu" >app.cu
cp "$EXAMPLES/check.h" .
compile app.cu app
printf '#include <hip/hip_runtime.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n' >tool.hip
commands=$(mneme help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vx -e tune -e report)
[ "$(wc -w <<<"$commands")" -ge 12 ] || fail "the commands: $commands"

examples() { sed -n '/^Examples:$/,/^$/{ /^  [^#]/s/^  //p }' "$1"; }
for command in $commands; do
  expect 0 mneme "$command" --help
  [ "$(sed -n 3p out)" = "Examples:" ] || fail "$command's help does not begin with examples"
  examples out >"examples.$command"
  count=$(wc -l <"examples.$command")
  [ "$count" -ge 2 ] && [ "$count" -le 3 ] || fail "$command's help has $count examples"
  page=$MNEME_PREFIX/share/man/man1/mneme-$command.1
  [ -s "$page" ] || fail "there is no $page"
  if command -v groff >/dev/null; then
    expect 0 groff -man -Tutf8 -ww "$page"
    [ ! -s err ] || fail "what groff says of $page"
    contains "$page" ".SH EXAMPLES"
  fi
done

# Those of the Python package have pages too.
for command in tune report; do
  page=$MNEME_PREFIX/share/man/man1/mneme-$command.1
  contains "$page" ".SH EXAMPLES"
  contains "$page" ".SH OPTIONS"
  contains "$page" "results"
  if command -v groff >/dev/null; then
    expect 0 groff -man -Tutf8 -ww "$page"
    [ ! -s err ] || fail "what groff says of $page"
  fi
done

# In the order of a first session; each kind of command where what it needs is there.
export XDG_CACHE_HOME=$PWD/cache HOME=$PWD/home MNEME_LOG=warning
mkdir -p home/.zfunc home/.config/fish/completions
for command in doctor config run profile record ls show replay diff check ir sweep deploy export import copy move fsck trim clean cache completion; do
  grep -qx "$command" <<<"$commands" || fail "there is no $command"
  while read -r line; do
    # What differs on purpose is a result too.
    status=0
    bash -c "$line" >out 2>err </dev/null || status=$?
    case "$line" in
      *--device\ cuda*) continue ;;
      *--hip*) mneme config rocmdir >/dev/null 2>&1 || continue ;;  # where there is no ROCm
    esac
    [ "$status" -eq 0 ] || fail "'$line' ended with $status"
  done <"examples.$command"
  commands=$(grep -vx "$command" <<<"$commands") || true
done
[ -z "$commands" ] || fail "not tried: $commands"

# Only what does something there; the rest is in --help-all, and taken.
for command in ir diff check; do
  expect 0 mneme "$command" --help
  lacks out "--iterations"
  contains out "--help-all shows"
  expect 0 mneme "$command" --help-all
  contains out "Taken, without effect here:"
  contains out "--iterations"
done
expect 0 mneme replay --help
contains out "--iterations"
expect 0 mneme help
contains out "  tune "
contains out "  report "
