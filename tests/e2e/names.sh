# Kernels and launches go by their names in every command; a knob is an option and a member of the configuration.
corpus=$(realpath "$CASE_FOLDER/../corpora/1.1")
cp -r "$corpus" db
hash=$(basename "$corpus"/[0-9a-f]*.json .json)
expect 0 mneme show --json "db/$hash.json"
instance=$(json out 'd["instances"][0]["dynamic_hash"]')

# One kernel, one launch: by each of its names, in each command.
for words in db 'db scale' 'db cale#0' "db _Z5scalePiii" "db ${hash:0:8}#0" "db $hash" "db/$hash.json" "db/$hash.json#0" '-rdb db scale'; do
  # shellcheck disable=SC2086  # the words are meant to be split
  {
    expect 0 mneme show $words --json
    [ "$(json out 'd["static_hash"], len(d["instances"])')" = "('$hash', 1)" ] || fail "mneme show $words"
    expect 0 mneme ls $words --json
    [ "$(json out '[i["dynamic_hash"] for k in d["kernels"] for i in k["instances"]]')" = "['$instance']" ] || fail "mneme ls $words"
    expect 0 mneme ir $words --stage recorded
    contains out "@_Z5scalePiii("
  }
done
expect 0 mneme ls db
contains out "STATIC HASH                       #  DYNAMIC HASH"
for command in 'replay --iterations 1' diff 'check --runs 2' 'ir --stage asm'; do
  # shellcheck disable=SC2086
  expect 0 mneme $command --device cpu db 'scale#0' 'default<O1>'
done
expect 0 mneme sweep db 'scale#0' --device cpu --iterations 1 --grid block.x=128 --results-dir swept
contains err "the fastest: mneme replay db scale --config swept/best.json"
expect 0 mneme replay db scale --device cpu --iterations 1 --config swept/best.json

# A knob is written as an option or as a member.
expect 0 mneme replay db --device cpu --block-dim-x 64 --keep-threads --iterations 2 --passes 'default<O1>'
json out 'd["configuration"]' >options
expect 0 mneme replay db --device cpu --set block.x=64 --set keep_threads=true --set execution.iterations=2 --set 'passes=default<O1>'
json out 'd["configuration"]' >members
cmp -s options members || fail "--set makes another configuration: $(cat options members)"
expect 64 mneme replay db --device cpu --set blok.x=64
contains err "--set: configuration: unknown key 'blok'; the nearest is 'block'"

# What is not there, or is not one, has a list of all that is.
expect 2 mneme show db vadd
contains err "no kernel in db matches 'vadd'; there are"
contains err "  $hash  scale(int*, int, int)"
expect 2 mneme replay db 'scale#1' --device cpu
contains err "scale(int*, int, int) has 1 instance, numbered from 0, and none is #1"
expect 64 mneme replay
contains err "no recorded kernel: give DB KERNEL, as \`mneme ls DB\` lists them, or DIR/<static-hash>.json"
