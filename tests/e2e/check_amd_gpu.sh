# On a machine with an AMD GPU bin/mneme-check-gpu makes a report; asked for by name it does so where there is none, and says that.
# timeout: 600
if [ -e /dev/kfd ]; then skip "there is AMD's driver"; fi
mkdir -p package/bin package/libexec/mneme
cp "$CASE_FOLDER/../../scripts/check-gpu" package/bin/mneme-check-gpu
ln -s "$(command -v mneme)" package/bin/mneme
expect 77 package/bin/mneme-check-gpu --device hip
contains out "there is no AMD GPU here (no /dev/kfd)"
printf '#!/bin/sh\necho "[  PASSED  ] 3 tests."\n' >package/libexec/mneme/hip_test_of_the_package
printf '#!/bin/sh\necho "rates on $2 of $4 GiB"\n' >package/bin/mneme-bench-verify
chmod +x package/libexec/mneme/hip_test_of_the_package package/bin/mneme-bench-verify
echo hip_test_of_the_package >package/libexec/mneme/hip-gpu-tests.txt
expect 1 package/bin/mneme-check-gpu --device hip --only amd
for text in "Send all of it." "mneme doctor" "FAIL  it can be used" "PASS  hip_test_of_the_package" "rates on hip of 1 GiB" "failed on hip"; do
  contains out "$text"
done
# A test that finds no GPU has not run.
printf '#!/bin/sh\necho "[  PASSED  ] 0 tests."\n' >package/libexec/mneme/hip_test_of_the_package
expect 1 package/bin/mneme-check-gpu --device hip --only amd
contains out "FAIL  hip_test_of_the_package: ran"

# The program of the part with textures is built by the part's own commands, for GPUs with either width of a wavefront, and its launches
# are recorded and replayed on the CPU device.
if mneme config rocmdir >out 2>err; then
  cat >build.py <<'END'
import importlib.machinery, importlib.util, pathlib, sys
loader = importlib.machinery.SourceFileLoader("check_gpu", "package/bin/mneme-check-gpu")
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", loader))
loader.exec_module(check)
check.amd_architecture = lambda: sys.argv[1]
folder = pathlib.Path(sys.argv[1])
folder.mkdir()
sys.exit(0 if check.hip_program(check.Checks(), folder, "hip-textures", check.HIP_TEXTURES) else 1)
END
  for architecture in gfx90a gfx1030; do
    expect 0 python3 -B build.py $architecture
    expect 0 mneme record -rdb $architecture/db --device cpu --strict -- $architecture/hip-textures
    [ "$(cat out)" = "$(printf 'images: 1\n0.5 62.5 63\n8190 1\n1 4096\n0 12285')" ] || fail "textures of $architecture"
    contains err "recorded 4 launches of 4 kernels"
    for kernel in smooth gather add_one by_struct; do
      expect 0 mneme replay $architecture/db $kernel --device cpu --iterations 1
      contains out '"verified": true'
    done
  done
fi

# The part that records, over the tests' HIP runtime: all of it but replays on the GPU, whose code that runtime does not run, and the
# program that was built without Mneme.
if [ -n "${MNEME_TEST_HIP_RUNTIME:-}" ]; then
  expect 1 env LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" MNEME_COMMAND="$(command -v mneme)" package/bin/mneme-check-gpu --device hip --only record
  for text in "PASS  HIP program: built without Mneme" "PASS  HIP program: mneme record" "PASS  HIP program: mneme profile" "PASS  HIP program: 5 launches were recorded" \
    "21312.0 247156.0 1000 1000 9 2"; do
    contains out "$text"
  done
  [ "$(grep -c '^PASS  HIP program: replay of .* on cpu$' out)" = 5 ] || fail "replays on the CPU device"

  # So does the part with textures.
  expect 1 env LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" MNEME_COMMAND="$(command -v mneme)" package/bin/mneme-check-gpu --device hip --only textures
  contains out "PASS  HIP textures: mneme record"
  [ "$(grep -c '^PASS  HIP textures: replay of .* on cpu$' out)" = 3 ] || fail "replays of textures on the CPU device"
  [ "$(grep -c '^FAIL  HIP textures: replay of .* on hip$' out)" = 4 ] || fail "replays of textures on the GPU"

  # The part that deploys ends there where code of the GPU is to run.
  expect 1 env LD_PRELOAD="$MNEME_TEST_HIP_RUNTIME" MNEME_COMMAND="$(command -v mneme)" package/bin/mneme-check-gpu --device hip --only deploy
  contains out "PASS  HIP program: mneme record to deploy"
  contains out "PASS  HIP program: 3 kernels to deploy"
  [ "$(grep -c '^FAIL  HIP program: sweep of .* to deploy$' out)" = 3 ] || fail "a sweep of each kernel"
fi
