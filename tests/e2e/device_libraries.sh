# Cooperative groups, half precision, CUB and libcu++, which are made of inline PTX, give what the host computes.
compile "$CASE_FOLDER/programs/device_libraries.cu" app
for device in $DEVICES; do
  expect 0 mneme run --device "$device" -- ./app
  contains out "device libraries: PASS"
done
