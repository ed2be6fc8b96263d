# One command line, with the static and with the shared CUDA runtime; compiled and linked in one step and in two.
source_file=$EXAMPLES/reduction/reduction.cu
compile "$source_file" static
$(mneme config cxx) -O2 -std=c++17 $(mneme config cxxflags) -c "$source_file" -o reduction.o
$(mneme config cxx) reduction.o -o shared $(mneme config ldflags --cudart shared)
compile "$source_file" debug -O0 -g
for program in static shared debug; do
  for device in $DEVICES; do
    expect 0 mneme run --device "$device" -- "./$program"
    contains out "reduction: PASS"
  done
done
