// Counts of this thread's calls, for tests that gate on counts instead of time. Off, it costs one thread-local load.
#include "door.h"

_Thread_local uint64_t *tandem_call_counts;

void tandem_count_calls(uint64_t *counts) { tandem_call_counts = counts; }
