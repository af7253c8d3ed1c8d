// For a build with STATIC=1, which is to start with any glibc from 2.34 on.
#ifdef TRANSFER_RUN_IS_STATIC
#include <math.h>

// Swift's overlay of the C library refers to it, though nothing here calls it, and glibc 2.35 gave it a new version. The
// squares of two floats have room in a double: nothing overflows, and the root is rounded once.
float hypotf(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * x + (double)y * y);
}
#else
typedef int nothing_here;
#endif
