// Round trips: each pair keeps a window of requests in flight; every request is answered by the pair's responder.
// Prints the latency of a trip and the relay's processor time for one.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    uint8_t id[ID];
    double begun;
};

static const struct protocol *spoken;
static struct connection **requesters;
static struct slot *slots;
static double turnBegan;
static unsigned long trips;
static bool isMeasuring;

static void ask(uint32_t number) {
    struct connection *it = requesters[number / options.window];
    struct slot *slot = &slots[number];
    freshIdentifier(slot->id, number);
    slot->begun = turnBegan;
    spoken->write(it, REQUEST, slot->id);
    flushLater(it);
}

static void take(struct connection *it, enum kind kind, uint8_t *id) {
    if (kind == REQUEST) {
        spoken->write(it, ANSWER, id);
        flushLater(it);
        return;
    }
    uint32_t number = slotOf(id);
    if (number >= options.pairs * options.window || memcmp(slots[number].id, id, ID)) die("an answer nobody waits for");
    trips++;
    turnBegan = now();
    if (isMeasuring) recordSample(turnBegan - slots[number].begun);
    ask(number);
}

static void runFor(double seconds) {
    unsigned long first = trips;
    double end = now() + seconds;
    while (turnBegan < end || trips - first < options.least) {
        turn(spoken, take);
        turnBegan = now();
    }
}

static void enterPairs(void) {
    requesters = calloc(options.pairs, sizeof *requesters);
    slots = calloc((size_t)options.pairs * options.window, sizeof *slots);
    if (!requesters || !slots) die("no memory");
    for (unsigned i = 0; i < options.pairs; i++) {
        struct connection *responder = enter(spoken, RESPONDER, i, options.counterpart);
        struct connection *requester = requesters[i] = enter(spoken, REQUESTER, i, options.at);
        spoken->meet(requester, responder);
        spoken->meet(responder, requester);
        watch(responder);
        watch(requester);
    }
}

void runTrips(const struct protocol *protocol) {
    spoken = protocol;
    enterPairs();
    turnBegan = now();
    for (uint32_t i = 0; i < options.pairs * options.window; i++) ask(i);
    runFor(options.seconds / 5);
    isMeasuring = true;
    trips = 0;
    struct meter begun = readMeter();
    runFor(options.seconds);
    printf("{");
    printSince(begun, trips);
    printf(", \"p50\": %.3f, \"p99\": %.3f, \"largest\": %.3f}\n", percentile(0.5) * 1e6, percentile(0.99) * 1e6,
           percentile(1) * 1e6);
}
