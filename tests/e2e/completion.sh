# Tab: what bash makes of the script that is installed, and what zsh and fish do where they are there.
compile "$EXAMPLES/vecadd/vecadd.cu" app
expect 0 mneme record -rdb db --device cpu --max 1 -- ./app 1000
share=$MNEME_PREFIX/share
for shell in bash zsh fish; do expect 0 mneme completion "$shell"; mv out "$shell.script"; done
cmp bash.script "$share/bash-completion/completions/mneme" || fail "bash's script is not what is installed"
cmp zsh.script "$share/zsh/site-functions/_mneme" || fail "zsh's script is not what is installed"
cmp fish.script "$share/fish/vendor_completions.d/mneme.fish" || fail "fish's script is not what is installed"
expect 64 mneme completion csh
contains err "csh"

cat >complete.bash <<'SCRIPT'
source bash.script
[ "$(complete -p mneme)" = "complete -F _mneme mneme" ] || exit 3
COMP_LINE=$1 COMP_POINT=${#1}
_mneme
printf '%s\n' "${COMPREPLY[@]}"
SCRIPT
completes() {  # the line $1 to the words behind it
  local line=$1
  shift
  expect 0 bash complete.bash "$line"
  printf '%s\n' "$@" | diff - out || fail "'$line'"
}
completes "mneme repl" replay
completes "mneme help sho" show
completes "mneme ls --js" --json
completes "mneme replay --device c" cuda cpu
completes "mneme replay --device=c" cuda cpu
completes "mneme replay db ad" add
completes "mneme replay db add --rid $(ls db/DeviceState.prologue.* | cut -d. -f4 | cut -c1-6)" "$(ls db/DeviceState.prologue.* | cut -d. -f4)"
completes "mneme replay db $(basename db/*.json .json | cut -c1-8)" "$(basename db/*.json .json)"
completes "mneme replay db add#" 'add#0'
expect 0 mneme complete -- replay ''
contains out ":files"
expect 0 mneme complete -- nothing ''

if command -v zsh >/dev/null; then expect 0 zsh -n zsh.script; fi
if command -v fish >/dev/null; then
  expect 0 fish -c "source fish.script; complete -C 'mneme repl'"
  contains out "replay"
fi
