// Signals, threads, clocks, limits and the texts of errors. A signal mask is inherited: block before the first thread.
#include "door.h"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static sigset_t set_of(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t index = 0; index < count; index++) sigaddset(&set, signals[index]);
    return set;
}

int tandem_signals_block(const int *signals, size_t count) {
    sigset_t set = set_of(signals, count);
    return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int tandem_signals_ignore(int number) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    return (int)tandem_result(sigaction(number, &action, NULL));
}

int tandem_signalfd_create(const int *signals, size_t count) {
    sigset_t set = set_of(signals, count);
    return (int)tandem_result(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int tandem_signalfd_read(int descriptor, int *number) {
    struct signalfd_siginfo information;
    int outcome = (int)TANDEM_RETRY(read(descriptor, &information, sizeof information));
    if (outcome == (int)sizeof information) *number = (int)information.ssi_signo;
    return outcome;
}

int tandem_thread_start(void *(*body)(void *), void *context, const char *name, uint64_t *thread) {
    pthread_t started;
    int number = pthread_create(&started, NULL, body, context);
    if (number) return -number;
    pthread_setname_np(started, name);
    *thread = (uint64_t)started;
    return 0;
}

int tandem_thread_join(uint64_t thread) { return -pthread_join((pthread_t)thread, NULL); }

int tandem_thread_detach(uint64_t thread) { return -pthread_detach((pthread_t)thread); }

uint64_t tandem_thread_current(void) { return (uint64_t)pthread_self(); }

// CLOCK_BOOTTIME and not CLOCK_MONOTONIC: a deadline goes on while the machine sleeps, as it does for the peer.
uint64_t tandem_clock_boot_nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int64_t tandem_clock_wall_milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

const char *tandem_error_name(int number) {
    const char *name = strerrorname_np(number);
    return name ? name : "unknown";
}

const char *tandem_error_text(int number) {
    const char *text = strerrordesc_np(number);
    return text ? text : "Unknown error";
}

void tandem_heap_give_back(void) { malloc_trim(0); }

int tandem_descriptor_limit_set(uint64_t soft) {
    struct rlimit limit;
    int outcome = (int)tandem_result(getrlimit(RLIMIT_NOFILE, &limit));
    if (outcome < 0) return outcome;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    return (int)tandem_result(setrlimit(RLIMIT_NOFILE, &limit));
}

int tandem_group_identifier(const char *name, uint32_t *identifier) {
    struct group entry, *found = NULL;
    char storage[16384];
    int number = getgrnam_r(name, &entry, storage, sizeof storage, &found);
    if (!found) return number ? -number : -ENOENT;
    *identifier = entry.gr_gid;
    return 0;
}

int tandem_process_fill_usual_descriptors(void) {
    for (int number = 0; number < 3; number++) {
        // The calls themselves: the check of results takes a closed descriptor for a bug.
        if (fcntl(number, F_GETFD) >= 0) continue;
        // The kernel gives the lowest free number, which is this one.
        int opened = (int)TANDEM_RETRY(open("/dev/null", O_RDWR));
        if (opened < 0) return opened;
    }
    return 0;
}

int tandem_process_close_to_others(void) {
    umask(077);
    return (int)tandem_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}
