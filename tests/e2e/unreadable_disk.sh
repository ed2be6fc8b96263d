# A disk with blocks that cannot be read: every command says which file, and the recorded program goes on. The disk is a file
# system in a file that is cut short below it, at its end, where the files that are to be unreadable lie.
[ "$(id -u)" -eq 0 ] || skip "mounting a file system needs root"
for tool in mkfs.ext4 filefrag losetup; do command -v $tool >out || skip "there is no $tool here"; done
compile "$EXAMPLES/cg/cg.cu" cg
expect 0 mneme run --device cpu -- ./cg
mv out told
expect 0 mneme record -rdb db --max 2 --device cpu -- ./cg
expect 0 mneme ls --json db
kernel=$(json out '[k["static_hash"] for k in d["kernels"] if len(k["instances"]) == 2][0]').json
instance=$(json out '[k["instances"][0]["dynamic_hash"] for k in d["kernels"] if len(k["instances"]) == 2][0]')

mkdir disk
truncate -s 64M image
mkfs.ext4 -q -F -b 4096 -O ^has_journal image
mount -o loop image disk 2>err || skip "no loop device can be mounted here: $(cat err)"
trap 'umount -l disk' EXIT
for kind in kernel ir state pack; do cp -r db "disk/$kind"; done
lost() { echo "disk/kernel/$kernel" disk/ir/RecordedIR_* disk/state/DeviceState.* disk/pack/pages/*.mneme; }
# The disk is filled, and emptied where it will be cut off: what is written then lies there.
cut=8192  # blocks of 4096 bytes
behind() { filefrag -e -b4096 "$1" | awk -F'[:. ]+' -v cut=$cut '/^ *[0-9]+:/ { n++; if ($5 < cut) low = 1 } END { exit n == 0 || low }'; }
i=0
while head -c 262144 /dev/zero >"disk/filler$i" 2>err; do i=$((i + 1)); done
sync -f disk
for file in disk/filler*; do if behind "$file"; then rm "$file"; fi; done
sync -f disk
tries=0
for file in $(lost); do
  # A copy that lies elsewhere stays there, so that the next one does not.
  while ! behind "$file"; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || skip "the file system puts $file where it can be read"
    mv "$file" "disk/low$tries"
    head -c 61440 /dev/zero >"disk/gap$tries"  # of the blocks that ext4 holds ready for small files of this processor
    cp "disk/low$tries" "$file"
    sync -f disk
  done
done
umount disk
mount -o loop image disk
ls -lR disk >out  # the names stay known; the content must not
# Where another mount namespace still has the file system, as a test beside this one makes one, it was not unmounted, and its files are in
# memory.
for file in $(lost); do dd if="$file" iflag=nocache count=0 status=none; done
truncate -s $((cut * 4096)) image

said() { contains err "Input/output error"; lacks err "signal"; }
told_of() {  # COMMAND...: fails as a command does that cannot read a file, and not by a signal
  local status=0
  "$@" >out 2>err || status=$?
  [ "$status" -eq 2 ] || fail "'$*' ended with $status"
  said
}
told_of mneme ls disk/kernel
told_of mneme ls disk/ir
told_of mneme ls disk/state
for kind in kernel ir state pack; do
  told_of mneme show --check "disk/$kind/$kernel"
  told_of mneme replay --device cpu -rdb "disk/$kind/$kernel" -rid "$instance" --iterations 3
  told_of mneme sweep -rdb "disk/$kind/$kernel" -rid "$instance" --device cpu --grid 'block.x=64:128:64' --results-dir "swept-$kind"
done
# The program's output and status are its own, whatever the database holds.
for kind in kernel ir state pack; do
  expect 0 mneme record -rdb "disk/$kind" --max 2 --device cpu -- ./cg
  cmp -s out told || fail "the program told something else while it was recorded into $kind"
done
