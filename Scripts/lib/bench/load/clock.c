// Time, what the relay's process has used, and the samples of one run.
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
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

double processorSeconds(int process) {
    clockid_t clock;
    if (clock_getcpuclockid(process, &clock)) die("no process %d", process);
    return seconds(clock);
}

long residentBytes(int process) {
    char path[64];
    long all, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", process);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) die("%s cannot be read", path);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
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
