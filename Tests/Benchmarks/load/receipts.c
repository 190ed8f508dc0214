// Fan-out with receipts: one sender, a receiver on each of many devices, all of them connected and reading. A round of
// messages is a broadcast behind which a ping goes: its pong says that no device refused (SES-30). A round of items is
// one submission for each device; it ends when each was accepted and each is stored at its device. Prints the time to
// the last delivery and receipt, and the relay's processor time for one delivery.
#include "tandem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct protocol *spoken;
static struct connection *sender;
static uint8_t (*identifiers)[ID];
static unsigned long missing, rounds, deliveries;
static double began;
static bool isOfItems, isMeasuring;

static void ping(void) {
    struct plist envelope;
    plistBegin(&envelope);
    plistString(&envelope, "kind", "ping");
    appendFrame(&sender->out, &envelope);
    free(envelope.bytes);
}

static void begin(void) {
    began = now();
    if (isOfItems) {
        // Accepted, stored and handled by each.
        missing = 3UL * options.receivers;
        for (unsigned i = 0; i < options.receivers; i++) {
            freshIdentifier(identifiers[i], i);
            submit(sender, known[i], identifiers[i]);
        }
    } else {
        missing = options.receivers + 1UL;
        freshIdentifier(identifiers[0], 0);
        spoken->write(sender, PUBLICATION, identifiers[0]);
        ping();
    }
    flushLater(sender);
}

static void take(struct connection *it, enum kind kind, uint8_t *id) {
    if (kind == DELIVERY) return;
    if (kind == PUBLICATION && memcmp(identifiers[0], id, ID)) die("a message of another round");
    if (kind == PUBLICATION || kind == HANDLED) deliveries++;
    if (kind != PUBLICATION && it != sender) die("a receipt that nobody waits for");
    if (!missing) die("a receipt too many");
    if (--missing) return;
    if (isMeasuring) recordSample(now() - began);
    rounds++;
    begin();
}

static void runFor(double seconds, unsigned long least) {
    rounds = 0;
    for (double end = now() + seconds; rounds < least || now() < end;) turn(spoken, take);
}

static void enterAll(void) {
    for (unsigned i = 0; i < options.receivers; i++) enterReceiver(spoken, isOfItems ? HANDLER : RECEIVER, i);
    sender = enter(spoken, isOfItems ? SUBMITTER : PUBLISHER, 0, options.at);
    spoken->meet(sender, NULL);
    watch(sender);
}

void runReceipts(void) {
    isOfItems = !strcmp(options.until, "handled");
    spoken = isOfItems ? &items : &tandem;
    if (!(identifiers = calloc(options.receivers, sizeof *identifiers))) die("no memory");
    enterAll();
    begin();
    runFor(options.seconds / 5, 1);
    isMeasuring = true;
    deliveries = 0;
    struct meter begun = readMeter();
    runFor(options.seconds, 3);
    printf("{");
    printSince(begun, deliveries);
    printf(", \"last\": %.2f}\n", percentile(0.5) * 1e6);
}
