# Deployed code of relocatable device code: it reads and writes the program's variables of both files, which the host changes meanwhile.
for source in deployed_rdc parts/deployed_rdc_parts; do
  $(mneme config cxx) -O2 -std=c++17 $(mneme config cxxflags --rdc) -c "$CASE_FOLDER/../gpu/$source.cu" -o "$(basename "$source").o"
done
$(mneme config cxx) deployed_rdc.o deployed_rdc_parts.o -o app $(mneme config ldflags --rdc)
expect 0 mneme run --device cpu -- ./app
contains out "deployed_rdc: PASS"
mv out plain
expect 0 mneme record -rdb db --device cpu --max 1 -- ./app
cmp -s out plain || fail "the program printed something else when it was recorded"
expect 0 mneme sweep db mix --device cpu --iterations 2 --grid 'passes=default<O3>' --results-dir found
expect 0 mneme deploy found --unconfirmed -o app.tuned
expect 0 mneme deploy --show app.tuned
[ "$(grep -c "^  variable " out)" -eq 7 ] || fail "the code reaches seven variables of two files"
expect 0 mneme run --device cpu --tuned app.tuned -- ./app
cmp -s out plain || fail "the program printed something else"
contains err "6 of 6 launches ran the deployed code"
# Compared on copies of all of these.
expect 0 mneme run --device cpu --tuned app.tuned --verify 2 -- ./app
cmp -s out plain || fail "the program printed something else"
contains err "4 of 6 launches ran the deployed code; the others: 2 run both ways"
# In other blocks.
expect 0 mneme sweep db mix --device cpu --iterations 2 --grid 'block.x=64' --keep-threads --results-dir blocks
expect 0 mneme deploy blocks --unconfirmed -o blocks.tuned
expect 0 mneme run --device cpu --tuned blocks.tuned -- ./app
cmp -s out plain || fail "the program printed something else"
contains err "6 of 6 launches ran the deployed code"
