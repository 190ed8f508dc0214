"""Course of the soak: what happens to the daemons and their apps while these work, one event at a time."""
import contextlib
import os
import random
import signal
import time

import figures
from apps import App, facts_of
from case import Case
from daemons import CaseFailure, json_of, require, until
from frames import encode
from host import APP as CONFIGURED, Configuration
from samples import LampSigner, Sample
from traffic import APP, Disturbances, Receiver, Sender, disorder, missing
from views import applied_disagreement, settle

KILL_EVERY = 500  # rounds
CUT_EVERY, STOPPED = 120, 20  # seconds; LIM-9 notices a silence within 15
RESTART_EVERY, APPLY_EVERY, ASK_EVERY, SAMPLE_EVERY = 180, 180, 60, 10  # seconds
LONG = 600  # seconds; a shorter run has everything more often
SETTLING = 60  # seconds until all has arrived, and health has forgotten the last disturbance (LIM-34)
SHOWN = 10  # problems


class Repeated:
    """An event that is due again and again."""

    def __init__(self, pause, run):
        self.pause, self.run, self.due = pause, run, time.monotonic() + pause

    def play(self):
        if time.monotonic() >= self.due:
            try:
                self.run()
            finally:
                self.due = time.monotonic() + self.pause


class Course:
    def __init__(self, world, seconds):
        self.world, self.seconds = world, seconds
        self.hub, self.kiosk, self.line = world.pair(line=True)
        self.hub.keep_port()
        self.daemons = (self.hub, self.kiosk)
        self.disturbances, self.problems = Disturbances(), []
        self.cuts = self.kills = self.version = self.asked = 0
        self.share = min(1, seconds / LONG)  # of the usual pause between two events
        self.kill_every = max(100, KILL_EVERY * self.share)
        self.restarts, self.reasons = dict.fromkeys(self.daemons, 0), set()
        self.signer, self.wanted = LampSigner(world, self.hub), None
        self.lamp = Sample(world, self.kiosk, self.signer.key.with_suffix(".pub")).until_registered()
        self.receivers = [Receiver(world, daemon) for daemon in self.daemons]
        self.senders = [self.sender(daemon) for daemon in self.daemons]
        self.sampler = figures.Sampler(self.daemons, self.rounds, min(SAMPLE_EVERY, seconds / 30))

    def sender(self, daemon):
        app = App(daemon, APP)
        try:
            return Sender(daemon, app.until_reachable(), self.disturbances, random.Random(daemon.name))
        finally:
            app.close()

    def rounds(self):
        return sum(sender.rounds for sender in self.senders)

    def play(self):
        """The figures at rest after the first third, and at the end."""
        began = time.monotonic()
        for thread in (*self.senders, self.sampler):
            thread.start()
        events = [Repeated(max(15, CUT_EVERY * self.share), self.cut),
                  Repeated(max(10, ASK_EVERY * self.share), self.ask),
                  Repeated(max(15, APPLY_EVERY * self.share), self.apply)]
        third = self.seconds / 3
        restarts = Repeated(min(RESTART_EVERY, third / 3), self.restart)
        self.play_until(began + third, [*events, restarts])
        rest, since = self.at_rest(), time.monotonic()
        for sender in self.senders:
            sender.pauses = False
        self.play_until(began + self.seconds, events)
        self.sampler.stop()
        final = self.at_rest()
        self.rest_again(rest, final)
        return figures.rows(self.sampler, since, rest, final)

    def play_until(self, end, events):
        """Plays the events that are due. One that fails is a problem, and the soak goes on; without a daemon or an app
        it ends."""
        while time.monotonic() < end:
            if self.rounds() >= (self.kills + 1) * self.kill_every:
                self.kill()
            for event in events:
                try:
                    event.play()
                except CaseFailure as error:
                    self.problems.append(str(error))
            for daemon in self.daemons:
                require(daemon.runs, f"{daemon.name} is gone")
            for sender in self.senders:
                require(sender.failure is None, f"the app of {sender.daemon_of.name}: {sender.failure}")
            time.sleep(0.1)

    def kill(self):
        receiver = self.receivers[self.kills % 2]
        self.kills += 1
        with self.disturbances:
            receiver.kill()
            time.sleep(self.world.random.uniform(0, 2))
            receiver.start()

    def cut(self):
        """In turn: the line resets what is open, and one of the two daemons or the line stands still."""
        way = self.cuts % 4
        self.cuts += 1
        with self.disturbances:
            if way == 0:
                self.line.tell("cut")
            elif way == 2:
                self.line.tell("stall")
                time.sleep(self.stopped())
                self.line.tell("open")
            else:
                program = self.daemons[way // 2].program.process
                program.send_signal(signal.SIGSTOP)
                time.sleep(self.stopped())
                program.send_signal(signal.SIGCONT)

    def stopped(self):
        return STOPPED if self.share == 1 else STOPPED / 5

    def restart(self):
        daemon = self.daemons[sum(self.restarts.values()) % 2]
        self.restarts[daemon] += 1
        with self.disturbances:
            daemon.stop()
            code = daemon.program.process.returncode
            require(code == 0, f"{daemon.name} was asked to stop and ended with {code}")
            daemon.start()

    def apply(self):
        """Signs the next version and applies it; done once SampleApp shows its values."""
        self.version += 1
        path = self.signer.sign(self.version)
        self.wanted = Configuration(path.read_bytes())
        self.hub.command("apply", "--app", CONFIGURED, "--wait", "20s", path, seconds=40)
        until(lambda: self.lamp.shows(self.wanted), SETTLING, f"version {self.version} in SampleApp")

    def ask(self):
        """What an operator asks, and a line about it."""
        self.asked += 1
        for daemon in self.daemons:
            json_of(daemon.done("status", "--json"))
            self.reasons |= self.unhealthy(daemon)
        memory = ", ".join(f"{daemon.name} {daemon.memory() / 1024:.1f} MiB" for daemon in self.daemons)
        print(f"{time.monotonic() - self.world.began:6.0f} s  {self.rounds():,} rounds, {memory}", flush=True)

    def unhealthy(self, daemon):
        """The names of what `tandem health` says."""
        code, output = daemon.command("health", "--json")
        require(code in (0, 1), f"tandem health on {daemon.name} ended with {code}: {output.strip()}")
        health = json_of(output)
        require((code == 0) == (health["state"] == "healthy"), f"{daemon.name} is {health}, with exit code {code}")
        return {f"{daemon.name}: {problem['name']}" for problem in health["problems"]}

    def at_rest(self):
        """Stops the traffic, waits until all of it has arrived and nothing is disturbed; the figures then."""
        for sender in self.senders:
            sender.rests, sender.pauses = False, True
        def rest():
            return all(sender.rests or sender.failure for sender in self.senders)
        until(rest, SETTLING, "the end of the last rounds")
        lacking = []
        def is_all_there():
            lacking[:] = [f"{sender.daemon_of.name} sent, not arrived: {', '.join(text)}"
                          for sender, receiver, own in self.ways() if (text := missing(sender, receiver, own))]
            return not lacking
        with contextlib.suppress(CaseFailure):
            until(is_all_there, SETTLING, "")
        self.problems += lacking
        time.sleep(Disturbances.SETTLING)
        return self.read()

    def read(self):
        return {daemon.name: figures.read(daemon) for daemon in self.daemons}

    def rest_again(self, rest, final):
        """What is counted may need a moment more."""
        def is_back():
            final.update(self.read())
            return all(final[name].get(figure.name, 0) <= values.get(figure.name, 0)
                       for name, values in rest.items() for figure in figures.FIGURES if figure.is_counted)
        with contextlib.suppress(CaseFailure):
            until(is_back, SETTLING, "")

    def ways(self):
        """Each sender with its counterpart's receiver and that of its own side."""
        (first, second), (one, other) = self.senders, self.receivers
        return (first, other, one), (second, one, other)

    def finish(self):
        """What the end has to show beside the figures; all problems."""
        for sender, receiver, own in self.ways():
            self.problems += sender.problems
            self.problems += disorder(sender, receiver, own, self.restarts[receiver.daemon_of])
            self.problems += [sender.failure] if sender.failure else []
        for check in (self.last_words, self.last_configuration, self.last_health):
            try:
                check()
            except CaseFailure as error:
                self.problems.append(str(error))
        for sender in self.senders:
            sender.finishes = True
        return self.problems

    def last_words(self):
        for daemon in self.daemons:
            app = App(daemon, APP)
            try:
                app.until_reachable(SETTLING)
                answer, _ = app.ask(encode({"n": 0}), 10)
                require(answer["kind"] == "reply" and facts_of(answer) == {"n": 0},
                        f"the last message of {daemon.name} got no reply")
            finally:
                app.close()

    def last_configuration(self):
        require(self.wanted, "the run was too short for a configuration")
        settle(applied_disagreement, self.hub, self.kiosk, self.lamp, self.wanted, seconds=SETTLING)
        require(self.lamp.shows(self.wanted), f"SampleApp shows {self.lamp.shown}")

    def last_health(self):
        for daemon in self.daemons:
            try:
                until(lambda: not self.unhealthy(daemon), SETTLING, f"health of {daemon.name}")
            except CaseFailure as error:
                raise CaseFailure(f"{error}: {self.unhealthy(daemon)}") from error

    def told(self):
        """The run in one line."""
        count = {name: sum(getattr(sender, name) for sender in self.senders)
                 for name in ("replies", "failures", "unreachable", "repeated")}
        items = sum(sum(sender.sent.values()) for sender in self.senders)
        reasons = f" (at times {', '.join(sorted(self.reasons))})" if self.reasons else ""
        return (f"{self.rounds():,} rounds, {items:,} items, {count['repeated']} of them submitted again; "
                f"messages: {count['replies']:,} answered, {count['failures']} failed, "
                f"{count['unreachable']} not sent; "
                f"{self.kills} apps killed, {self.cuts} cuts, {sum(self.restarts.values())} restarts, "
                f"{self.version} configurations, health asked {self.asked} times{reasons}")


def run(world):
    """Plays for SOAK_MINUTES, prints the table and returns the run in one line."""
    minutes = int(os.environ["SOAK_MINUTES"])
    course = Course(world, minutes * 60)
    rows = course.play()
    problems = [row.problem for row in rows if row.problem] + course.finish()
    print(f"\n{figures.table(rows)}\n")
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    require(not problems, f"{'; '.join(problems[:SHOWN])}{more}; {course.told()}")
    return course.told()


CASES = [Case("K1", "two daemons at work for a long time", run)]
