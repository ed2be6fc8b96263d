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

# The library that it is linked to is the prefix's, and LLVM is no business of the program.
ldd build/tune >libraries
contains libraries "$MNEME_PREFIX/lib/libmneme.so."
lacks build/CMakeCache.txt LLVM_DIR

# Its workers run in the mneme that belongs to the library, or that is named.
expect 0 env PATH=/nowhere "$PWD/build/tune" db/*.json cpu
mkdir -p alone/lib
cp "$MNEME_PREFIX"/lib/libmneme.so.* alone/lib
expect 1 env PATH=/nowhere LD_LIBRARY_PATH="$PWD/alone/lib" "$PWD/build/tune" db/*.json cpu
contains err "opening a pool: there is no mneme for its workers, neither $PWD/alone/bin/mneme nor on the PATH; set MNEME_COMMAND to one"
expect 0 env PATH=/nowhere LD_LIBRARY_PATH="$PWD/alone/lib" MNEME_COMMAND="$MNEME_PREFIX/bin/mneme" "$PWD/build/tune" db/*.json cpu
