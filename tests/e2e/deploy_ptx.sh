# A kernel whose PTX has variables, one of them managed, is recorded, swept and deployed at a driver that runs without a GPU.
[ -n "${MNEME_TEST_DRIVER:-}" ] || skip "the driver of the tests was not built"
mneme doctor --json >doctor || true
grep -Eq '"(nvptxcompiler|nvjitlink|ptxas)' doctor || skip "there is no assembler of PTX"
program=$MNEME_TEST_DRIVER_PROGRAM
cat >add_one.ptx <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 increment = 1;
.visible .entry add_one(.param .u64 words, .param .u32 count)
{
	.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [words];
	ld.param.u32 %r1, [count];
	mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
	mad.lo.u32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $L__done;
	mul.wide.u32 %rd2, %r5, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r6, [increment];
	atom.global.add.u32 %r7, [%rd3], %r6;
$L__done:
	ret;
}
PTX
# The driver of the tests counts by 1, and by what the first variable holds in code whose table of variables was written: the program's holds 0.
at_the_driver() { LD_LIBRARY_PATH=$MNEME_TEST_DRIVER MNEME_FAKE_MANAGED_VARIABLE=4 "$@"; }
expect 0 at_the_driver "$program" dlsym add_one.ptx launch
contains out "sum 500500"
expect 0 at_the_driver mneme record -rdb db --device cuda --vass 1 -- "$program" dlsym add_one.ptx launch
contains err "recorded 1 launch of 1 kernel"
expect 0 at_the_driver mneme sweep db --device cuda --iterations 2 --grid 'assembler.level=2|3' --results-dir found
contains out "2 of 2 configurations done: 2 verified"
expect 0 at_the_driver mneme deploy found --unconfirmed -o app.tuned
expect 0 mneme deploy --show app.tuned
contains out "variable       increment"
grep -aq __mneme_variables app.tuned || fail "the code has no table of variables"
MNEME_FAKE_VARIABLE_TABLE=1 expect 0 at_the_driver mneme run --device cuda --tuned app.tuned -- "$program" dlsym add_one.ptx launch
contains err "1 of 1 launches ran the deployed code"
contains out "sum 499500"
