# What `make dist` and `make wheel` bundle with, through a symbolic link: a program finds its library in the prefix, by whatever name the
# prefix is reached.
folder=$PWD
mkdir -p real/stage/bin real/stage/lib elsewhere
printf 'int answer(void) { return 42; }\n' >answer.c
printf 'int answer(void);\nint main(void) { return answer() == 42 ? 0 : 1; }\n' >program.c
expect 0 clang-22 -shared -fPIC answer.c -o elsewhere/libanswer.so.1 -Wl,-soname,libanswer.so.1
expect 0 clang-22 program.c elsewhere/libanswer.so.1 -o real/stage/bin/program
ln -s real link
expect 0 env LD_LIBRARY_PATH="$folder/elsewhere" bash -c "cd '$folder/link' && '$CASE_FOLDER/../../scripts/bundle-libraries' stage"
contains out "$folder/elsewhere/libanswer.so.1"
mv elsewhere gone
expect 0 link/stage/bin/program
ls real/stage/lib >bundled
contains bundled "libanswer-"
