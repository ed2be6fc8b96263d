# What a recording stores of memory is what the launches change: `mneme record` says how much that was, in whole pages, before compression.
compile "$CASE_FOLDER/../../bench/programs/slices.cu" slices
expect 0 mneme record -rdb db --max all --device cpu --json told -- ./slices 32 24 8

# Each launch changes one of 8 slices of 32 MiB, and the next one another: page by page, as no slice ends within a page. The page of zeros is not copied.
[ "$(json told '(d["recorded"], d["copied_bytes"], d["new_page_bytes"])')" = "(24, $((24 << 22)), $(((24 << 22) + 65536)))" ] || fail "not what has changed"
contains err "mneme: changed: 96.0 MiB of pages; contents of 96.1 MiB were new to the database"

# What is on the disk beside pages, their lists and the kernel's code, is little: with the pages as they are it is at most 1.1 times what has changed.
packs=$(cat db/pages/* | wc -c)
all=$(find db -type f -exec cat {} + | wc -c)
changed=$((24 << 22))
[ $((changed + all - packs)) -le $((changed * 11 / 10)) ] || fail "$all B on the disk, $packs B of them in packs, for $changed B that have changed"
[ "$all" -lt "$changed" ] || fail "nothing was compressed"

# Recorded once more, nothing is new.
expect 0 mneme record -rdb db --max all --device cpu --json told -- ./slices 32 24 8
[ "$(json told '(d["recorded"], d["recorded_before"], d["new_page_bytes"])')" = "(0, 24, 0)" ] || fail "pages were stored again"
lacks err "changed: "

# Where slices end within pages, these are stored once for each side: 3 MiB / 7 have 6 pages and a part of another one.
expect 0 mneme record -rdb parts --max all --device cpu --json told -- ./slices 3 7 7
pages=$(python3 -c 'n = 3 << 18; edges = [4 * (n * i // 7) for i in range(8)]; print(sum((end - 1) // 65536 - begin // 65536 + 1 for begin, end in zip(edges, edges[1:])))')
[ "$(json told '(d["recorded"], d["new_page_bytes"])')" = "(7, $(((pages + 1) << 16)))" ] || fail "not $pages pages"
