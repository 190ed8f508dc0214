// Time, what the relay's process has used between two moments, and the samples of one run.
#include "load.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static float *samples;
static size_t sampleCount, sampleRoom;

static double seconds(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time)) die("the clock of the relay's process cannot be read");
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double now(void) { return seconds(CLOCK_MONOTONIC); }

// 0: this process.
static double processorSeconds(int process) {
    clockid_t clock;
    if (clock_getcpuclockid(process, &clock)) die("no process %d", process);
    return seconds(clock);
}

// The counters that counts.c keeps in the relay.
static const volatile unsigned long *counters(void) {
    static const volatile unsigned long none[COUNTERS], *shared;
    if (shared) return shared;
    int file = options.counts ? open(options.counts, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return none;
    void *mapped = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) die("%s cannot be mapped", options.counts);
    return shared = mapped;
}

struct meter readMeter(void) {
    struct meter meter = {
        .time = now(),
        .load = processorSeconds(0),
        .relay = (options.relay ? processorSeconds(options.relay) : 0)
            + (options.also ? processorSeconds(options.also) : 0),
    };
    for (int i = 0; i < COUNTERS; i++) meter.counts[i] = counters()[i];
    return meter;
}

void printSince(struct meter begun, unsigned long units) {
    struct meter end = readMeter();
    double seconds = end.time - begun.time, each = 1 / (double)units;
    printf("\"units\": %lu, \"rate\": %.0f, \"cpu\": %.4f, \"load\": %.2f", units, (double)units / seconds,
        (end.relay - begun.relay) * each * 1e6, (end.load - begun.load) / seconds);
    static const char *const names[COUNTERS] = {"calls", "allocations", "reads", "writes", "copies"};
    for (int i = 0; options.counts && i < COUNTERS; i++)
        printf(", \"%s\": %.4f", names[i], (double)(end.counts[i] - begun.counts[i]) * each);
}

static void readMemory(int process, long *resident, long *ofFiles) {
    char path[64];
    long all;
    snprintf(path, sizeof path, "/proc/%d/statm", process);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld %ld %ld", &all, resident, ofFiles) != 3) die("%s cannot be read", path);
    fclose(file);
}

long residentBytes(int process) {
    long resident, ofFiles;
    readMemory(process, &resident, &ofFiles);
    return resident * sysconf(_SC_PAGESIZE);
}

long ownBytes(int process) {
    long resident, ofFiles;
    readMemory(process, &resident, &ofFiles);
    return (resident - ofFiles) * sysconf(_SC_PAGESIZE);
}

void recordSample(double time) {
    if (sampleCount == sampleRoom) {
        sampleRoom = sampleRoom ? 2 * sampleRoom : 1 << 16;
        if (!(samples = realloc(samples, sampleRoom * sizeof *samples))) die("no memory");
    }
    samples[sampleCount++] = (float)time;
}

static int compare(const void *a, const void *b) {
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

double percentile(double share) {
    if (!sampleCount) die("nothing was measured");
    qsort(samples, sampleCount, sizeof *samples, compare);
    return samples[(size_t)((double)(sampleCount - 1) * share)];
}
