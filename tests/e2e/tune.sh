# The C++ API as a user builds with it: find_package(mneme COMPONENTS api), and a program that tunes a recorded kernel.
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd
expect 0 "$cmake" -S "$EXAMPLES/tune" -B build -G Ninja -DCMAKE_CXX_COMPILER="$(mneme config cxx)" \
  -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
expect 0 "$cmake" --build build
expect 0 build/tune db/*.json cpu
contains out "best of 30: "
contains out '"passes":"default<O'
expect 1 build/tune db/nothing.json cpu
contains err "tune: "

# Its workers are the mneme that is found.
expect 1 env PATH=/nowhere "$PWD/build/tune" db/*.json cpu
contains err "opening a pool: there is no mneme on the PATH for its workers"
expect 0 env PATH=/nowhere MNEME_COMMAND="$MNEME_PREFIX/bin/mneme" "$PWD/build/tune" db/*.json cpu
