# timeout: 600
# What a package runs on a GPU, bin/mneme-check-gpu, runs on the CPU device too and passes there: it goes stale where nobody runs it.
mkdir -p package/bin package/examples
cp "$CASE_FOLDER/../../scripts/check-gpu" package/bin/mneme-check-gpu
ln -s "$MNEME_PREFIX/bin/mneme" package/bin/mneme
parts=()
for example in vecadd vecadd-shared cg stencil reduction managed textures deployed deployed_rdc graph_nodes; do parts+=(--only "$example"); done
for example in vecadd cg stencil reduction; do compile "$EXAMPLES/$example/$example.cu" "package/examples/$example"; done
for example in managed textures deployed graph_nodes; do compile "$CASE_FOLDER/../gpu/$example.cu" "package/examples/$example"; done
for source in deployed_rdc parts/deployed_rdc_parts; do
  $(mneme config cxx) -O2 -std=c++17 $(mneme config cxxflags --rdc) -c "$CASE_FOLDER/../gpu/$source.cu" -o "${source##*/}.o"
done
$(mneme config cxx) deployed_rdc.o deployed_rdc_parts.o -o package/examples/deployed_rdc $(mneme config ldflags --rdc)
cp package/examples/vecadd package/examples/vecadd-shared
expect 0 package/bin/mneme-check-gpu --device cpu "${parts[@]}"  # e2e.crossed has the one that is left
contains out "PASS  vecadd: 16 of 32 configurations are right"
contains out "0 failed on cpu"
# It says what fails, with what the command printed.
printf '#!/bin/sh\necho "reduction: wrong"\nexit 3\n' >package/examples/reduction
expect 1 package/bin/mneme-check-gpu --device cpu --only reduction --only managed
lacks out "vecadd"
contains out "PASS  managed: mneme run"
contains out "FAIL  reduction: mneme run"
contains out "reduction: wrong"
expect 2 package/bin/mneme-check-gpu --device cpu --only nothing
contains err "there is no part nothing; there are vecadd"
if [ ! -e /dev/nvidiactl ]; then expect 77 package/bin/mneme-check-gpu; fi
