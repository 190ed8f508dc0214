// Redis publish and subscribe over RESP3, in which a connection that has subscribed may publish, too. Each pair has two
// channels; a fan-out has one.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The end of the line that begins at `at`, after its CR LF; 0 if it is not there.
static size_t lineEnd(const uint8_t *bytes, size_t count, size_t at) {
    const uint8_t *end = at < count ? memchr(bytes + at, '\n', count - at) : NULL;
    return end ? (size_t)(end - bytes) + 1 : 0;
}

// The end of the value that begins at `at`; 0 if it is not whole.
static size_t valueEnd(const uint8_t *bytes, size_t count, size_t at) {
    size_t end = lineEnd(bytes, count, at);
    if (!end) return 0;
    long size = strtol((const char *)bytes + at + 1, NULL, 10);
    if (bytes[at] == '$') return size < 0 ? end : end + (size_t)size + 2 <= count ? end + (size_t)size + 2 : 0;
    if (!strchr("*>~%", bytes[at])) return end;
    if (bytes[at] == '%') size *= 2;
    while (size-- > 0 && end) end = valueEnd(bytes, count, end);
    return end;
}

static size_t length(const uint8_t *bytes, size_t count) { return valueEnd(bytes, count, 0); }

static void channel(struct connection *it, bool own, char name[NAME]) {
    if (it->part == PUBLISHER || it->part == RECEIVER) snprintf(name, NAME, "all");
    else snprintf(name, NAME, "%s.%04u", (it->part == REQUESTER) == own ? "answers" : "requests", it->number);
}

static void expect(struct connection *it, char type) {
    size_t count;
    sendNow(it);
    uint8_t *answer = receiveNow(&redis, it, &count);
    if (answer[0] != type) die("redis: %.*s", (int)count, answer);
}

static void enterRedis(struct connection *it) {
    char name[NAME];
    channel(it, true, name);
    appendText(&it->out, "HELLO 3\r\n");
    expect(it, '%');
    if (it->part == PUBLISHER || it->part == IDLER) return;
    appendText(&it->out, "SUBSCRIBE %s\r\n", name);
    expect(it, '>');
}

static void meetRedis(struct connection *it, struct connection *other) {
    (void)other;
    channel(it, false, it->other);
}

static enum kind readRedis(struct connection *it, uint8_t *message, size_t count, uint8_t **id) {
    if (message[0] == '-') die("redis: %.*s", (int)count, message);
    if (message[0] != '>') return NOTHING;  // how many got a publication
    size_t payload = count - 2 - ID - options.bytes;
    *id = checkedPayload(message + payload, count - 2 - payload);
    return it->part == REQUESTER ? ANSWER : it->part == RESPONDER ? REQUEST : PUBLICATION;
}

static void writeRedis(struct connection *it, enum kind kind, const uint8_t *id) {
    (void)kind;
    appendText(&it->out, "*3\r\n$7\r\nPUBLISH\r\n$%zu\r\n%s\r\n$%u\r\n", strlen(it->other), it->other, ID + options.bytes);
    appendPayload(&it->out, id);
    append(&it->out, "\r\n", 2);
}

const struct protocol redis = {"redis", false, enterRedis, meetRedis, length, readRedis, writeRedis};
