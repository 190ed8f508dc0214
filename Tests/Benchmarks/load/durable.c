// Durable items: one app keeps a window of them on their way to the promise that is measured, in order. Prints what was
// promised in a second, and how long one promise took. Stops before the queue is full (LIM-14), if time does not stop
// it.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 9000 };

struct slot {
    uint8_t id[ID];
    double begun;
};

static const struct protocol *spoken;
static struct connection *submitter;
static struct slot *slots;  // the n-th item is in slot n % window: promises come in the order of submissions
static enum kind awaited;
static unsigned long submitted, promised, measured;
static double turnBegan;
static bool isMeasuring;

static void give(void) {
    struct slot *slot = &slots[submitted % options.window];
    freshIdentifier(slot->id, (uint32_t)submitted++);
    slot->begun = turnBegan;
    spoken->write(submitter, SUBMISSION, slot->id);
    flushLater(submitter);
}

static void take(struct connection *it, enum kind kind, uint8_t *id) {
    if (it != submitter || kind != awaited) return;
    struct slot *slot = &slots[promised++ % options.window];
    if (id && memcmp(slot->id, id, ID)) die("a promise out of order");
    turnBegan = now();
    if (isMeasuring) recordSample(turnBegan - slot->begun);
    measured++;
    give();
}

static void runFor(double seconds, unsigned long most) {
    for (double end = now() + seconds; turnBegan < end && submitted < most; turnBegan = now()) turn(spoken, take);
}

static enum kind promise(const char *name) {
    if (!strcmp(name, "accepted")) return ACCEPTED;
    if (!strcmp(name, "stored")) return STORED;
    if (!strcmp(name, "handled")) return HANDLED;
    die("no promise %s", name);
}

void runDurable(const struct protocol *protocol) {
    spoken = protocol;
    awaited = promise(options.until);
    if (!(slots = calloc(options.window, sizeof *slots))) die("no memory");
    if (options.counterpart) watch(enter(spoken, HANDLER, 0, options.counterpart));
    submitter = enter(spoken, SUBMITTER, 0, options.at);
    watch(submitter);
    // A handled item leaves the queue.
    unsigned long most = awaited == HANDLED ? 1000 * 1000 * 1000 : MOST;
    turnBegan = now();
    for (unsigned i = 0; i < options.window; i++) give();
    runFor(options.seconds / 5, most / 5);
    isMeasuring = true;
    measured = 0;
    struct meter begun = readMeter();
    runFor(options.seconds, most);
    printf("{");
    printSince(begun, measured);
    printf(", \"p50\": %.3f, \"p99\": %.3f}\n", percentile(0.5) * 1e6, percentile(0.99) * 1e6);
}
