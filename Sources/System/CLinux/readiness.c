// epoll, eventfd and signalfd. Level-triggered: epoll reports a descriptor again until its reader has read everything.
#include "result.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

const uint32_t TANDEM_READABLE = EPOLLIN, TANDEM_WRITABLE = EPOLLOUT, TANDEM_FAILED = EPOLLERR,
               TANDEM_HUNG_UP = EPOLLHUP, TANDEM_PEER_ENDED = EPOLLRDHUP;

_Static_assert(sizeof(struct tandem_event) == 16, "one event is 16 bytes");

int tandem_epoll_create(void) { return tandem_result(epoll_create1(EPOLL_CLOEXEC)); }

static int control(int epoll, int operation, int descriptor, uint32_t interest, uint64_t data) {
    struct epoll_event event = {.events = interest, .data = {.u64 = data}};
    return tandem_result(epoll_ctl(epoll, operation, descriptor, &event));
}

int tandem_epoll_add(int epoll, int descriptor, uint32_t interest, uint64_t data) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, interest, data);
}

int tandem_epoll_modify(int epoll, int descriptor, uint32_t interest, uint64_t data) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, interest, data);
}

int tandem_epoll_remove(int epoll, int descriptor) { return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0); }

int tandem_epoll_wait(int epoll, struct tandem_event *events, int capacity, int timeout_milliseconds) {
    enum { batch = 256 };
    struct epoll_event ready[batch];
    int count = tandem_result(epoll_wait(epoll, ready, capacity < batch ? capacity : batch, timeout_milliseconds));
    if (count == -EINTR) return 0;
    for (int index = 0; index < count; index++) {
        events[index].readiness = ready[index].events;
        events[index].data = ready[index].data.u64;
    }
    return count;
}

int tandem_eventfd_create(void) { return tandem_result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int tandem_eventfd_signal(int descriptor) { return TANDEM_RETRY(eventfd_write(descriptor, 1)); }

int tandem_eventfd_clear(int descriptor) {
    eventfd_t count;
    return TANDEM_RETRY(eventfd_read(descriptor, &count));
}

int tandem_signalfd_create(const sigset_t *signals) {
    return tandem_result(signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

int tandem_signalfd_read(int descriptor, int *signal) {
    struct signalfd_siginfo information;
    int outcome = TANDEM_RETRY(read(descriptor, &information, sizeof information));
    if (outcome == (int)sizeof information) *signal = (int)information.ssi_signo;
    return outcome;
}
