# Recordings in one file, and databases looked after: export, import, copy, move, clean and fsck, and what comes back replays.
export MNEME_LOG=warning XDG_CACHE_HOME=$PWD/cache
sed 's|../check.h|check.h|' "$EXAMPLES/vecadd/vecadd.cu" >app.cu
cp "$EXAMPLES/check.h" .
compile app.cu app
expect 0 mneme record -rdb db --device cpu -- ./app
kernel=$(mneme ls db --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["kernels"][0]["static_hash"])')
instance=$(mneme ls db --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["kernels"][0]["instances"][0]["dynamic_hash"])')

# Out and in: the replay verifies.
expect 0 mneme export db -o x.mneme
contains err "x.mneme: 1 instance of 1 kernel"
expect 0 mneme import x.mneme new
contains out "new: 1 instance imported"
expect 0 mneme replay new --device cpu
contains out '"verified": true'
expect 0 mneme import x.mneme new
contains out "0 instances imported, 1 there already"
# By pipes, and by any tar.
mneme export db -rid "${instance:0:8}" -o - 2>/dev/null | mneme import - piped >out
contains out "piped: 1 instance imported"
mkdir untarred
tar xf x.mneme -C untarred
expect 0 mneme replay untarred --device cpu
expect 0 mneme fsck untarred
# What fails leaves nothing half-written.
before=$(md5sum <x.mneme)
if (ulimit -f 8; mneme export db -o x.mneme) 2>err; then fail "a file that may not grow"; fi
contains err "x.mneme"
[ "$(md5sum <x.mneme)" = "$before" ] || fail "the file from before is gone"
[ "$(echo x.mneme*)" = x.mneme ] || fail "left over: $(echo x.mneme*)"
head -c 3000 x.mneme >short.mneme
expect 2 mneme import short.mneme none
contains err "the archive ends there: it was cut short"
expect 2 mneme export db -rid 0123456789 -o none.mneme
contains err "no instance in db begins with '0123456789'"
[ ! -e none.mneme ] || fail "a file of nothing"
expect 2 mneme export db -o /dev/full
contains err "No space left on device"

# Copies.
expect 0 mneme copy db new all
contains out "all: 1 instance copied, 1 there already"
expect 2 mneme copy db db
contains err "db and db are the same database"
expect 0 mneme replay all --device cpu

# Moves: to another place, to another file system, into a database.
expect 0 mneme move all moved
contains out "all: moved to moved"
[ ! -e all ] || fail "all is still there"
other=$(mktemp -d /dev/shm/mneme-XXXXXX)
trap 'rm -rf "$other"' EXIT
[ "$(stat -c %d "$other")" != "$(stat -c %d .)" ] || echo "one file system here"
expect 0 mneme move moved "$other/db"
[ ! -e moved ] || fail "moved is still there"
expect 0 mneme replay "$other/db" --device cpu
expect 0 mneme move "$other/db" new
contains out "new: 0 instances moved, 1 there already"
[ ! -e "$other/db" ] || fail "$other/db is still there"
expect 2 mneme move new new
contains err "new and new are the same database"

# fsck: each planted damage, and what nothing needs.
expect 0 mneme fsck new
contains out "new: 1 instance of 1 kernel whole"
for file in "$kernel.json" "Instances_$kernel.mneme" "RecordedIR_$kernel.bc" "DeviceState.prologue.$kernel.$instance.mneme" "$(cd new; echo pages/*.mneme)"; do
  rm -rf hurt
  cp -r new hurt
  printf 'damage' | dd of="hurt/$file" bs=1 seek=70 conv=notrunc 2>/dev/null
  expect 1 mneme fsck hurt
  contains out "damaged: "
  contains out "lost: "
  contains out "to remove: "
  expect 0 mneme fsck hurt --repair
  contains out "removed: "
  expect 0 mneme import x.mneme hurt
  expect 0 mneme fsck hurt
  expect 0 mneme replay hurt --device cpu
done
cp "new/RecordedIR_$kernel.bc" "new/RecordedIR_0123456789abcdef0123456789abcdef.bc"
expect 1 mneme fsck new
contains out "to remove: RecordedIR_0123456789abcdef0123456789abcdef.bc"

# clean: asks a terminal only, and removes nothing else.
expect 2 mneme clean new add </dev/null
contains err "there is no terminal to ask at; give --yes"
expect 0 mneme fsck db
echo mine >new/notes
expect 0 mneme clean new -rid "$instance" --yes
contains out "1 instance of new: "
expect 0 mneme clean piped --yes
[ ! -e piped ] || fail "piped is still there"
expect 0 mneme clean new --yes
contains err "it holds files that are no database's"
[ "$(ls -A new)" = notes ] || fail "left: $(ls -A new)"
