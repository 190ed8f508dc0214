// MQTT 3.1.1 at QoS 0. Each pair has two topics; a fan-out has one.
#include "load.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum packet { CONNECT = 0x10, CONNACK = 0x20, PUBLISH = 0x30, SUBSCRIBE = 0x82, SUBACK = 0x90 };

// The length of what follows the fixed header, and where it begins; 0 if the header is not whole.
static size_t remaining(const uint8_t *bytes, size_t count, size_t *length) {
    *length = 0;
    for (size_t at = 1; at < count && at < 5; at++) {
        *length |= (size_t)(bytes[at] & 0x7f) << (7 * (at - 1));
        if (!(bytes[at] & 0x80)) return at + 1;
    }
    return 0;
}

static size_t length(const uint8_t *bytes, size_t count) {
    size_t rest, begin = remaining(bytes, count, &rest);
    return begin && count - begin >= rest ? begin + rest : 0;
}

static void header(struct bytes *to, enum packet type, size_t rest) {
    uint8_t bytes[5] = {(uint8_t)type};
    size_t count = 1;
    do bytes[count++] = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
    while (rest >>= 7);
    append(to, bytes, count);
}

static void text(struct bytes *to, const char *value) {
    uint8_t size[2] = {0, (uint8_t)strlen(value)};
    append(to, size, 2);
    append(to, value, strlen(value));
}

static void topic(struct connection *it, bool own, char name[NAME]) {
    if (it->part == PUBLISHER || it->part == RECEIVER) snprintf(name, NAME, "all");
    else snprintf(name, NAME, "%s/%04u", (it->part == REQUESTER) == own ? "answers" : "requests", it->number);
}

static void expect(struct connection *it, enum packet type) {
    size_t count;
    sendNow(it);
    uint8_t *answer = receiveNow(&mqtt, it, &count);
    if (answer[0] != type || answer[count - 1] >= 0x80) die("mqtt: packet %#x, last byte %#x", answer[0], answer[count - 1]);
}

static void enterMqtt(struct connection *it) {
    static unsigned entered;
    char client[NAME], name[NAME];
    snprintf(client, NAME, "load.%d.%u", (int)getpid(), entered++);
    header(&it->out, CONNECT, 10 + 2 + strlen(client));
    append(&it->out, "\0\4MQTT\4\2\0\0", 10);  // 3.1.1, a clean session, no keep-alive
    text(&it->out, client);
    expect(it, CONNACK);
    if (it->part == PUBLISHER || it->part == IDLER) return;
    topic(it, true, name);
    header(&it->out, SUBSCRIBE, 2 + 2 + strlen(name) + 1);
    append(&it->out, "\0\1", 2);
    text(&it->out, name);
    append(&it->out, "\0", 1);
    expect(it, SUBACK);
}

static void meetMqtt(struct connection *it, struct connection *other) {
    (void)other;
    topic(it, false, it->other);
}

static enum kind readMqtt(struct connection *it, uint8_t *message, size_t count, uint8_t **id) {
    size_t rest, begin = remaining(message, count, &rest);
    if (message[0] != PUBLISH) die("mqtt: packet %#x", message[0]);
    size_t payload = begin + 2 + message[begin + 1];
    *id = checkedPayload(message + payload, count - payload);
    return it->part == REQUESTER ? ANSWER : it->part == RESPONDER ? REQUEST : PUBLICATION;
}

static void writeMqtt(struct connection *it, enum kind kind, const uint8_t *id) {
    (void)kind;
    header(&it->out, PUBLISH, 2 + strlen(it->other) + ID + options.bytes);
    text(&it->out, it->other);
    appendPayload(&it->out, id);
}

const struct protocol mqtt = {"mqtt", false, enterMqtt, meetMqtt, length, readMqtt, writeMqtt};
