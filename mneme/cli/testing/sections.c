/* For tests: a program with the section that device code lies in, or the one that its host side leaves (-DDROPPED). */
#ifdef DROPPED
__attribute__((section("llvm_offload_entries"), used)) static char entries[8];
#else
__attribute__((section(".nv_fatbin"), used)) static const char device_code[8] = {1};
#endif
int main(void) { return 0; }
