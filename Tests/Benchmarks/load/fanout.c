// Fan-out: one publisher writes a burst, and the next one when every receiver has all of it. Prints the time from the
// write to the last delivery, and the relay's processor time for one delivery.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct protocol *spoken;
static struct connection *publisher;
static uint8_t (*burst)[ID];
static unsigned *delivered;  // of this burst, by receiver
static unsigned long missing, deliveries, bursts;
static double began;
static bool isMeasuring;

static void publish(void) {
    began = now();
    memset(delivered, 0, options.receivers * sizeof *delivered);
    missing = (unsigned long)options.receivers * options.burst;
    for (unsigned i = 0; i < options.burst; i++) {
        freshIdentifier(burst[i], i);
        spoken->write(publisher, PUBLICATION, burst[i]);
    }
    flushLater(publisher);
}

static void take(struct connection *it, enum kind kind, uint8_t *id) {
    if (kind != PUBLICATION) die("not a publication");
    unsigned place = delivered[it->number]++;
    if (place >= options.burst || memcmp(burst[place], id, ID)) die("a publication out of order");
    deliveries++;
    if (--missing) return;
    if (isMeasuring) recordSample(now() - began);
    bursts++;
    publish();
}

// At least `least` bursts, however long they take.
static void runFor(double seconds, unsigned long least) {
    bursts = 0;
    for (double end = now() + seconds; bursts < least || now() < end;) turn(spoken, take);
}

struct connection *enterReceiver(const struct protocol *protocol, enum part part, unsigned number) {
    char address[256];
    int stem = (int)strlen(options.counterpart) - (int)strlen(".sock");
    if (number == 0 || !protocol->hasManySockets) snprintf(address, sizeof address, "%s", options.counterpart);
    else snprintf(address, sizeof address, "%.*s-%u.sock", stem, options.counterpart, number + 1);
    struct connection *receiver = enter(protocol, part, number, address);
    watch(receiver);
    return receiver;
}

static void enterAll(void) {
    burst = calloc(options.burst, sizeof *burst);
    delivered = calloc(options.receivers, sizeof *delivered);
    if (!burst || !delivered) die("no memory");
    struct connection *last = NULL;
    for (unsigned i = 0; i < options.receivers; i++) last = enterReceiver(spoken, RECEIVER, i);
    publisher = enter(spoken, PUBLISHER, 0, options.at);
    spoken->meet(publisher, last);
    watch(publisher);
}

void runFanOut(const struct protocol *protocol) {
    spoken = protocol;
    enterAll();
    publish();
    runFor(options.seconds / 5, 1);
    isMeasuring = true;
    deliveries = 0;
    struct meter begun = readMeter();
    runFor(options.seconds, 3);
    printf("{");
    printSince(begun, deliveries);
    printf(", \"last\": %.2f}\n", percentile(0.5) * 1e6);
}
