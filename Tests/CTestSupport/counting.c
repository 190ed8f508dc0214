// Counts of this thread's calls, for tests that gate on counts instead of time. These doors stand before the C
// library's in the test executable: they count while a count is asked for, and call the library's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <dlfcn.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CTandemTestSupport.h"

static _Thread_local uint64_t *call_counts;

void tandem_count_calls(uint64_t *counts) { call_counts = counts; }

// The function behind a door: the C library's call, or Thread Sanitizer's where that watches the program.
#define LIBRARY(result, name, parameters)                                                                              \
    static result (*behind_##name) parameters;                                                                              \
    if (!behind_##name) behind_##name = (result(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name)
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BEHIND(result, name, parameters) extern result behind_##name parameters __asm__("__interceptor_" #name)
#endif
#endif
#ifndef BEHIND
#define BEHIND LIBRARY
#endif

#define DOOR(beneath, kind, result, name, parameters, arguments)                                                      \
    result name parameters {                                                                                           \
        beneath(result, name, parameters);                                                                             \
        if (call_counts) call_counts[kind]++;                                                                          \
        return behind_##name arguments;                                                                                       \
    }

DOOR(BEHIND, TANDEM_CALL_READ, ssize_t, read, (int descriptor, void *bytes, size_t count), (descriptor, bytes, count))
DOOR(BEHIND, TANDEM_CALL_READ, ssize_t, recv, (int descriptor, void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
DOOR(BEHIND, TANDEM_CALL_READ, ssize_t, recvmsg, (int descriptor, struct msghdr *message, int flags), (descriptor, message, flags))
DOOR(BEHIND, TANDEM_CALL_WRITE, ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
DOOR(BEHIND, TANDEM_CALL_WRITE, ssize_t, send, (int descriptor, const void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
DOOR(BEHIND, TANDEM_CALL_WRITE, ssize_t, sendmsg, (int descriptor, const struct msghdr *message, int flags), (descriptor, message, flags))
DOOR(BEHIND, TANDEM_CALL_WAIT, int, epoll_wait, (int epoll, struct epoll_event *events, int capacity, int timeout), (epoll, events, capacity, timeout))
DOOR(BEHIND, TANDEM_CALL_INTEREST, int, epoll_ctl, (int epoll, int operation, int descriptor, struct epoll_event *event), (epoll, operation, descriptor, event))
DOOR(BEHIND, TANDEM_CALL_ACCEPT, int, accept4, (int descriptor, struct sockaddr *address, socklen_t *length, int flags), (descriptor, address, length, flags))
DOOR(LIBRARY, TANDEM_CALL_WAKE, int, eventfd_write, (int descriptor, eventfd_t value), (descriptor, value))
