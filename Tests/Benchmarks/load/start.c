// Cold start: runs a command, and prints the time from its start until the first client has been served (for Tandem:
// hello and registration), the memory it holds when it has come to rest, and the most that it has held.
#include "load.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct timespec soon = {0, 50 * 1000}, rest = {0, 300 * 1000 * 1000};

static void waitUntilThere(int child) {
    for (int probe; (probe = dial(options.at)) < 0;) {
        if (waitpid(child, NULL, WNOHANG) == child) die("the command ended before it listened");
        nanosleep(&soon, NULL);
    }
}

static double peakMebibytes(int process) {
    char path[64], line[256];
    double kibibytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", process);
    FILE *status = fopen(path, "r");
    if (!status) die("the command has ended");
    while (fgets(line, sizeof line, status) && sscanf(line, "VmHWM: %lf", &kibibytes) != 1) {}
    fclose(status);
    return kibibytes / 1024;
}

void runStart(const struct protocol *protocol, char **command) {
    unlink(options.at);
    double began = now();
    int child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(126);
        execv(command[0], command);
        _exit(127);
    }
    waitUntilThere(child);
    enter(protocol, IDLER, 0, options.at);
    double served = now() - began;
    nanosleep(&rest, NULL);
    printf("{\"served\": %.3f, \"resident\": %.3f, \"peak\": %.3f}\n", served * 1e3,
        (double)residentBytes(child) / (1 << 20), peakMebibytes(child));
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
}
