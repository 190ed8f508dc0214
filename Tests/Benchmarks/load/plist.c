// Writing: object 0 is the dictionary, then its keys, then its values, then the elements of its arrays, as FRM-7 wants.
// Reading: only what a relay of our own says, so what breaks the rules ends the load.
#include "plist.h"
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bigEndian(uint8_t *to, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++) to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    return width;
}

static unsigned power(uint64_t value) { return value < 1 << 8 ? 0 : value < 1 << 16 ? 1 : value < 1ULL << 32 ? 2 : 3; }

static size_t integer(uint8_t *to, uint64_t value) {
    to[0] = (uint8_t)(0x10 | power(value));
    return 1 + bigEndian(to + 1, value, (size_t)1 << power(value));
}

// Type and count: in one byte, or the count as an integer object of its own (FRM-6 h).
static size_t counted(uint8_t *to, uint8_t type, size_t count) {
    to[0] = (uint8_t)(type | (count < 15 ? count : 15));
    return count < 15 ? 1 : 1 + integer(to + 1, count);
}

static struct entry *add(struct plist *it, const char *key) {
    if (it->pairs == PLIST_PAIRS) die("too many keys");
    struct entry *entry = &it->entries[it->pairs++];
    *entry = (struct entry){.key = key};
    return entry;
}

void plistBegin(struct plist *it) { it->pairs = 0; }

void plistInteger(struct plist *it, const char *key, uint64_t value) {
    struct entry *entry = add(it, key);
    entry->markerCount = integer(entry->marker, value);
}

void plistBoolean(struct plist *it, const char *key, bool value) {
    struct entry *entry = add(it, key);
    entry->marker[0] = value ? 0x09 : 0x08;
    entry->markerCount = 1;
}

static void content(struct plist *it, const char *key, uint8_t type, const void *bytes, size_t count) {
    struct entry *entry = add(it, key);
    entry->markerCount = counted(entry->marker, type, count);
    entry->content = bytes;
    entry->contentCount = count;
}

void plistString(struct plist *it, const char *key, const char *value) {
    content(it, key, 0x50, value, strlen(value));
}

void plistData(struct plist *it, const char *key, const void *bytes, size_t count) {
    content(it, key, 0x40, bytes, count);
}

void plistStrings(struct plist *it, const char *key, const char *const *values, size_t count) {
    content(it, key, 0xa0, values, count);
    it->entries[it->pairs - 1].isArray = true;
}

struct writing {
    struct bytes to;
    size_t offsets[256], objects;
};

static void object(struct writing *it, const void *marker, size_t markerCount, const void *content, size_t count) {
    if (it->objects == 256) die("too many objects");
    it->offsets[it->objects++] = it->to.count;
    append(&it->to, marker, markerCount);
    append(&it->to, content, count);
}

static void text(struct writing *it, const char *value) {
    uint8_t marker[16];
    object(it, marker, counted(marker, 0x50, strlen(value)), value, strlen(value));
}

static void references(struct writing *it, size_t first, size_t count) {
    for (size_t i = 0; i < count; i++) append(&it->to, &(uint8_t){(uint8_t)(first + i)}, 1);
}

static void finish(struct writing *it) {
    size_t table = it->to.count, width = (size_t)1 << power(table);
    uint8_t trailer[32] = {0};
    for (size_t i = 0; i < it->objects; i++) {
        uint8_t offset[8];
        append(&it->to, offset, bigEndian(offset, it->offsets[i], width));
    }
    trailer[6] = (uint8_t)width;
    trailer[7] = 1;
    bigEndian(trailer + 8, it->objects, 8);
    bigEndian(trailer + 24, table, 8);
    append(&it->to, trailer, sizeof trailer);
}

void plistEnd(struct plist *it) {
    struct writing writing = {0};
    uint8_t marker[16];
    size_t free = 1 + 2 * it->pairs;  // the first object after the values
    append(&writing.to, "bplist00", 8);
    object(&writing, marker, counted(marker, 0xd0, it->pairs), NULL, 0);
    references(&writing, 1, 2 * it->pairs);
    for (size_t i = 0; i < it->pairs; i++) text(&writing, it->entries[i].key);
    for (size_t i = 0; i < it->pairs; i++) {
        struct entry *entry = &it->entries[i];
        object(&writing, entry->marker, entry->markerCount, entry->content, entry->isArray ? 0 : entry->contentCount);
        entry->position = writing.to.count - (entry->isArray ? 0 : entry->contentCount);
        if (!entry->isArray) continue;
        references(&writing, free, entry->contentCount);
        free += entry->contentCount;
    }
    for (size_t i = 0; i < it->pairs; i++) {
        const char *const *values = it->entries[i].content;
        for (size_t k = 0; it->entries[i].isArray && k < it->entries[i].contentCount; k++) text(&writing, values[k]);
    }
    finish(&writing);
    it->bytes = writing.to.at;
    it->count = writing.to.count;
}

size_t plistPosition(const struct plist *it, const char *key) {
    for (size_t i = 0; i < it->pairs; i++) {
        if (!strcmp(it->entries[i].key, key)) return it->entries[i].position;
    }
    die("no key %s", key);
}

static uint64_t number(const uint8_t *at, size_t width) {
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value = value << 8 | at[i];
    return value;
}

static const uint8_t *inside(struct value it, size_t position, size_t count) {
    if (position > it.count || count > it.count - position) die("a property list points outside of itself");
    return it.list + position;
}

// Where an object begins.
static size_t position(struct value it) {
    const uint8_t *trailer = inside(it, it.count - 32, 32);
    size_t width = trailer[6], table = number(trailer + 24, 8);
    return number(inside(it, table + it.object * width, width), width);
}

// Where the object's content begins, and its count as the marker says.
static size_t opened(struct value it, size_t *count) {
    size_t at = position(it), width;
    *count = *inside(it, at++, 1) & 15;
    if (*count < 15) return at;
    width = (size_t)1 << (*inside(it, at++, 1) & 15);
    *count = number(inside(it, at, width), width);
    return at + width;
}

static struct value referred(struct value it, size_t at, size_t index) {
    size_t width = it.list[it.count - 25];
    return (struct value){it.list, it.count, number(inside(it, at + index * width, width), width)};
}

struct value plistRoot(const uint8_t *list, size_t count) {
    if (count < 40 || memcmp(list, "bplist00", 8)) die("not a property list");
    return (struct value){list, count, number(list + count - 16, 8)};
}

struct value plistFind(struct value dictionary, const char *key) {
    size_t pairs, at = opened(dictionary, &pairs);
    for (size_t i = 0; i < pairs; i++) {
        if (plistIs(referred(dictionary, at, i), key)) return referred(dictionary, at, pairs + i);
    }
    return (struct value){0};
}

struct value plistElement(struct value array, size_t index) {
    size_t count, at = opened(array, &count);
    return index < count ? referred(array, at, index) : (struct value){0};
}

const uint8_t *plistContent(struct value it, size_t *count) {
    if (!it.list) die("a value is missing");
    size_t at = opened(it, count);
    return inside(it, at, *count);
}

bool plistIs(struct value it, const char *text) {
    size_t count;
    if (!it.list) return false;
    const uint8_t *content = plistContent(it, &count);
    return count == strlen(text) && !memcmp(content, text, count);
}
