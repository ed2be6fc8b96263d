# What every command of `mneme` has in common, from an installed prefix; and that the prefix can be moved.
expect 0 mneme --version
contains out "mneme "
expect 0 mneme help
for command in config run record ls show replay ir; do contains out "  $command "; done
lacks out "lower"
expect 64 mneme
expect 64 mneme recrod
contains err "did you mean 'record'?"
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

cp -r "$MNEME_PREFIX" moved
expect 0 moved/bin/mneme config cxxflags
contains out "-fpass-plugin=$PWD/moved/lib/libmneme_instrument.so"
lacks out "$MNEME_PREFIX"
