// NATS core: subjects, no persistence. Each pair has two subjects; a fan-out has one.
#define _GNU_SOURCE
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const uint8_t *bytes, size_t count, const char *word) {
    return count >= strlen(word) && !memcmp(bytes, word, strlen(word));
}

// The length of the line at the front, with its CR LF; 0 if it is not whole.
static size_t line(const uint8_t *bytes, size_t count) {
    const uint8_t *end = count ? memchr(bytes, '\n', count) : NULL;
    return end ? (size_t)(end - bytes) + 1 : 0;
}

static size_t length(const uint8_t *bytes, size_t count) {
    size_t end = line(bytes, count);
    if (!end || !begins(bytes, count, "MSG ")) return end;
    // MSG subject number size, then the payload and CR LF.
    const char *size = memrchr(bytes, ' ', end);
    size_t all = end + strtoul(size + 1, NULL, 10) + 2;
    return all <= count ? all : 0;
}

static void subject(struct connection *it, bool own, char name[NAME]) {
    if (it->part == PUBLISHER || it->part == RECEIVER) snprintf(name, NAME, "all");
    else snprintf(name, NAME, "%s.%04u", (it->part == REQUESTER) == own ? "answers" : "requests", it->number);
}

// All that was said before has been done when the pong comes.
static void settle(struct connection *it) {
    size_t count;
    appendText(&it->out, "PING\r\n");
    sendNow(it);
    for (;;) {
        uint8_t *heard = receiveNow(&nats, it, &count);
        if (heard[0] == '-') die("nats: %.*s", (int)count, heard);
        if (begins(heard, count, "PONG")) return;
    }
}

static void enterNats(struct connection *it) {
    char name[NAME];
    subject(it, true, name);
    appendText(&it->out, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n");
    if (it->part != PUBLISHER && it->part != IDLER) appendText(&it->out, "SUB %s 1\r\n", name);
    settle(it);
}

static void meetNats(struct connection *it, struct connection *other) {
    (void)other;
    subject(it, false, it->other);
}

static enum kind readNats(struct connection *it, uint8_t *message, size_t count, uint8_t **id) {
    if (message[0] == '-') die("nats: %.*s", (int)count, message);
    if (begins(message, count, "PING")) {
        appendText(&it->out, "PONG\r\n");
        flushLater(it);
    }
    if (!begins(message, count, "MSG ")) return NOTHING;
    size_t payload = line(message, count);
    *id = checkedPayload(message + payload, count - payload - 2);
    return it->part == REQUESTER ? ANSWER : it->part == RESPONDER ? REQUEST : PUBLICATION;
}

static void writeNats(struct connection *it, enum kind kind, const uint8_t *id) {
    (void)kind;
    appendText(&it->out, "PUB %s %u\r\n", it->other, ID + options.bytes);
    appendPayload(&it->out, id);
    append(&it->out, "\r\n", 2);
}

const struct protocol nats = {"nats", false, enterNats, meetNats, length, readNats, writeNats};
