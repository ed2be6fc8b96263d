# On a machine with an AMD GPU bin/mneme-check-gpu makes a report; asked for by name it does so where there is none, and says that.
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
