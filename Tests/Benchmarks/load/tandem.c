// Tandem's local socket (Protocol/Frames.md, Protocol/Session.md): hello, register, then messages and replies. A frame
// is built once for each body; each message gets its own identifier and application at their places. `bare` sends the
// same frames to the floor, which wants no greeting.
#include "tandem.h"
#include <endian.h>
#include <stdio.h>
#include <string.h>

enum { FRAME = 512 * 1024 };

static const char appFormat[] = "org.example.bench.%04u";

// Frames of one kind: the same in every byte but identifier, application and pairing. A connection's pairing is in its
// `name`; to the publisher and to the floor it is sixteen zero bytes, which mean every pairing (SES-30).
struct template {
    uint8_t *bytes[VARIANTS];
    size_t count, id, app, pairing;
};
static struct template templates[PUBLICATION + 1];

// Each pair is an app of its own; all ends of a fan-out are one app on many devices. Items have an app of their own in
// each run, so that no run meets the queue of an earlier one.
void nameOf(const struct connection *it, char name[NAME]) {
    bool isPair = it->part == REQUESTER || it->part == RESPONDER, isOfItems = it->part == SUBMITTER || it->part == HANDLER;
    snprintf(name, NAME, appFormat, isPair ? it->number : isOfItems ? options.app : 9999);
}

void appendFrame(struct bytes *to, struct plist *payload) {
    plistEnd(payload);
    append(to, &(uint32_t){htobe32((uint32_t)payload->count)}, HEADER);
    append(to, payload->bytes, payload->count);
}

static void prepare(enum kind kind) {
    struct template *it = &templates[kind];
    struct connection first = {0};
    char app[NAME];
    nameOf(&first, app);
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        struct plist envelope;
        struct bytes frame = {0};
        plistBegin(&envelope);
        plistString(&envelope, "app", app);
        plistData(&envelope, "body", bodyOf(variant), options.bytes);
        if (kind == REQUEST) plistInteger(&envelope, "deadline", 30000);
        plistData(&envelope, "id", first.name, ID);
        plistString(&envelope, "kind", kind == ANSWER ? "reply" : "message");
        plistData(&envelope, "pairing", first.name, PAIRING);
        if (kind == REQUEST) plistBoolean(&envelope, "reply", true);
        appendFrame(&frame, &envelope);
        it->bytes[variant] = frame.at;
        it->count = frame.count;
        it->id = HEADER + plistPosition(&envelope, "id");
        it->app = HEADER + plistPosition(&envelope, "app");
        it->pairing = HEADER + plistPosition(&envelope, "pairing");
    }
}

// The frame as it must look for this connection and identifier.
static const uint8_t *frameFor(const struct connection *it, enum kind kind, const uint8_t *id) {
    struct template *template = &templates[kind];
    if (!template->count) prepare(kind);
    uint8_t *frame = template->bytes[variantOf(id)];
    char app[NAME];
    nameOf(it, app);
    memcpy(frame + template->id, id, ID);
    memcpy(frame + template->app, app, strlen(app));
    memcpy(frame + template->pairing, it->name, PAIRING);
    return frame;
}

size_t frameLength(const uint8_t *bytes, size_t count) {
    uint32_t length;
    if (count < HEADER) return 0;
    memcpy(&length, bytes, HEADER);
    length = be32toh(length);
    if (length == 0 || length > FRAME) die("a frame of %u bytes", length);
    return count - HEADER < length ? 0 : HEADER + length;
}

static bool isExpected(struct connection *it, enum kind kind, const uint8_t *frame, size_t count, uint8_t **id) {
    struct template *template = &templates[kind];
    if (count != template->count) return false;
    *id = (uint8_t *)frame + template->id;
    return !memcmp(frame, frameFor(it, kind, *id), count);
}

enum kind readOther(struct connection *it, const uint8_t *frame, size_t count) {
    struct value envelope = plistRoot(frame + HEADER, count - HEADER), kind = plistFind(envelope, "kind");
    if (plistIs(kind, "state")) return NOTHING;
    if (plistIs(kind, "ping")) {
        struct plist answer;
        plistBegin(&answer);
        plistString(&answer, "kind", "pong");
        appendFrame(&it->out, &answer);
        flushLater(it);
        return NOTHING;
    }
    if (plistIs(kind, "pong")) return RECEIPT;
    size_t kindCount, nameCount = 0;
    const char *text = (const char *)plistContent(kind, &kindCount), *name = "";
    struct value found = plistFind(envelope, "name");
    if (found.list) name = (const char *)plistContent(found, &nameCount);
    die("unexpected frame: %.*s %.*s", (int)kindCount, text, (int)nameCount, name);
}

// Which kind can arrive follows from the part. The frame must be the one that was sent, byte for byte (FRM-12); a
// receiver's has its own pairing (SES-30).
static enum kind readFrame(struct connection *it, uint8_t *frame, size_t count, uint8_t **id) {
    enum kind kind = it->part == REQUESTER ? ANSWER : it->part == RESPONDER ? REQUEST : PUBLICATION;
    return isExpected(it, kind, frame, count, id) ? kind : readOther(it, frame, count);
}

static void writeFrame(struct connection *it, enum kind kind, const uint8_t *id) {
    const uint8_t *frame = frameFor(it, kind, id);
    append(&it->out, frame, templates[kind].count);
}

static void say(struct connection *it, const char *app, const char *kind, struct plist *body) {
    struct plist envelope;
    plistEnd(body);
    plistBegin(&envelope);
    if (app) plistString(&envelope, "app", app);
    plistData(&envelope, "body", body->bytes, body->count);
    plistString(&envelope, "kind", kind);
    appendFrame(&it->out, &envelope);
    sendNow(it);
}

// The body of the next frame of this kind; others may come before it.
struct value hear(struct connection *it, const char *kind) {
    for (;;) {
        size_t count, bodyCount;
        uint8_t *frame = receiveNow(&tandem, it, &count);
        struct value envelope = plistRoot(frame + HEADER, count - HEADER);
        if (plistIs(plistFind(envelope, "kind"), kind)) {
            const uint8_t *body = plistContent(plistFind(envelope, "body"), &bodyCount);
            return plistRoot(body, bodyCount);
        }
        readOther(it, frame, count);
    }
}

static void takePairing(struct connection *it, struct value state) {
    size_t count;
    const uint8_t *id = plistContent(plistFind(plistElement(plistFind(state, "pairings"), 0), "pairing"), &count);
    if (it->part != PUBLISHER) memcpy(it->name, id, PAIRING);
}

// Whether all receivers of a fan-out, or the one counterpart, can be reached.
static bool isReachable(struct value state) {
    struct value pairings = plistFind(state, "pairings");
    for (unsigned i = 0; i < (options.receivers ? options.receivers : 1); i++) {
        struct value entry = plistElement(pairings, i);
        if (!entry.list || !plistIs(plistFind(entry, "level"), "immediate")) return false;
    }
    return true;
}

struct value greet(struct connection *it) {
    bool hasItems = it->part == SUBMITTER || it->part == HANDLER;
    const char *const capabilities[] = {"message", "messageData", "configuration", "userInfo"};
    struct plist body;
    plistBegin(&body);
    plistStrings(&body, "capabilities", capabilities, hasItems ? 4 : 3);
    plistInteger(&body, "maximum", 1);
    plistInteger(&body, "minimum", 1);
    plistString(&body, "software", "bench 1");
    say(it, NULL, "hello", &body);
    hear(it, "hello");
    char app[NAME];
    nameOf(it, app);
    plistBegin(&body);
    plistBoolean(&body, "receives", it->part != IDLER);
    say(it, app, "register", &body);
    return hear(it, "registered");
}

static void enterTandem(struct connection *it) {
    struct value state = greet(it);
    if (it->part == IDLER) return;
    takePairing(it, state);
    it->serial = isReachable(state);
}

static void meetTandem(struct connection *it, struct connection *other) {
    (void)other;
    while (!it->serial) it->serial = isReachable(hear(it, "state"));
}

static void enterNothing(struct connection *it) { (void)it; }
static void meetNobody(struct connection *it, struct connection *other) { (void)it, (void)other; }

const struct protocol tandem = {"tandem", true, enterTandem, meetTandem, frameLength, readFrame, writeFrame};
const struct protocol bare = {"bare", false, enterNothing, meetNobody, frameLength, readFrame, writeFrame};
