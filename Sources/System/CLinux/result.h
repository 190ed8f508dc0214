// The check of each result: the C half of what SystemCall.swift does in Swift.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <stdlib.h>

#include "CTandemLinux.h"

// The result, or minus errno, of a call that the kernel alone answers: a bad descriptor or pointer is a bug of ours
// there, and continuing could touch another's file.
static inline int tandem_result(ssize_t result) {
    if (result >= 0) return (int)result;
    int number = errno;
    if (number == EBADF || number == EFAULT) abort();
    return -number;
}

// Repeats an interrupted call; the value is the result or minus errno.
#define TANDEM_RETRY(call)                                                                                             \
    ({                                                                                                                 \
        int outcome_;                                                                                                  \
        do { outcome_ = tandem_result(call); } while (outcome_ == -EINTR);                                             \
        outcome_;                                                                                                      \
    })
