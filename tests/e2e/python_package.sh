# timeout: 600
# The Python package from an installed prefix: by pip, in an environment of its own, and by build-extension, which needs neither pip nor
# CMake. Both compile the extension with nothing but the prefix. (Debug and -O0: compiled quickly.)
sources=$MNEME_PREFIX/share/mneme/python
pip=("$MNEME_PYTHON" -m pip --disable-pip-version-check)
make_wheel=("${pip[@]}" wheel --no-build-isolation --no-deps --no-index -C cmake.build-type=Debug -w wheels)

expect 0 env -u MNEME_PREFIX "${make_wheel[@]}" "$sources"
expect 0 "$MNEME_PYTHON" -m venv --without-pip clean
expect 0 "${pip[@]}" --python clean/bin/python install --no-deps --no-index wheels/*.whl
site=$(clean/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
for file in _native.pyi py.typed; do [ -e "$site/mneme/$file" ] || fail "the package has no $file"; done
# What it depends on is not fetched in a test.
ln -s "$("$MNEME_PYTHON" -c 'import numpy; print(numpy.__path__[0])')"* "$site"
expect 0 env -i clean/bin/python -c 'import mneme; print(mneme.__version__, mneme.__file__)'
contains out "$(mneme config version) $site/mneme/__init__.py"
[ ! -e clean/bin/mneme ] || fail "a package without the programs has a command for them"

compiler=$(mneme config cxx)
if command -v g++ >/dev/null; then compiler=g++; fi
expect 0 env CXX="$compiler" CXXFLAGS=-O0 "$MNEME_PYTHON" "$sources/python/build-extension" made
contains out "PYTHONPATH=$PWD/made"
expect 0 env -i PYTHONPATH="$PWD/made" "$MNEME_PYTHON" -c 'import mneme; print(mneme.__version__, mneme.__file__)'
contains out "$(mneme config version) $PWD/made/mneme/__init__.py"

expect 1 env MNEME_PREFIX=/nowhere "${make_wheel[@]}" "$sources"
tr -s " \n" " " <err >unwrapped  # by CMake
contains unwrapped "There is no Mneme in /nowhere: MNEME_PREFIX is to name the folder that it is installed or unpacked in"
expect 1 "$MNEME_PYTHON" "$sources/python/build-extension" --prefix /nowhere made
contains err "build-extension: there is no lib/libmneme.so in /nowhere: name the folder of a Mneme with --prefix"
cp -r "$sources" other
sed -i 's/^version = .*/version = "9.8.7"/' other/pyproject.toml
expect 1 "${make_wheel[@]}" ./other
tr -s " \n" " " <err >unwrapped
contains unwrapped "The package is of version 9.8.7, and the Mneme in $MNEME_PREFIX is $(mneme config version)"
