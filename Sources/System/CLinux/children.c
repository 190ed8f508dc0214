// Starting another program as another user (the wake-up hook). Between fork and exec nothing may allocate or lock,
// because another thread may have held any lock when the process was copied: everything is prepared before, and the
// child calls the kernel directly. Its descriptors are closed by number, so that none of the daemon's leaks even if it
// lacks close-on-exec.
#include "result.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_GROUPS = 256, USUAL_DESCRIPTORS = 1024, EXEC_MILLISECONDS = 1000 };

// A child reports the error number through the pipe, and not which call failed: that is not worth a protocol.
static void fail(int report) {
    int number = errno;
    (void)!write(report, &number, sizeof number);
    _exit(127);
}

// A blocked or ignored signal is inherited; a program expects the usual ones.
static void reset_signals(void) {
    // The kernel's own call: the C library keeps two signals for itself and would not touch them.
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } usual = {0};
    for (int number = 1; number < NSIG; number++) syscall(SYS_rt_sigaction, number, &usual, NULL, sizeof usual.mask);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int become(const struct tandem_program *program, const gid_t *groups, size_t count) {
    if (!program->changes_user) return 0;
    // The kernel's own calls: the C library's would tell other threads, which a copied process does not have.
    if (syscall(SYS_setgroups, count, groups) < 0) return -1;
    if (syscall(SYS_setresgid, program->group, program->group, program->group) < 0) return -1;
    return (int)syscall(SYS_setresuid, program->user, program->user, program->user);
}

static void run(const struct tandem_program *program, const gid_t *groups, size_t count, int null, int report) {
    reset_signals();
    // A daemon that was started without its first three may have got these here: they must not be in their way, nor be
    // closed by exec because a descriptor is copied to itself.
    if (report < 3) report = fcntl(report, F_DUPFD_CLOEXEC, 4);
    if (report < 0) _exit(127);
    if (null < 3) null = fcntl(null, F_DUPFD_CLOEXEC, 4);
    if (null < 0 || setsid() < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) fail(report);
    // The report's place becomes 3 and closes itself at exec; everything above goes.
    if (report != 3 && dup3(report, 3, O_CLOEXEC) < 0) fail(report);
    report = 3;
    if (syscall(SYS_close_range, 4u, ~0u, 0u) < 0) fail(report);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > USUAL_DESCRIPTORS) {
        limit.rlim_cur = USUAL_DESCRIPTORS;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    umask(022);
    if (chdir("/") < 0 || become(program, groups, count) < 0) fail(report);
    execve(program->arguments[0], program->arguments, program->environment);
    fail(report);
}

// Waits until exec closed the pipe, or reads why there was none. A program on a file system that does not answer counts
// as started: the daemon does not wait for it, and gets its exit status.
static int outcome_of(int report) {
    int number = 0;
    struct pollfd waiting = {.fd = report, .events = POLLIN};
    int ready;
    do { ready = poll(&waiting, 1, EXEC_MILLISECONDS); } while (ready < 0 && errno == EINTR);
    if (ready <= 0) return 0;
    ssize_t count;
    do { count = read(report, &number, sizeof number); } while (count < 0 && errno == EINTR);
    return count == (ssize_t)sizeof number ? -number : 0;
}

static int user_groups(const struct tandem_program *program, gid_t *groups, int *count) {
    *count = 0;
    if (!program->changes_user) return 0;
    struct passwd entry, *found = NULL;
    char storage[16384];
    int number = getpwuid_r(program->user, &entry, storage, sizeof storage, &found);
    if (number) return -number;
    *count = MOST_GROUPS;
    if (found && getgrouplist(entry.pw_name, program->group, groups, count) >= 0) return 0;
    // A user without a name, or with more groups than fit: its own group only.
    groups[0] = program->group;
    *count = 1;
    return 0;
}

int tandem_program_start(const struct tandem_program *program, int *process) {
    gid_t groups[MOST_GROUPS];
    int count = 0;
    int number = user_groups(program, groups, &count);
    if (number < 0) return number;
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0) return -errno;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t child = null < 0 ? -1 : fork();
    if (child == 0) run(program, groups, (size_t)count, null, report[1]);
    number = child < 0 ? -errno : 0;
    close(report[1]);
    if (null >= 0) close(null);
    if (child > 0) number = outcome_of(report[0]);
    close(report[0]);
    if (child <= 0) return number;
    int descriptor = number < 0 ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
    if (descriptor < 0) {
        if (!number) number = -errno;
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
        return number;
    }
    *process = (int)child;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

int tandem_program_reap(int descriptor, int *status) {
    siginfo_t information = {0};
    int outcome = TANDEM_RETRY(waitid((idtype_t)P_PIDFD, (id_t)descriptor, &information, WEXITED | WNOHANG));
    if (outcome < 0) return outcome;
    if (!information.si_pid) return 0;
    *status = information.si_code == CLD_EXITED ? information.si_status : 128 + information.si_status;
    return 1;
}

void tandem_program_kill(int descriptor) {
    siginfo_t information = {0};
    syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, NULL, 0u);
    (void)TANDEM_RETRY(waitid((idtype_t)P_PIDFD, (id_t)descriptor, &information, WEXITED));
}
