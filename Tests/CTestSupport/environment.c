// Environment of the tests: apps in them, and programs that they start, store no preferences in the developer's home
// unless a test names a place.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <stdlib.h>

__attribute__((constructor)) static void store_nothing(void) { setenv("TANDEM_PREFERENCES", "memory", 0); }
