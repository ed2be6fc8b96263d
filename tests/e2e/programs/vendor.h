// The names of a vendor, for sources that are compiled for both: VENDOR(Malloc).
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define VENDOR(name) hip##name
#else
#define VENDOR(name) cuda##name
#endif
