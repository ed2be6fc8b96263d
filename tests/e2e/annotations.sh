# What a program says of its buffers is recorded; it changes neither the program nor what a launch is named by.
cp "$CASE_FOLDER/programs/annotated_sum.cu" sum.cu
compile sum.cu plain
compile sum.cu annotated -DANNOTATED
# Without Mneme's link options the call is there and does nothing.
$(mneme config cxx) -O2 -std=c++17 -DANNOTATED $(mneme config cxxflags) sum.cu -o unlinked -L"$(mneme config cudadir)/lib64" -lcudart_static -lrt -ldl -lpthread
# C, and C++ of any later standard, without a warning.
for language in c:c99 c++:c++11 c++:c++14 c++:c++20; do
  echo '#include <mneme/annotate.h>
void f(void* p);
void f(void* p) { struct mneme_annotation a = {MNEME_F64, 0.5, MNEME_ULP, MNEME_NO_NORM, MNEME_NAN_ANY, "t"}; mneme_annotate(p, 3, &a); }' >"header.${language%%:*}"
  $(mneme config cxx) -x "${language%%:*}" "-std=${language#*:}" -Wall -Wextra -Werror -I"$(mneme config includedir)" -fsyntax-only "header.${language%%:*}"
done

expect 0 mneme record -rdb plain-db --device cpu -- ./plain
mv out bare
lacks err annotating
expect 0 mneme run --device cpu -- ./annotated
cmp -s out bare || fail "the annotated program prints something else"
lacks err annotating
expect 0 mneme record -rdb db --device cpu -- ./annotated
cmp -s out bare || fail "the annotated program prints something else when it is recorded"
contains err "no memory that is recorded lies there; the annotation is ignored"
[ "$(basename db/[0-9a-f]*.json)" = "$(basename plain-db/[0-9a-f]*.json)" ] || fail "annotations have changed the static hash"
kernel=$(echo db/[0-9a-f]*.json)
expect 0 mneme show --json "$kernel"
[ "$(json out '[(a["tag"], a["bytes"], a["tolerance"]) for a in d["instances"][0]["annotations"]]')" = \
  "[('total', 4, 'f32, 0.0001, relative'), ('', 16, 'f32, 0.0001, relative, L2')]" ] || fail "the annotations are not as they were said"
hash=$(json out 'd["instances"][0]["dynamic_hash"]')
expect 0 mneme show --check "$kernel"
contains out "total: f32, 0.0001, relative (4 B at 0x7a"
# The same launch again: nothing new is stored, and what is said of it is what was said last.
expect 0 mneme record -rdb plain-db --device cpu -- ./annotated
contains err "1 launch was the same as a recorded one"
expect 0 mneme show --json plain-db/[0-9a-f]*.json
[ "$(json out '[i["dynamic_hash"] for i in d["instances"]]')" = "['$hash']" ] || fail "annotations have changed the dynamic hash"
[ "$(json out 'len(d["instances"][0]["annotations"])')" = 2 ] || fail "the second recording's annotations"

# A replay goes by them: another launch shape rounds in other places, which is right where it was said, until the user says otherwise.
shape=(--device cpu --iterations 1 --block-dim-x 64 --grid-dim-x 9)
expect 0 mneme replay -rdb "$kernel" "${shape[@]}"
[ "$(json out '[(t["where"], t["within"]) for t in d["result"]["tolerances"]]')" = "[('annotation total', True), ('annotation', True)]" ] || fail "the annotations' tolerances"
expect 1 mneme replay -rdb "$kernel" "${shape[@]}" --tolerance 'total: f32, 1e-20, absolute'
expect 1 mneme replay -rdb plain-db/[0-9a-f]*.json "${shape[@]}" --tolerance 'total: f32, 1e-20, absolute'
