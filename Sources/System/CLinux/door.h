// What the doors share: the check of each result.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <stdlib.h>

#include "CTandemLinux.h"

// The result, or minus errno. A bad descriptor or pointer is a bug of ours and continuing could touch another's file.
static inline ssize_t tandem_result(ssize_t result) {
    if (result >= 0) return result;
    int number = errno;
    if (number == EBADF || number == EFAULT) abort();
    return -(ssize_t)number;
}

// Repeats an interrupted call; the value is the result or minus errno.
#define TANDEM_RETRY(call)                                                                                             \
    ({                                                                                                                 \
        ssize_t outcome_;                                                                                              \
        do { outcome_ = tandem_result(call); } while (outcome_ == -EINTR);                                             \
        outcome_;                                                                                                      \
    })
