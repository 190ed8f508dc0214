// Content of the load: different dictionaries of a given size, and an unpredictable identifier that names its slot and
// its body. Received content is compared byte for byte.
#include "load.h"
#include "plist.h"
#include <stdlib.h>
#include <string.h>

static uint8_t *bodies[VARIANTS];
static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t randomWord(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static struct plist dictionaryOf(size_t filling) {
    static uint8_t noise[512 * 1024];
    for (size_t i = 0; i < filling; i++) noise[i] = (uint8_t)randomWord();
    struct plist it;
    plistBegin(&it);
    plistData(&it, "content", noise, filling);
    plistEnd(&it);
    return it;
}

void prepareBodies(void) {
    size_t frame = options.bytes < 128 ? options.bytes : 128;
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        // The dictionary's overhead depends on the size of its content, by a few bytes.
        struct plist it = dictionaryOf(options.bytes - frame);
        for (size_t filling = options.bytes - frame; it.count != options.bytes; filling++) {
            if (it.count > options.bytes) die("no dictionary has exactly %u bytes", options.bytes);
            it = dictionaryOf(filling);
        }
        bodies[variant] = it.bytes;
    }
}

void freshIdentifier(uint8_t id[ID], uint32_t slot) {
    uint64_t words[2] = {randomWord(), randomWord()};
    memcpy(id, words, ID);
    // The slot hides in the last four bytes behind the first four: the whole looks as random as any UUID.
    for (int i = 0; i < 4; i++) id[12 + i] = id[i] ^ (uint8_t)(slot >> (8 * i));
}

uint32_t slotOf(const uint8_t id[ID]) {
    uint32_t slot = 0;
    for (int i = 0; i < 4; i++) slot |= (uint32_t)(id[12 + i] ^ id[i]) << (8 * i);
    return slot;
}

unsigned variantOf(const uint8_t id[ID]) { return id[4] % VARIANTS; }

const uint8_t *bodyOf(unsigned variant) { return bodies[variant]; }

void appendPayload(struct bytes *to, const uint8_t id[ID]) {
    append(to, id, ID);
    append(to, bodies[variantOf(id)], options.bytes);
}

uint8_t *checkedPayload(uint8_t *payload, size_t count) {
    if (count != ID + options.bytes) die("a payload of %zu bytes", count);
    if (memcmp(payload + ID, bodies[variantOf(payload)], options.bytes)) die("a payload arrived changed");
    return payload;
}
