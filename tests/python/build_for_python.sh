#!/usr/bin/env bash
# build_for_python.sh BUILD FOLDER
#
# Makes FOLDER/venv, an environment of the Python that MNEME_PYTHON names with what the tests of the package need, and FOLDER/package,
# the package with its extension compiled against the build tree BUILD (unoptimised: quickly) by CXX.
set -euo pipefail
build=$1 folder=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$folder"
python=$("$source/scripts/provide-python" "$folder/venv" requirements-test.txt)
rm -rf "$folder/package"
CXXFLAGS=-O0 "$python" "$source/python/build-extension" --prefix "$build" "$folder/package"
