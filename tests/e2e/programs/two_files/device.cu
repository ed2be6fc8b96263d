// What main.cu calls and reads in relocatable device code. For both vendors.
__device__ int offset = 5;
__device__ int twice(int x) { return 2 * x + offset; }
