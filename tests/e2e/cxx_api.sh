# timeout: 600
# An installed prefix alone is enough to compile and link against: every header of the C++ API, by clang and by gcc, with nothing of
# LLVM's and nothing but the prefix's own fmt and nlohmann-json.
for header in $(cd "$MNEME_PREFIX/include" && find mneme -path mneme/third_party -prune -o -path mneme/abi -prune -o -name '*.h' -print | sort); do
  echo "#include <$header>"
done >headers.cc
contains headers.cc "<mneme/pool/pool.h>"
cat >main.cc <<'SOURCE'
#include "headers.cc"
int main() {
  auto opened = mneme::Pool::open({});
  std::printf("%s\n", opened.status().to_string().c_str());
}
SOURCE
compilers=$(mneme config cxx)
if command -v g++ >/dev/null; then compilers+=" g++"; fi
flags="-std=c++20 -DFMT_HEADER_ONLY -I$MNEME_PREFIX/include -isystem $MNEME_PREFIX/include/mneme/third_party"
for compiler in $compilers; do
  # shellcheck disable=SC2086  # the flags are meant to be split
  expect 0 "$compiler" $flags -M main.cc
  lacks out /llvm/
  lacks out " /usr/include/fmt/"
  lacks out " /usr/include/nlohmann/"
  # shellcheck disable=SC2086
  expect 0 "$compiler" $flags main.cc -o main -L"$MNEME_PREFIX/lib" -lmneme -Wl,-rpath,"$MNEME_PREFIX/lib"
  expect 0 ./main
  contains out "opening a pool: "
done

# The example, as the guide has it: its folder in a clone, and in a prefix.
root=$CASE_FOLDER/../..
folder=$(sed -n 's/^    cd \([^ ]*\) .*/\1/p' "$root/docs/guide/cxx-api.md")
[ -e "$root/$folder/CMakeLists.txt" ] || fail "docs/guide/cxx-api.md: a clone has no $folder"
[ -e "$MNEME_PREFIX/share/mneme/$folder/CMakeLists.txt" ] || fail "docs/guide/cxx-api.md: a prefix has no share/mneme/$folder"
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd 8192
kernel=$(echo db/[0-9a-f]*.json)
[ "$(wc -l <"$EXAMPLES/tune/tune.cc")" -lt 60 ] || fail "the example is long"
# shellcheck disable=SC2086
expect 0 "$(mneme config cxx)" $flags "$EXAMPLES/tune/tune.cc" -o tune -L"$MNEME_PREFIX/lib" -lmneme -Wl,-rpath,"$MNEME_PREFIX/lib"
expect 0 ./tune "$kernel" cpu
contains out "best of 30: "
contains out '"keep_threads":true'
lacks out "wrong_result"
if [ "$DEVICES" = cpu ]; then
  expect 0 ./tune "$kernel"
  contains out "best of 30: "
  expect 1 ./tune "$kernel" cuda
  [ "$(cat err)" = "tune: unavailable: there is no GPU here: name the other kind of device, cpu, behind the recording" ] || fail "no GPU"
  [ ! -s out ] || fail "candidates without a device"
fi
