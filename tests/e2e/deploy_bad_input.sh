# A file of deployed code that is not for this program, this device or this Mneme, that was damaged, or that is no file at all: the program
# runs as it is, and one clear line says why, whether the file is named to `mneme run --tuned` or by MNEME_TUNED.
compile "$CASE_FOLDER/../gpu/deployed.cu" deployed -O0
expect 0 mneme run --device cpu -- ./deployed
mv out plain
expect 0 mneme record -rdb db --device cpu --max 1 -- ./deployed
expect 0 mneme sweep db scale --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
expect 0 mneme deploy found --unconfirmed -o app.tuned

# shellcheck disable=SC2046  # the flags are meant to be split
$(mneme config cxx) -std=c++20 -DFMT_HEADER_ONLY -I"$MNEME_PREFIX/include" -isystem "$MNEME_PREFIX/include/mneme/third_party" \
  "$CASE_FOLDER/programs/edit_tuned.cc" -o edit_tuned -L"$MNEME_PREFIX/lib" -lmneme -Wl,-rpath,"$MNEME_PREFIX/lib"
edited() { expect 0 ./edit_tuned app.tuned "$@"; }

# as_it_was FILE LINE: what the program prints and returns is its own, and LINE is all that is said, either way.
as_it_was() {
  for way in option variable; do
    if [ $way = option ]; then expect 0 mneme run --device cpu --tuned "$1" -- ./deployed
    else MNEME_TUNED=$1 expect 0 mneme run --device cpu -- ./deployed; fi
    cmp -s out plain || fail "$1, by the $way: the program printed something else"
    contains err "$2"
    [ "$(wc -l <err)" -eq 1 ] || fail "$1, by the $way: not one line"
  done
}
unread() { as_it_was "$1" "mneme: warning: tuned: the program runs as it is: $PWD/$1: $2"; }
kept() { as_it_was "$1" "mneme: tuned: scale(int*, int const*, int, int): 0 of 39 launches ran the deployed code; the others: 39 $2"; }

# Another GPU: of the same vendor, and of another kind.
edited other.tuned architecture x86-64-v9
kept other.tuned "no code for the device (the file's code is for x86-64-v9, and the device is x86-64-v3)"
edited cuda.tuned device cuda
as_it_was cuda.tuned "mneme: tuned: 1 of 1 kernels of $PWD/cuda.tuned were not launched here: was it made for another build of the program, or another device?"
# Code of both is taken where it belongs.
expect 0 mneme deploy other.tuned app.tuned -o both.tuned
expect 0 mneme deploy --show both.tuned
contains out "both.tuned: code of 2 kernels"
for architecture in x86-64-v3 x86-64-v9; do contains out "$architecture"; done
as_it_was both.tuned "mneme: tuned: scale(int*, int const*, int, int): 39 of 39 launches ran the deployed code"

# Another build of the program.
edited build.tuned static_hash build
as_it_was build.tuned "mneme: tuned: 1 of 1 kernels of $PWD/build.tuned were not launched here: was it made for another build of the program, or another device?"
expect 0 mneme run --device cpu --tuned app.tuned -- ./deployed
contains err "39 of 39 launches"

# A newer Mneme's file: another format is not read, and what a minor version has added is not needed.
edited newer.tuned major 2
unread newer.tuned "the format's version is 2.2, and this Mneme reads 1.x: use the Mneme that wrote it"
edited added.tuned minor 7
as_it_was added.tuned "39 of 39 launches ran the deployed code"

# Cut short anywhere, and with a bit of any part changed.
size=$(stat -c %s app.tuned)
for bytes in 1 7 8 39 40 47 48 500 $((size / 2)) $((size - 1)); do
  head -c "$bytes" app.tuned >short.tuned
  as_it_was short.tuned "mneme: warning: tuned: the program runs as it is: $PWD/short.tuned: "
done
unread short.tuned "the file has $((size - 1)) bytes, $size expected: it was cut short or damaged"
(cat app.tuned; echo more) >long.tuned
unread long.tuned "the file has $((size + 5)) bytes, $size expected: it was cut short or damaged"
for place in 0 8 10 12 16 24 39 40 48 300 $((size / 2)) $((size - 1)); do
  python3 -c 'import sys; d = bytearray(open("app.tuned", "rb").read()); d[int(sys.argv[1])] ^= 16; open("flipped.tuned", "wb").write(d)' "$place"
  as_it_was flipped.tuned "mneme: warning: tuned: the program runs as it is: $PWD/flipped.tuned: "
done
unread flipped.tuned "the file's checksum is not the one that stands in it: it was damaged"

# What is whole and cannot be loaded, or is about another kernel: a failure, which is told with its reason, and the line at the end.
failing() { # FILE REASON
  for way in option variable; do
    if [ $way = option ]; then expect 0 mneme run --device cpu --tuned "$1" -- ./deployed
    else MNEME_TUNED=$1 expect 0 mneme run --device cpu -- ./deployed; fi
    cmp -s out plain || fail "$1, by the $way: the program printed something else"
    contains err "mneme: warning: tuned: scale(int*, int const*, int, int): the program's own code runs from now on: $2"
    contains err "mneme: tuned: scale(int*, int const*, int, int): 0 of 39 launches ran the deployed code; the others: 39 after a failure"
    [ "$(wc -l <err)" -eq 2 ] || fail "$1, by the $way: not two lines"
  done
}
edited garbage.tuned image 512
failing garbage.tuned "cudaLibraryLoadData returned "
edited symbol.tuned name _Z5scale
failing symbol.tuned "cudaLibraryGetKernel returned "
edited variable.tuned variable nothing
failing variable.tuned ""
edited argument.tuned argument 7
failing argument.tuned "its conditions are about parameters that the program's kernel does not have"

# No file at all.
: >empty.tuned
unread empty.tuned "this is no file of \`mneme deploy\`"
mkdir folder.tuned
as_it_was folder.tuned "mneme: warning: tuned: the program runs as it is: "
mkfifo pipe.tuned
as_it_was pipe.tuned "mneme: warning: tuned: the program runs as it is: "
as_it_was missing.tuned "mneme: warning: tuned: the program runs as it is: "

# `mneme deploy` says the same of each, writes nothing, and ends with 2.
for file in newer.tuned short.tuned flipped.tuned empty.tuned folder.tuned pipe.tuned missing.tuned; do
  expect 2 mneme deploy --show $file
  [ "$(wc -l <err)" -eq 1 ] || fail "$file: not one line"
  expect 2 mneme deploy app.tuned $file -o none.tuned
  [ "$(wc -l <err)" -eq 1 ] || fail "$file: not one line"
  [ ! -e none.tuned ] || fail "$file: a file was written"
done
