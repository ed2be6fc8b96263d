# timeout: 900
# The Python package from an installed prefix by build-extension, which needs neither pip nor CMake (-O0: quickly).
build_extension=$MNEME_PREFIX/share/mneme/python/python/build-extension
compiler=$(mneme config cxx)
if command -v g++ >/dev/null; then compiler=g++; fi
expect 0 env CXX="$compiler" CXXFLAGS=-O0 "$MNEME_PYTHON" "$build_extension" made
contains out "PYTHONPATH=$PWD/made"

compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd 1000
cat >search.py <<'SOURCE'
import mneme

print(mneme.__version__, mneme.__file__)
[kernel] = mneme.Database("db").values()
print("verified:", mneme.replay(kernel[0], mneme.Config(passes="default<O2>"), device="cpu").verified)
SOURCE
expect 0 env -i PYTHONPATH="$PWD/made" "$MNEME_PYTHON" search.py
contains out "$(mneme config version) $PWD/made/mneme/__init__.py"
contains out "verified: True"

expect 1 "$MNEME_PYTHON" "$build_extension" --prefix /nowhere made
contains err "build-extension: there is no lib/libmneme.so in /nowhere: name the folder of a Mneme with --prefix"
expect 1 env CXX=/nowhere/c++ "$MNEME_PYTHON" "$build_extension" made
contains err "build-extension: there is no compiler /nowhere/c++: CXX names one"
