# find_package(mneme) and add_mneme(): the examples, as an application is built.
expect 0 "$cmake" -S "$EXAMPLES" -B build -G Ninja -DCMAKE_C_COMPILER="$(mneme config cc)" -DCMAKE_CXX_COMPILER="$(mneme config cxx)" \
  -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
expect 0 "$cmake" --build build -j2
for device in $DEVICES; do
  for example in vecadd cg stencil reduction; do
    expect 0 mneme run --device "$device" -- "build/$example"
    contains out "$example: PASS"
  done
done

# Another compiler cannot load the plugin: said at configure time.
if command -v g++ >/dev/null; then
  expect 1 "$cmake" -S "$EXAMPLES" -B build-gcc -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_PREFIX_PATH="$(mneme config cmakedir)"
  contains err "the plugin fits clang 22, and the CXX compiler is"
fi
