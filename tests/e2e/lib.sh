#!/usr/bin/env bash
# lib.sh CASE: runs one end-to-end case.
#
# The case is sourced with `set -eu`, so that a command that fails ends it, in an empty folder of its own ($PWD), with `mneme` of
# the installed prefix on the PATH. It finds
#   $EXAMPLES                     the installed examples' sources
#   $MNEME_PYTHON                 a Python that has what python/requirements-dev.txt names
#   $DEVICES                      the devices that this machine has: "cpu", or "cpu cuda"
#   expect STATUS COMMAND...      runs it, output into the files out and err; ends the case unless it exits with STATUS
#   contains FILE TEXT            ends the case unless TEXT stands in FILE
#   lacks FILE TEXT               the opposite
#   json FILE EXPRESSION          prints the value of a Python expression over the JSON document in FILE, named d
#   compile SOURCE OUTPUT [ARG…]  builds by hand with `mneme config`'s flags; ARGs stand before them
#   compile_hip SOURCE OUTPUT [ARG…]  the same for a HIP program, for $HIP_ARCH (gfx90a), in which CUDA's names are HIP's (programs/as_hip)
#   needs_hip                     ends the case as skipped where Mneme was built without HIP
#   fail TEXT                     ends the case
#   skip TEXT                     ends the case as skipped
set -eu

case_file=$(realpath "$1")
CASE_FOLDER=$(dirname "$case_file")
export PATH=$MNEME_PREFIX/bin:$PATH
EXAMPLES=$MNEME_PREFIX/share/mneme/examples
cmake=${MNEME_CMAKE:-cmake}
DEVICES=cpu
if [ -e /dev/nvidiactl ]; then DEVICES="cpu cuda"; fi

fail() {
  for file in out err; do
    if [ -s "$file" ]; then echo "--- $file:" >&2; tail -n 60 "$file" >&2; fi
  done
  echo "FAIL: $*" >&2  # last, where whoever reads the end of a log finds it
  exit 1
}
skip() { echo "SKIP: $*"; exit 77; }
expect() {
  local wanted=$1 status=0
  shift
  "$@" >out 2>err || status=$?
  [ "$status" -eq "$wanted" ] || fail "'$*' ended with $status, not $wanted"
}
contains() { grep -qF -- "$2" "$1" || fail "$1 does not contain '$2'"; }
lacks() { ! grep -qF -- "$2" "$1" || fail "$1 contains '$2'"; }
json() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
compile() {
  local source=$1 output=$2 command kept=
  shift 2
  # shellcheck disable=SC2207  # the flags are meant to be split
  command=($(mneme config cxx) -O2 -std=c++17 "$@" $(mneme config cxxflags) "$source" $(mneme config ldflags))
  # Of an example the same command has been run by other cases of the same run of the tests.
  if [ -n "${MNEME_COMPILED:-}" ] && [ "${source#"$EXAMPLES/"}" != "$source" ] && [[ " $* " != *" -g"* ]]; then
    kept=$MNEME_COMPILED/$(echo "${command[*]}" | sha256sum | cut -c 1-32)
    if [ -e "$kept" ]; then cp "$kept" "$output"; return; fi
  fi
  "${command[@]}" -o "$output"
  if [ -n "$kept" ]; then
    mkdir -p "$MNEME_COMPILED"
    cp "$output" "$kept.$$"
    mv "$kept.$$" "$kept"
  fi
}

HIP_ARCH=gfx90a
compile_hip() {
  local source=$1 output=$2
  shift 2
  # shellcheck disable=SC2046  # the flags are meant to be split
  $(mneme config cxx) -O2 -std=c++17 "$@" $(mneme config --hip cxxflags --arch "$HIP_ARCH") -I"$CASE_FOLDER/programs/as_hip" -include as_hip.h \
    -x hip "$source" -x none -o "$output" $(mneme config --hip ldflags --arch "$HIP_ARCH")
}
# A case of CUDA programs in its HIP form (hip_cases.sh).
if [ -n "${MNEME_TEST_AS_HIP:-}" ]; then
  DEVICES=cpu
  compile() { compile_hip "$@"; }
fi
needs_hip() {
  mneme config rocmdir >out 2>err || { grep -q "was built without HIP" err && skip "built without HIP"; fail "mneme config rocmdir"; }
}

# MNEME_WORK is set by a case that runs another one, and by hand.
work=${MNEME_WORK:-${MNEME_TEST_FOLDER:-$MNEME_ROOT}/work/$(basename "$case_file" .sh)}
rm -rf "$work"
mkdir -p "$work"
cd "$work"
trap 'echo "the case ended at line $LINENO of $(basename "${BASH_SOURCE[0]}")" >&2' ERR
# shellcheck source=/dev/null
source "$case_file"
