// Preloaded into a relay, counts the system calls that move bytes and wait, the allocations, and the copies of at least
// COUNTED_COPY bytes, into a file that the load reads at both ends of its measurement: exactly what happened between,
// without slowing the relay as a tracer would.
//
//     clang -O2 -shared -fPIC -o counts.so counts.c
//     COUNTS=/tmp/counts COUNTED_COPY=256 LD_PRELOAD=./counts.so tandem simulate ...
//
// It sees what goes through the C library: not the Go runtime of nats-server.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

struct counts {
    atomic_ulong calls, allocations, reads, writes, copies;
};

typedef void *copier(void *, const void *, size_t);

static struct counts none, *counts = &none;
static size_t leastCopy = (size_t)-1;
static copier *copyBytes, *moveBytes;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("COUNTS"), *least = getenv("COUNTED_COPY");
    copyBytes = (copier *)dlsym(RTLD_NEXT, "memcpy");
    moveBytes = (copier *)dlsym(RTLD_NEXT, "memmove");
    if (least) leastCopy = strtoul(least, NULL, 10);
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof none)) return;
    void *shared = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) counts = shared;
}

#define COUNTED(counter) atomic_fetch_add_explicit(&counts->counter, 1, memory_order_relaxed)
#define CALL(result, name, parameters, ...) \
    result name parameters { return COUNTED(calls), (result)syscall(__VA_ARGS__); }
#define READ(name, parameters, ...) \
    ssize_t name parameters { return COUNTED(calls), COUNTED(reads), (ssize_t)syscall(__VA_ARGS__); }
#define WRITE(name, parameters, ...) \
    ssize_t name parameters { return COUNTED(calls), COUNTED(writes), (ssize_t)syscall(__VA_ARGS__); }

READ(read, (int file, void *to, size_t count), SYS_read, file, to, count)
WRITE(write, (int file, const void *from, size_t count), SYS_write, file, from, count)
READ(readv, (int file, const struct iovec *to, int count), SYS_readv, file, to, count)
WRITE(writev, (int file, const struct iovec *from, int count), SYS_writev, file, from, count)
READ(recv, (int file, void *to, size_t count, int flags), SYS_recvfrom, file, to, count, flags, NULL, NULL)
WRITE(send, (int file, const void *from, size_t count, int flags), SYS_sendto, file, from, count, flags, NULL, 0)
READ(recvmsg, (int file, struct msghdr *message, int flags), SYS_recvmsg, file, message, flags)
WRITE(sendmsg, (int file, const struct msghdr *message, int flags), SYS_sendmsg, file, message, flags)
CALL(int, sendmmsg, (int file, struct mmsghdr *all, unsigned count, int flags), SYS_sendmmsg, file, all, count, flags)
CALL(int, epoll_wait, (int set, struct epoll_event *to, int count, int time), SYS_epoll_wait, set, to, count, time)
CALL(int, epoll_pwait, (int set, struct epoll_event *to, int count, int time, const sigset_t *mask), SYS_epoll_pwait,
     set, to, count, time, mask, _NSIG / 8)
CALL(int, epoll_ctl, (int set, int change, int file, struct epoll_event *event), SYS_epoll_ctl, set, change, file, event)
CALL(int, poll, (struct pollfd *files, nfds_t count, int time), SYS_poll, files, count, time)
CALL(int, timerfd_settime, (int file, int flags, const struct itimerspec *time, struct itimerspec *old),
     SYS_timerfd_settime, file, flags, time, old)

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return COUNTED(allocations), __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return COUNTED(allocations), __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return COUNTED(allocations), __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return COUNTED(allocations), __libc_memalign(alignment, size); }
int posix_memalign(void **to, size_t alignment, size_t size) {
    *to = aligned_alloc(alignment, size);
    return *to ? 0 : 12;  // ENOMEM
}

// Byte by byte until the C library's own are known; volatile, so that this does not become a call of what it stands in
// for.
static void *slowly(void *to, const void *from, size_t count) {
    volatile char *target = to;
    const char *source = from;
    if (target < source)
        for (size_t i = 0; i < count; i++) target[i] = source[i];
    else
        while (count--) target[count] = source[count];
    return to;
}

static void *copied(copier *copy, void *to, const void *from, size_t count) {
    if (count >= leastCopy) COUNTED(copies);
    return copy ? copy(to, from, count) : slowly(to, from, count);
}

void *memcpy(void *restrict to, const void *restrict from, size_t count) { return copied(copyBytes, to, from, count); }
void *memmove(void *to, const void *from, size_t count) { return copied(moveBytes, to, from, count); }
