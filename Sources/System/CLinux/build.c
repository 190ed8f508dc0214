// Commit that a release was built from.
#include "CTandemLinux.h"

// Not an object: in a release the linker defines this symbol at the address 0x1COMMIT (Scripts/lib/setup.sh), so that a
// new commit recompiles nothing.
extern const char tandem_commit[] __attribute__((weak));

uint32_t tandem_build_commit(void) { return (uint32_t)(uintptr_t)tandem_commit; }
