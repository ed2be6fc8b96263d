# What every command of `mneme` has in common, from an installed prefix; and that the prefix can be moved.
expect 0 mneme --version
contains out "mneme "
expect 0 mneme help
for command in config run record ls show replay ir; do contains out "  $command "; done
lacks out "lower"
expect 64 mneme
expect 64 mneme recrod
contains err "did you mean 'record'?"
expect 64 mneme asm
contains err "; \`mneme ir DB KERNEL --stage asm\` writes that"
expect 64 mneme ir db --stage ptx
contains err "there is no stage 'ptx'; 'asm' is that"
expect 64 mneme ir db --stage diff
contains err "there is no stage 'diff'; it is a command: mneme diff DB KERNEL"
expect 64 mneme replay --block-dim-z=1 --grid-dmi-x=1
contains err "unknown option '--grid-dmi-x'; did you mean '--grid-dim-x'?"
expect 64 mneme record -rdb db
contains err "no program to run: put it behind --"
for key in cc cxx cxxflags cudaflags ldflags prefix libdir includedir cmakedir version; do
  expect 0 mneme config "$key"
  [ -s out ] || fail "mneme config $key prints nothing"
done
expect 64 mneme config cxxflag
contains err "did you mean 'cxxflags'?"

expect 64 mneme config cxxflags --arch 80
contains err "--arch: '80' is no GPU architecture from sm_75 to sm_121"
expect 64 env MNEME_ARCH=80 mneme config cxxflags
contains err "MNEME_ARCH: '80' is no GPU architecture from sm_75 to sm_121"
for arch in "" sm_80; do
  expect 0 env MNEME_ARCH=$arch mneme config cxxflags
  contains out "--offload-arch=${arch:-sm_90}"
done
expect 2 env CUDA_HOME=/nonexistent mneme config cudadir
contains err "CUDA_HOME is /nonexistent, which is no CUDA toolkit"
expect 0 env MNEME_LOG=verbose mneme version
contains err "MNEME_LOG=verbose names no level: debug, info, warning or error"
expect 64 mneme run ./app
contains err "a program to run stands behind --: mneme run [OPTIONS] -- ./app"
for option in --max --skip --max-bytes -vass; do
  expect 64 mneme record -rdb db "$option" -1 -- ./app
  contains err "'-1' is not a"
done
expect 64 mneme record -rdb '' -- ./app
expect 64 mneme record -rdb db --max 0 -- ./app
contains err "--max: '0' is not a whole number from 1, nor all"
expect 64 mneme cache --clear=3
contains err "--clear takes no value, and is given '3'"
expect 64 mneme replay db --run-timeout nan
contains err "--run-timeout: 'nan' is not a number from 0 to 1000000 (seconds)"
expect 64 mneme check db --seed=-1
contains err "--seed: '-1' is not a whole number"
# Help fits the terminal.
expect 0 env COLUMNS=60 mneme replay --help
[ "$(sed '/^Examples:/,/^$/d; /^Usage:/d' out | awk '{ if (length($0) > most) most = length($0) } END { print most }')" -le 62 ] || fail "help of 60 columns"

# Output that nobody takes is one line of error, and no end in the middle.
for command in help version 'config cxxflags' cache 'cache --json' 'replay --help'; do
  status=0
  # shellcheck disable=SC2086  # the words are meant to be split
  mneme $command >/dev/full 2>err || status=$?
  [ "$status" -eq 2 ] || fail "mneme $command with a full output ended with $status"
  [ "$(cat err)" = "mneme: error: writing to standard output: No space left on device" ] || fail "mneme $command with a full output"
done
status=0
mneme version >/dev/full 2>/dev/full || status=$?
[ "$status" -eq 2 ] || fail "two full outputs: $status"
status=0
mneme recrod 2>/dev/full || status=$?
[ "$status" -eq 64 ] || fail "a full output for errors: $status"

cp -r "$MNEME_PREFIX" moved
expect 0 moved/bin/mneme config cxxflags
contains out "-fpass-plugin=$PWD/moved/lib/libmneme_instrument.so"
lacks out "$MNEME_PREFIX"
