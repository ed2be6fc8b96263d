# timeout: 900
# The Python package by pip from an installed prefix, in an environment of its own, without the programs and with them. The extension is
# compiled with nothing but the prefix (Debug, without debug information: quickly).
sources=$MNEME_PREFIX/share/mneme/python
version=$(mneme config version)
pip=("$MNEME_PYTHON" -m pip --disable-pip-version-check)
make_wheel=("${pip[@]}" wheel --no-build-isolation --no-deps --no-index --config-settings build-dir="$PWD/build" --config-settings cmake.build-type=Debug
  --config-settings cmake.define.CMAKE_CXX_FLAGS_DEBUG= -w wheels)
install_wheel() {  # into the environment $1; what the package depends on is not fetched in a test
  expect 0 "$MNEME_PYTHON" -m venv --without-pip "$1"
  expect 0 "${pip[@]}" --python "$1/bin/python" install --no-deps --no-index wheels/*.whl
  site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  ln -s "$("$MNEME_PYTHON" -c 'import numpy; print(numpy.__path__[0])')"* "$site"
}
compile "$EXAMPLES/vecadd/vecadd.cu" vecadd
expect 0 mneme record -rdb db --device cpu --max 1 -- ./vecadd 1000
cat >search.py <<'SOURCE'
import mneme

print(mneme.__version__, mneme.__file__)
[kernel] = mneme.Database("db").values()
with mneme.Executor(kernel[0], device="cpu", compile_workers=1) as executor:
    print("verified:", executor.submit(mneme.Config(passes="default<O2>")).result().verified)
SOURCE
search() {  # with a Python, and nothing in the environment; the package is in $site
  expect 0 env -i "$1" search.py
  contains out "$version $site/mneme/__init__.py"
  contains out "verified: True"
}

expect 0 env -u MNEME_PREFIX "${make_wheel[@]}" "$sources"
install_wheel attached
for file in _native/__init__.pyi _native/llvm.pyi py.typed; do [ -e "$site/mneme/$file" ] || fail "the package has no $file"; done
expect 0 env -i attached/bin/python -c 'from importlib.metadata import metadata; print(*metadata("mneme-gpu").get_all("Name"), metadata("mneme-gpu")["License-Expression"])'
contains out "mneme-gpu Apache-2.0 WITH LLVM-exception"
expect 0 env -i attached/bin/mneme-tune --help
contains out "usage: mneme tune"
[ ! -e attached/bin/mneme ] || fail "a package without the programs has a command for them"
search attached/bin/python

# By Mneme's own compiler, as `make wheel` has it.
rm -r wheels
expect 0 env CXX="$(mneme config cxx)" "${make_wheel[@]}" --config-settings cmake.define.MNEME_BUNDLE=ON "$sources"
install_wheel whole
search whole/bin/python
mkdir -p theirs/mneme
: >theirs/mneme/__init__.py
expect 1 env -i PYTHONPATH="$PWD/theirs" whole/bin/mneme config prefix
contains err "$PWD/theirs/mneme is of another project, which pip install mneme brings, or not whole: pip uninstall mneme"
expect 0 env -i PATH=/usr/bin:/bin whole/bin/mneme config prefix
contains out "$site/mneme/_prefix"
expect 0 env -i PATH=/usr/bin:/bin whole/bin/mneme ls db
for file in man/man1/mneme-replay.1 bash-completion/completions/mneme zsh/site-functions/_mneme; do
  [ -e "whole/share/$file" ] || fail "the package has no share/$file"
done
# Its subcommands lie beside it.
printf '#!/bin/sh\necho "probed $1"\n' >whole/bin/mneme-probe
chmod +x whole/bin/mneme-probe
expect 0 env -i PATH=/usr/bin:/bin whole/bin/mneme probe 5
contains out "probed 5"

# With the libraries of others, as `make wheel` puts them into it: the interpreter's own modules keep the machine's.
expect 0 "$CASE_FOLDER/../../scripts/bundle-libraries" "$site/mneme/_prefix"
cat >loaded.py <<'SOURCE'
import mneme._native, ctypes, lzma, re, zlib

mneme.llvm.example().run("default<O2>")
assert lzma.decompress(lzma.compress(b"a")) == zlib.decompress(zlib.compress(b"a")) == b"a"
assert ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 5)() == 5
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
bundled = {path.rpartition("/")[2] for path in loaded if "/_prefix/lib/" in path}
print("with a name of the machine's:", *sorted(name for name in bundled if not re.search(r"^lib(mneme|mneme_llvm|LLVM)\.|-[0-9a-f]{8}\.so", name)), ".")
print("bundled:", *sorted(bundled))
SOURCE
expect 0 env -i whole/bin/python loaded.py
contains out "with a name of the machine's: ."
contains out "libffi-"
search whole/bin/python

expect 1 env MNEME_PREFIX=/nowhere "${make_wheel[@]}" "$sources"
tr -s " \n" " " <err >unwrapped  # by CMake
contains unwrapped "There is no Mneme in /nowhere: MNEME_PREFIX is to name the folder that it is installed or unpacked in"
cp -r "$sources" other
sed -i 's/^version = .*/version = "9.8.7"/' other/pyproject.toml
expect 1 "${make_wheel[@]}" ./other
tr -s " \n" " " <err >unwrapped
contains unwrapped "The package is of version 9.8.7, and the Mneme in $MNEME_PREFIX is $version"
