// The codecs of others on the same payloads: libplist, and msgpack-c where a MessagePack file is given. Prints, as
// `tandem-bench codec` does, one JSON object a line: CPU nanoseconds per operation, the median of the rounds.
//
//     codec_peers ROUNDS PAYLOADS [MSGPACK]

#include <msgpack.h>
#include <plist/plist.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct payloads {
    size_t count;
    size_t *sizes;
    char **bytes;
};

static void fail(const char *what) {
    fprintf(stderr, "codec_peers: %s\n", what);
    exit(1);
}

static struct payloads read_payloads(const char *path) {
    struct payloads all = {0};
    unsigned char head[4];
    FILE *file = fopen(path, "rb");
    if (!file) fail("cannot open the payloads");
    while (fread(head, 1, 4, file) == 4) {
        size_t size = (size_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
        all.sizes = realloc(all.sizes, (all.count + 1) * sizeof *all.sizes);
        all.bytes = realloc(all.bytes, (all.count + 1) * sizeof *all.bytes);
        all.sizes[all.count] = size;
        all.bytes[all.count] = malloc(size);
        if (fread(all.bytes[all.count++], 1, size, file) != size) fail("the payloads end in the middle");
    }
    fclose(file);
    if (all.count == 0) fail("no payloads");
    return all;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

typedef void operation(const struct payloads *, size_t);

static void measure(const char *codec, const char *name, const struct payloads *all, int rounds, operation *run) {
    double *times = malloc(rounds * sizeof *times);
    for (int round = -rounds / 10; round < rounds; round++) {
        double began = now();
        for (size_t index = 0; index < all->count; index++) run(all, index);
        if (round >= 0) times[round] = (now() - began) / all->count;
    }
    qsort(times, rounds, sizeof *times, compare);
    double median = times[rounds / 2], spread = (times[rounds * 3 / 4] - times[rounds / 4]) / median;
    printf("{\"codec\":\"%s\",\"operation\":\"%s\",\"unit\":\"ns\",\"value\":%.1f,\"spread\":%.3f}\n", codec, name, median,
        spread);
    free(times);
}

static void plist_read(const struct payloads *all, size_t index) {
    plist_t value = NULL;
    plist_from_bin(all->bytes[index], all->sizes[index], &value);
    if (!value) fail("libplist refused a payload");
    plist_free(value);
}

static plist_t *trees;

static void plist_write(const struct payloads *all, size_t index) {
    char *bytes = NULL;
    uint32_t size = 0;
    (void)all;
    plist_to_bin(trees[index], &bytes, &size);
    if (!bytes) fail("libplist wrote nothing");
    free(bytes);
}

static void msgpack_read(const struct payloads *all, size_t index) {
    msgpack_unpacked result;
    msgpack_unpacked_init(&result);
    if (msgpack_unpack_next(&result, all->bytes[index], all->sizes[index], NULL) != MSGPACK_UNPACK_SUCCESS)
        fail("msgpack-c refused a payload");
    msgpack_unpacked_destroy(&result);
}

static msgpack_unpacked *messages;

static void msgpack_write(const struct payloads *all, size_t index) {
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    (void)all;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    if (msgpack_pack_object(&packer, messages[index].data) != 0) fail("msgpack-c wrote nothing");
    msgpack_sbuffer_destroy(&buffer);
}

static void measure_plist(const struct payloads *all, int rounds) {
    trees = calloc(all->count, sizeof *trees);
    for (size_t index = 0; index < all->count; index++) {
        plist_from_bin(all->bytes[index], all->sizes[index], &trees[index]);
    }
    measure("libplist", "read", all, rounds, plist_read);
    measure("libplist", "write", all, rounds, plist_write);
}

static void measure_msgpack(const struct payloads *all, int rounds) {
    messages = calloc(all->count, sizeof *messages);
    for (size_t index = 0; index < all->count; index++) {
        msgpack_unpacked_init(&messages[index]);
        if (msgpack_unpack_next(&messages[index], all->bytes[index], all->sizes[index], NULL) != MSGPACK_UNPACK_SUCCESS)
            fail("msgpack-c refused a payload");
    }
    measure("msgpack-c", "read", all, rounds, msgpack_read);
    measure("msgpack-c", "write", all, rounds, msgpack_write);
}

int main(int count, char **arguments) {
    int rounds = count > 2 ? atoi(arguments[1]) : 0;
    if (rounds < 1 || count > 4) fail("codec_peers ROUNDS PAYLOADS [MSGPACK]");
    struct payloads plists = read_payloads(arguments[2]);
    measure_plist(&plists, rounds);
    if (count == 4) {
        struct payloads packed = read_payloads(arguments[3]);
        measure_msgpack(&packed, rounds);
    }
    return 0;
}
