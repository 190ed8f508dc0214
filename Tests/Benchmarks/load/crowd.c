// A crowd that holds connections until it is ended (SIGTERM): idle ones that have registered and say nothing, or slow
// ones, half of which never say a word and half one byte a second; who is thrown out comes again. Prints what the
// relay's memory grew by for one connection once all are there.
#include "load.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TENTHS = 10 };

// The first bytes of a frame, as somebody would send them by hand.
static const uint8_t dribble[] = {0, 0, 1, 0, 'b', 'p', 'l', 'i', 's', 't', '0', '0', 0xd2, 1, 2, 3, 4, 0x54, 'b', 'o'};

struct slow {
    int socket;
    size_t said;
};

static void pauseFor(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void drip(struct slow *it, bool speaks) {
    uint8_t nothing[256];
    ssize_t heard = it->socket < 0 ? 0 : recv(it->socket, nothing, sizeof nothing, MSG_DONTWAIT);
    if (heard == 0 || (heard < 0 && errno != EAGAIN)) {
        if (it->socket >= 0) close(it->socket);
        *it = (struct slow){dial(options.at), 0};
        return;
    }
    if (speaks && send(it->socket, &dribble[it->said % sizeof dribble], 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) it->said++;
}

static void runSlow(void) {
    struct slow *all = calloc(options.connections, sizeof *all);
    if (!all) die("no memory");
    for (unsigned i = 0; i < options.connections; i++) all[i].socket = dial(options.at);
    puts("{\"ready\": true}");
    fflush(stdout);
    for (unsigned tenth = 0;; tenth = (tenth + 1) % TENTHS) {
        for (unsigned i = tenth; i < options.connections; i += TENTHS) drip(&all[i], i % 2);
        pauseFor(1.0 / TENTHS);
    }
}

static void runIdle(const struct protocol *protocol) {
    // One first: what the relay allocates for its first connection is not a connection's cost.
    enter(protocol, IDLER, 0, options.at);
    enter(protocol, IDLER, 0, options.counterpart);
    pauseFor(0.2);
    // Its own memory: pages of code are shared, and come and go as it runs.
    long before = ownBytes(options.relay);
    for (unsigned i = 0; i < options.connections; i++) enter(protocol, IDLER, 0, i % 2 ? options.counterpart : options.at);
    pauseFor(0.5);
    double each = (double)(ownBytes(options.relay) - before) / options.connections;
    printf("{\"connections\": %u, \"bytes\": %.0f}\n", options.connections, each);
    fflush(stdout);
    for (;;) pause();
}

void runCrowd(const struct protocol *protocol) {
    if (options.slow) runSlow();
    else runIdle(protocol);
}
