// Cold start: runs a command, and prints the time from its start until the first client has been served (for Tandem:
// hello and registration), and the memory it holds when it has come to rest.
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
    printf("{\"served\": %.3f, \"resident\": %.3f}\n", served * 1e3, (double)residentBytes(child) / (1 << 20));
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
}
