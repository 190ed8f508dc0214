// C functions for tests only: counts of this thread's Linux calls.
#pragma once

#include <stdint.h>

enum tandem_call {
    TANDEM_CALL_READ,
    TANDEM_CALL_WRITE,
    TANDEM_CALL_WAIT,
    TANDEM_CALL_ACCEPT,
    TANDEM_CALL_INTEREST,
    TANDEM_CALL_WAKE,
    TANDEM_CALL_KINDS
};

// Counts this thread's calls into `counts` (TANDEM_CALL_KINDS of them) until called with NULL.
void tandem_count_calls(uint64_t *counts);

// From now on SIGTERM and SIGINT do not end this process: their numbers are bytes of a pipe. Returns the end to read
// from, or -1 if there can be none. Once for a process.
int tandem_ending_signals(void);
