# A disk with blocks that cannot be read: every command says which file, and the recorded program goes on. The disk is a file
# system in a file that is cut short below it, at its end, where the files that are to be unreadable lie.
[ "$(id -u)" -eq 0 ] || skip "mounting a file system needs root"
for tool in mkfs.ext4 losetup; do command -v $tool >out || skip "there is no $tool here"; done
compile "$EXAMPLES/cg/cg.cu" cg
expect 0 ./cg
mv out told
expect 0 mneme record -rdb db --max 2 --device cpu -- ./cg
kernel=$(basename "$(for k in db/[0-9a-f]*.json; do [ "$(json "$k" 'len(d["instances"])')" = 2 ] && echo "$k"; done | head -n 1)")

mkdir disk
truncate -s 64M image
mkfs.ext4 -q -F -b 4096 -O ^has_journal image
mount -o loop image disk 2>err || skip "no loop device can be mounted here: $(cat err)"
trap 'umount -l disk' EXIT
# Where each kind of file lies is decided when it is written: the filler comes before those that are to be lost.
for kind in kernel ir state pack; do cp -r db "disk/$kind"; done
head -c 32M /dev/zero >disk/filler
sync -f disk
rewrite() { for file in "$@"; do cp "$file" "$file.copy" && mv "$file.copy" "$file"; done; }
rewrite "disk/kernel/$kernel"
rewrite disk/ir/RecordedIR_*
rewrite disk/state/DeviceState.*
rewrite disk/pack/pages/*.mneme
umount disk
mount -o loop image disk
# Shown to be readable by its names alone, or the kernel would keep the content.
ls -lR disk >out
truncate -s 32M image
unreadable=
for file in "disk/kernel/$kernel" disk/ir/RecordedIR_* disk/state/DeviceState.* disk/pack/pages/*.mneme; do
  cat "$file" >out 2>err || unreadable="$unreadable ${file#disk/}"
done
for kind in kernel ir state pack; do
  case "$unreadable" in *" $kind/"*) ;; *) skip "the file system put the files of '$kind' where they can be read" ;; esac
done

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
  told_of mneme replay --device cpu -rdb "disk/$kind/$kernel" --iterations 3
  told_of mneme sweep -rdb "disk/$kind/$kernel" --device cpu --grid 'block.x=64:128:64' -o "swept-$kind"
done
# The program's output and status are its own, whatever the database holds.
for kind in kernel ir state pack; do
  expect 0 mneme record -rdb "disk/$kind" --max 2 --device cpu -- ./cg
  cmp -s out told || fail "the program told something else while it was recorded into $kind"
done
