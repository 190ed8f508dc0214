// A disk that fails to synchronise, or does not answer: a library that stands before the C library's calls.

import Foundation
import Testing

enum FailingSync {
    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static int is_meant(int file) {
            char link[64], path[4096];
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            ssize_t count = readlink(link, path, sizeof path - 1);
            if (count < 0) return 0;
            path[count] = 0;
            return strstr(path, getenv("FAILS_BELOW")) != 0;
        }
        static int outcome(long call, int file) {
            while (getenv("STALLS") && access(getenv("FAILS_ONCE_THERE_IS"), F_OK) == 0 && is_meant(file))
                usleep(10000);
            if (access(getenv("FAILS_ONCE_THERE_IS"), F_OK) == 0 && is_meant(file)) { errno = EIO; return -1; }
            return (int)syscall(call, file);
        }
        int fsync(int file) { return outcome(SYS_fsync, file); }
        int fdatasync(int file) { return outcome(SYS_fdatasync, file); }
        """

    /// The environment of a program whose synchronising fails as soon as the workspace has a file `bad`.
    /// - Parameters:
    ///   - part: of the paths of the files for which it fails.
    ///   - stalls: it does not end instead, as long as there is the file.
    static func environment(
        in workspace: Workspace, below part: String = "/", stalls: Bool = false
    ) async throws -> [String: String] {
        let file = try workspace.write("fault.c", source)
        let arguments = ["clang", "-shared", "-fPIC", "-o", workspace["fault.so"], file]
        let path = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
        let compiler = try Program("/usr/bin/env", arguments, named: "clang", in: workspace, environment: path)
        let ending = try await compiler.ending()
        try #require(ending.status == 0, "\(ending)")
        var variables = [
            "LD_PRELOAD": workspace["fault.so"], "FAILS_ONCE_THERE_IS": workspace["bad"], "FAILS_BELOW": part,
        ]
        if stalls { variables["STALLS"] = "1" }
        return variables
    }
}
