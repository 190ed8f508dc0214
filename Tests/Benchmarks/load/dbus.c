// D-Bus: requests are method calls to the responder's unique name, answers their returns, publications signals. The
// payload is an array of bytes.
#include "load.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum type { CALL = 1, RETURN = 2, ERROR = 3, SIGNAL = 4 };
enum field { PATH = 1, INTERFACE = 2, MEMBER = 3, REPLY_SERIAL = 5, DESTINATION = 6, SIGNATURE = 8 };

enum { PREAMBLE = 16 };  // up to and including the length of the header fields

static uint32_t word(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

static size_t padded(size_t count) { return (count + 7) & ~(size_t)7; }

static size_t length(const uint8_t *bytes, size_t count) {
    if (count && bytes[0] != 'l') {  // a line of the greeting
        const uint8_t *end = memchr(bytes, '\n', count);
        return end ? (size_t)(end - bytes) + 1 : 0;
    }
    if (count < PREAMBLE) return 0;
    size_t all = padded(PREAMBLE + word(bytes + 12)) + word(bytes + 4);
    return all <= count ? all : 0;
}

// A message under construction: it begins at a multiple of eight, as everything in it is aligned from there.
static struct bytes draft;

static void pad(size_t to) {
    while (draft.count % to) append(&draft, "", 1);
}

static void text(const char *value) {
    append(&draft, &(uint32_t){(uint32_t)strlen(value)}, 4);
    append(&draft, value, strlen(value) + 1);
}

static void fieldText(enum field field, const char *type, const char *value) {
    pad(8);
    append(&draft, &(uint8_t[4]){(uint8_t)field, 1, (uint8_t)type[0], 0}, 4);
    if (type[0] != 'g') return text(value);
    append(&draft, &(uint8_t){(uint8_t)strlen(value)}, 1);
    append(&draft, value, strlen(value) + 1);
}

static void fieldSerial(uint32_t serial) {
    pad(8);
    append(&draft, &(uint8_t[4]){REPLY_SERIAL, 1, 'u', 0}, 4);
    append(&draft, &serial, 4);
}

static void begin(struct connection *it, enum type type) {
    draft.count = 0;
    append(&draft, &(uint8_t[4]){'l', (uint8_t)type, 0, 1}, 4);
    append(&draft, &(uint32_t[3]){0, ++it->serial, 0}, 12);
}

// Between header and body; returns where the body begins.
static size_t endHeader(void) {
    uint32_t fields = (uint32_t)draft.count - PREAMBLE;
    memcpy(draft.at + 12, &fields, 4);
    pad(8);
    return draft.count;
}

static void end(struct connection *it, size_t body) {
    uint32_t count = (uint32_t)(draft.count - body);
    memcpy(draft.at + 4, &count, 4);
    append(&it->out, draft.at, draft.count);
}

static void names(enum type type, const char *destination, const char *interface, const char *member) {
    if (type != RETURN) {
        fieldText(PATH, "o", "/org/freedesktop/DBus");
        fieldText(INTERFACE, "s", interface);
        fieldText(MEMBER, "s", member);
    }
    if (destination[0]) fieldText(DESTINATION, "s", destination);
}

// Calls the bus itself, and waits for the return; signals that come before it mean nothing here.
static uint8_t *ask(struct connection *it, const char *member, const char *argument, size_t *count) {
    begin(it, CALL);
    names(CALL, "org.freedesktop.DBus", "org.freedesktop.DBus", member);
    if (argument) fieldText(SIGNATURE, "g", "s");
    size_t body = endHeader();
    if (argument) text(argument);
    end(it, body);
    sendNow(it);
    for (;;) {
        uint8_t *heard = receiveNow(&dbus, it, count);
        if (heard[1] == ERROR) die("dbus: %s failed", member);
        if (heard[1] == RETURN) return heard;
    }
}

static void greet(struct connection *it) {
    char user[16];
    size_t count;
    append(&it->out, "", 1);
    appendText(&it->out, "AUTH EXTERNAL ");
    snprintf(user, sizeof user, "%u", (unsigned)getuid());
    for (char *digit = user; *digit; digit++) appendText(&it->out, "%02x", (unsigned)*digit);
    appendText(&it->out, "\r\n");
    sendNow(it);
    uint8_t *heard = receiveNow(&dbus, it, &count);
    if (heard[0] != 'O') die("dbus: %.*s", (int)count, heard);
    appendText(&it->out, "BEGIN\r\n");
}

static void enterDbus(struct connection *it) {
    size_t count;
    greet(it);
    uint8_t *heard = ask(it, "Hello", NULL, &count);
    snprintf(it->name, NAME, "%s", heard + padded(PREAMBLE + word(heard + 12)) + 4);
    if (it->part == RECEIVER) ask(it, "AddMatch", "type='signal',interface='org.example.Bench'", &count);
}

static void meetDbus(struct connection *it, struct connection *other) {
    if (it->part != PUBLISHER) snprintf(it->other, NAME, "%s", other->name);
}

static enum kind readDbus(struct connection *it, uint8_t *message, size_t count, uint8_t **id) {
    size_t body = padded(PREAMBLE + word(message + 12));
    if (message[1] == ERROR) die("dbus: a call failed");
    if (count - body != 4 + ID + options.bytes) return NOTHING;  // the bus's own signals
    it->heard = word(message + 8);
    *id = checkedPayload(message + body + 4, count - body - 4);
    return it->part == REQUESTER ? ANSWER : it->part == RESPONDER ? REQUEST : PUBLICATION;
}

static void writeDbus(struct connection *it, enum kind kind, const uint8_t *id) {
    enum type type = kind == REQUEST ? CALL : kind == ANSWER ? RETURN : SIGNAL;
    begin(it, type);
    names(type, it->other, "org.example.Bench", "Content");
    if (type == RETURN) fieldSerial(it->heard);
    fieldText(SIGNATURE, "g", "ay");
    size_t body = endHeader();
    append(&draft, &(uint32_t){ID + options.bytes}, 4);
    appendPayload(&draft, id);
    end(it, body);
}

const struct protocol dbus = {"dbus", false, enterDbus, meetDbus, length, readDbus, writeDbus};
