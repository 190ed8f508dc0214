// Durable items: Tandem's frames for them (Protocol/Session.md SES-48 to SES-51), the same submissions to the floor,
// which answers each with a fixed frame when it is on the disk, and a list of redis that is written to its log as
// durably.
#include "tandem.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A submission for each body; identifier and pairing are written in their places.
static struct { uint8_t *bytes[VARIANTS]; size_t count, id, pairing; } submission;

uint8_t (*known)[PAIRING];

static void prepare(const struct connection *it) {
    static const uint8_t nothing[ID];
    char app[NAME];
    nameOf(it, app);
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        struct plist envelope;
        struct bytes frame = {0};
        plistBegin(&envelope);
        plistString(&envelope, "app", app);
        plistData(&envelope, "body", bodyOf(variant), options.bytes);
        plistString(&envelope, "channel", "userInfo");
        plistData(&envelope, "id", nothing, ID);
        plistString(&envelope, "kind", "submit");
        plistData(&envelope, "pairing", nothing, PAIRING);
        appendFrame(&frame, &envelope);
        submission.bytes[variant] = frame.at;
        submission.count = frame.count;
        submission.id = HEADER + plistPosition(&envelope, "id");
        submission.pairing = HEADER + plistPosition(&envelope, "pairing");
    }
}

void submit(struct connection *it, const uint8_t pairing[PAIRING], const uint8_t id[ID]) {
    if (!submission.count) prepare(it);
    uint8_t *frame = submission.bytes[variantOf(id)];
    memcpy(frame + submission.id, id, ID);
    memcpy(frame + submission.pairing, pairing, PAIRING);
    append(&it->out, frame, submission.count);
}

static void writeItem(struct connection *it, enum kind kind, const uint8_t *id) {
    if (kind == SUBMISSION) submit(it, (const uint8_t *)it->name, id);
}

// `finishedAck` or `verdict`: the item by its pairing and identifier, and a word.
static void say(struct connection *it, const char *kind, const uint8_t *pairing, const uint8_t *id, const char *word) {
    struct plist envelope;
    char app[NAME];
    nameOf(it, app);
    plistBegin(&envelope);
    plistString(&envelope, "app", app);
    plistString(&envelope, "channel", "userInfo");
    plistData(&envelope, "id", id, ID);
    plistString(&envelope, "kind", kind);
    if (word) plistString(&envelope, "name", word);
    plistData(&envelope, "pairing", pairing, PAIRING);
    appendFrame(&it->out, &envelope);
    free(envelope.bytes);
    flushLater(it);
}

static enum kind readItem(struct connection *it, uint8_t *frame, size_t count, uint8_t **id) {
    size_t length;
    struct value envelope = plistRoot(frame + HEADER, count - HEADER), kind = plistFind(envelope, "kind");
    struct value identifier = plistFind(envelope, "id"), pairing = plistFind(envelope, "pairing");
    if (!identifier.list || !pairing.list) return readOther(it, frame, count);
    *id = (uint8_t *)plistContent(identifier, &length);
    const uint8_t *place = plistContent(pairing, &length);
    if (plistIs(kind, "accepted")) return ACCEPTED;
    if (plistIs(kind, "progress")) return STORED;
    if (plistIs(kind, "delivery")) {
        // A measurement of stored items leaves the first item with its handler, and all others in the queue behind it.
        if (!strcmp(options.until, "handled")) say(it, "verdict", place, *id, "handled");
        return DELIVERY;
    }
    if (plistIs(kind, "finished") && plistIs(plistFind(envelope, "name"), "handled")) {
        say(it, "finishedAck", place, *id, NULL);
        return HANDLED;
    }
    return readOther(it, frame, count);
}

static void enterItems(struct connection *it) {
    struct value pairings = plistFind(greet(it), "pairings");
    unsigned most = it->part == SUBMITTER && options.receivers ? options.receivers : 1;
    if (it->part == SUBMITTER && !(known = calloc(most, sizeof *known))) die("no memory");
    for (unsigned i = 0; i < most; i++) {
        size_t count;
        const uint8_t *pairing = plistContent(plistFind(plistElement(pairings, i), "pairing"), &count);
        memcpy(it->part == SUBMITTER ? known[i] : (uint8_t *)it->name, pairing, PAIRING);
    }
    if (it->part == SUBMITTER) memcpy(it->name, known[most - 1], PAIRING);
}

static enum kind readReceipt(struct connection *it, uint8_t *bytes, size_t count, uint8_t **id) {
    (void)it, (void)bytes, (void)count, (void)id;
    return ACCEPTED;
}

static void enterNothing(struct connection *it) { (void)it; }
static void meetNobody(struct connection *it, struct connection *other) { (void)it, (void)other; }

static void pushToRedis(struct connection *it, enum kind kind, const uint8_t *id) {
    (void)kind;
    appendText(&it->out, "*3\r\n$5\r\nRPUSH\r\n$5\r\nitems\r\n$%u\r\n", ID + options.bytes);
    appendPayload(&it->out, id);
    append(&it->out, "\r\n", 2);
}

static size_t line(const uint8_t *bytes, size_t count) {
    const uint8_t *end = count ? memchr(bytes, '\n', count) : NULL;
    if (end && *bytes != ':') die("redis: %.*s", (int)(end - bytes), bytes);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

const struct protocol items = {"items", true, enterItems, meetNobody, frameLength, readItem, writeItem};
const struct protocol bareItems = {"bare-items", false, enterNothing, meetNobody, frameLength, readReceipt, writeItem};
const struct protocol redisItems = {"redis-items", false, enterNothing, meetNobody, line, readReceipt, pushToRedis};
