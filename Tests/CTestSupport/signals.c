// Signals that end a process of the tests, as bytes of a pipe: a handler itself may do nearly nothing. The daemons
// block signals instead, which is too late in a process of the tests: its threads run before its code.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "CTandemTestSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static int writing_end = -1;

static void pass_on(int number) {
    int before = errno;
    unsigned char byte = (unsigned char)number;
    // Without the door of counting.c, which a handler must not be the first to open.
    syscall(SYS_write, writing_end, &byte, 1);
    errno = before;
}

int tandem_ending_signals(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -1;
    writing_end = ends[1];
    fcntl(writing_end, F_SETFL, O_NONBLOCK);
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    return ends[0];
}
