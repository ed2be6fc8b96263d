# The few commands of daily work. CMake does the building; this file provides what it needs first.
BUILD ?= build
JOBS ?= $(shell nproc)
BUILD_TYPE ?= Release
CTEST_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help build check demo dist wheel check-gpu docs format clean

help:  ## this list
	@echo "make TARGET [BUILD=build] [JOBS=$(JOBS)] [BUILD_TYPE=Release]"
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null || \
	  sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  \1  \2/p' $(MAKEFILE_LIST)
	@echo "What is missing (Debian packages, CUDA's compile-time parts) is installed first, and named before it is."

build:  ## install what is missing and build everything
	@scripts/configure "$(BUILD)" "$(BUILD_TYPE)"
	@cmake --build "$(BUILD)" -j $(JOBS)

check: build  ## build and run every test
	@scripts/run-tests "$(BUILD)" -j $$((2 * $(JOBS))) $(CTEST_FLAGS)  # tests wait as long as they compute

demo:  ## record an example program and replay its kernels in several configurations
	@scripts/configure "$(BUILD)" "$(BUILD_TYPE)"
	@cmake --build "$(BUILD)" -j $(JOBS) --target programs
	@scripts/demo "$(BUILD)"

dist: build  ## a package that runs without LLVM and a compiler: dist/mneme-<version>-linux-x86_64.tar.xz
	@scripts/make-dist "$(BUILD)"

wheel: build  ## a wheel that holds all of Mneme, for the Python MNEME_PYTHON or that of BUILD/venv: dist/mneme_gpu-<version>-….whl
	@scripts/make-wheel "$(BUILD)"

check-gpu: build  ## the tests that need a GPU
	@scripts/check-gpu-tree "$(BUILD)"

docs: build  ## the API reference, into BUILD/docs
	@cmake --build "$(BUILD)" --target docs

format:  ## lay all sources out as .clang-format says
	@scripts/check-format --fix

clean:  ## remove the build folder and packages
	@rm -rf "$(BUILD)" dist
