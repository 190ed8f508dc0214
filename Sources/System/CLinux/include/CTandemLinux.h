// The Linux calls that Swift's Glibc module lacks; every other call is made in Swift (SystemCall.swift). These are:
// epoll, eventfd, signalfd, prctl and malloc_trim (headers outside that module); accept4, renameat2, SO_PEERCRED and
// the names of threads and errors (GNU extensions, which the module is built without); fork and exec, after which no
// Swift code may run. Each function returns its result or minus the error number. Interrupted calls are repeated, every
// descriptor is born close-on-exec, and EBADF or EFAULT end the process where the kernel alone answers, because only a
// bug of ours makes them there. No state. The build's commit (build.c) is here too, because it needs C.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

// ---- readiness, wake-ups and signals (readiness.c)

struct tandem_event {
    uint32_t readiness;
    uint64_t data;
};

extern const uint32_t TANDEM_READABLE, TANDEM_WRITABLE, TANDEM_FAILED, TANDEM_HUNG_UP, TANDEM_PEER_ENDED;

int tandem_epoll_create(void);
int tandem_epoll_add(int epoll, int descriptor, uint32_t interest, uint64_t data);
int tandem_epoll_modify(int epoll, int descriptor, uint32_t interest, uint64_t data);
int tandem_epoll_remove(int epoll, int descriptor);
int tandem_epoll_wait(int epoll, struct tandem_event *events, int capacity, int timeout_milliseconds);
int tandem_eventfd_create(void);
int tandem_eventfd_signal(int descriptor);
int tandem_eventfd_clear(int descriptor);
int tandem_signalfd_create(const sigset_t *signals);
int tandem_signalfd_read(int descriptor, int *signal);

// ---- single GNU and Linux calls (calls.c)

struct tandem_credentials {
    uint32_t user;
    int32_t process;
};

int tandem_accept(int descriptor, struct sockaddr *address, socklen_t *length);
int tandem_socket_credentials(int descriptor, struct tandem_credentials *credentials);
// Fails with EEXIST if the target exists; no number ends the process.
int tandem_rename_new(int from_directory, const char *from, int to_directory, const char *to);
int tandem_thread_start(void *(*body)(void *), void *context, const char *name, pthread_t *thread);
const char *tandem_error_name(int number);
const char *tandem_error_text(int number);
// The content of a `user` key in the process's keyrings: its length, which may be above the room's.
int tandem_keyring_read(const char *description, void *room, size_t size);
int tandem_process_forbid_dump(void);
void tandem_heap_trim(void);

// ---- other programs (children.c)

struct tandem_program {
    // Each ends with NULL; the first argument is the program's absolute path.
    char *const *arguments;
    char *const *environment;
    uint32_t user, group;
    // Without it the program runs as this process does.
    int changes_user;
};

// Starts a program in a session of its own, whose only descriptors are /dev/null three times. The result is a
// descriptor that becomes readable when it ends.
int tandem_program_start(const struct tandem_program *program, int *process);
// 1 with the exit code, or 128 and the signal; 0 while it runs.
int tandem_program_reap(int descriptor, int *status);
// Ends a program at once and waits for that.
void tandem_program_kill(int descriptor);

// ---- the build (build.c)

// The first seven digits of the commit that a release was built from, behind a 1; 0 in any other build.
uint32_t tandem_build_commit(void);
