/* For tests: a recordable shared library. */
long cudaMalloc(void** pointer, unsigned long size);
__attribute__((visibility("default"))) long call(void) { return cudaMalloc(0, 0); }
