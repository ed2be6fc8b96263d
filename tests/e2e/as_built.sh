# timeout: 600
# The pipeline that a program was compiled with is recorded, and as-built, the default, runs it: the kernel's IR is then line for line what clang
# leaves in the program, also where a long function with one caller is called and not inlined.
source=$CASE_FOLDER/programs/long_function.cu

# kernel_of FILE NAME: the body of a function, without the numbers of metadata and attributes, and with values by their order.
cat >kernel_of.py <<'E2'
import re, sys

text, name = open(sys.argv[1]).read(), sys.argv[2]
body = re.search(r"^define [^\n]*@" + name + r"\(.*?^}", text, re.M | re.S).group()
body = re.sub(r",? ?![\w.]+ ![0-9]+|#[0-9]+|\bdso_local |\blocal_unnamed_addr ", "", body)
order = {}
print(re.sub(r"%[\w.]+", lambda value: order.setdefault(value.group(), f"%v{len(order)}"), re.sub(r";.*|^[\w.]+:.*$", "", body, flags=re.M)))
E2
kernel_of() { python3 kernel_of.py "$1" "$2"; }

for level in O0 O1 O2 O3 Os; do
  # The last -O counts; that of `compile` stands first.
  compile "$source" program -$level
  rm -rf db
  expect 0 mneme record -rdb db --max 1 --device cpu -- ./program
  expect 0 mneme show db "relax(float*, float, float, int)"
  contains out "compiled by   default<$level>"
  # shellcheck disable=SC2046  # the flags are meant to be split
  $(mneme config cxx) -O2 -std=c++17 -$level $(mneme config cxxflags) --cuda-device-only -emit-llvm -S "$source" -o program.ll
  for kernel in relax relax_alone relax_any; do
    mangled=$(grep -o "@_Z[0-9]*${kernel}Pfffi(" program.ll | head -n 1 | tr -d '@(')
    mneme ir db "$kernel(float*, float, float, int)" -o replayed.ll
    kernel_of program.ll "$mangled" >in_program
    kernel_of replayed.ll "$mangled" >in_replay
    if [ $level != O0 ]; then diff in_program in_replay >difference || fail "$kernel at $level: $(head -n 20 difference)"; fi
    expect 0 mneme replay --device cpu --iterations 1 db "$kernel(float*, float, float, int)" --json
    [ "$(json out 'd["configuration"]["passes"], d["result"]["verified"]')" = "('as-built', True)" ] || fail "$kernel at $level is not verified as built"
    expect 0 mneme check --device cpu --runs 1 db "$kernel(float*, float, float, int)" --json
    cp out checked.json
    [ "$(json checked.json 'd["program_code"] and d["program_code"]["same"]')" = True ] || fail "$kernel at $level has other code than the program: $(json checked.json 'd["program_code"], d["not_compared"]')"
  done
done

# At -O2 the program calls what others could call, and inlines what is static and has one caller. Internal, all is inlined.
compile "$source" program
rm -rf db
expect 0 mneme record -rdb db --max 1 --device cpu -- ./program
calls() { mneme ir db "$@" | grep -c 'call.*@_Z.*settle' || true; }
[ "$(calls 'relax(float*, float, float, int)')" = 1 ] || fail "a function that other files could call is inlined"
[ "$(calls 'relax_any(float*, float, float, int)')" = 1 ] || fail "a template's function is inlined"
[ "$(calls 'relax_alone(float*, float, float, int)')" = 0 ] || fail "a static function with one caller is not inlined"
[ "$(calls 'relax(float*, float, float, int)' --linkage internal)" = 0 ] || fail "an internal function with one caller is not inlined"
expect 0 mneme replay --device cpu --iterations 1 db "relax(float*, float, float, int)" --linkage internal --json
[ "$(json out 'd["configuration"]["linkage"]')" = internal ] || fail "the linkage is not in the configuration"
expect 64 mneme replay --device cpu db "relax(float*, float, float, int)" --linkage external
contains err "'external' is none of recorded, internal"

# The program's machine code is recorded beside the IR, without what is not the kernel's, and compared with what is made of the IR.
expect 0 mneme show --check db "relax(float*, float, float, int)"
contains out "code          cubin, sm_90, "
check() { mneme check --device cpu --runs 1 db "relax(float*, float, float, int)" "$@"; }
expect 0 check
contains out "  same code as the program's: "
expect 0 check --block-dim-x 128 --keep-threads
contains out "  same code as the program's: "
expect 0 check 'default<O1>'
contains out "  code not compared with the program's: the configuration changes it"
compile "$source" other -Xcuda-ptxas -maxrregcount=24
rm -rf capped
expect 0 mneme record -rdb capped --max 1 --device cpu -- ./other
expect 0 mneme check --device cpu --runs 1 capped "relax_any(float*, float, float, int)"
contains out "  other code than the program's: the code differs first at offset 0x"
contains out "; the program's was assembled with '-maxrregcount 24 -O 2 -arch sm_90', this with '-O 2 -arch sm_90'"
expect 0 mneme check --device cpu --runs 1 "$CASE_FOLDER/../corpora/2.1" scale
contains out "  code not compared with the program's: the program's machine code was not recorded"
expect 0 mneme check --device cpu --runs 1 "$CASE_FOLDER/../corpora/2.0" scale
contains out "  code not compared with the program's: the recording does not say how the program was compiled"

# Among other passes, in a sweep, and where no recording says it.
expect 0 mneme sweep db "relax(float*, float, float, int)" --device cpu --grid 'passes=as-built|as-built,function(gvn)|default<O1>' --iterations 1
contains out "3 verified, 0 failed"
contains out "as recorded (as-built: default<O2>): "
expect 2 mneme sweep db "relax(float*, float, float, int)" --device cpu --grid 'passes=as-built|as-buildt'
contains err "did you mean 'as-built'?"
expect 0 mneme ir "$CASE_FOLDER/../corpora/2.0" scale as-built,globaldce -o as_built.ll
expect 0 mneme ir "$CASE_FOLDER/../corpora/2.0" scale 'default<O3>,globaldce' -o o3.ll
cmp as_built.ll o3.ll || fail "as-built is not default<O3> where the recording does not say"
expect 0 mneme show "$CASE_FOLDER/../corpora/2.0" scale
contains out "compiled by   not recorded: as-built is default<O3>"
