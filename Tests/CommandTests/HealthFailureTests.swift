// Exit codes of `health` and `ready` where the request itself fails.

import TandemControl
import TandemOperations
import Testing

@Suite struct HealthFailureTests {
    @Test(
        "CTL-13: a daemon that cannot answer ends a question for its state with another exit code than a degraded one",
        arguments: [
            ControlError.failed("./primary.sock: the daemon closed the connection"), .unanswered("no daemon answers"),
            .refused(name: "not-allowed", text: "another user's"),
        ])
    func unanswered(_ failure: ControlError) {
        #expect(CommandFailure(ofState: failure).exitCode == 3)
        #expect(CommandFailure(ofState: failure).text == failure.description)
        #expect(CommandFailure.no(["unlinked"]).exitCode == 1)
    }

    @Test("CTL-13: a command that cannot even ask ends like one without an answer, and a wrong call stays one")
    func unasked() {
        struct NoDescriptors: Error {}
        #expect(CommandFailure(ofState: NoDescriptors()).exitCode == 3)
        #expect(CommandFailure(ofState: CommandFailure.usage("two sockets are served")).exitCode == 2)
    }

    @Test("CTL-73: a socket that stays closed has one exit code, whatever was asked for, and nothing to start")
    func closed() {
        let failure = ControlError.unusable("/run/tandem/primary.sock: no permission")
        for command in [CommandFailure(failure), CommandFailure(ofState: failure)] {
            #expect(command.exitCode == 3 && command.advice == nil && command.text == failure.description)
        }
    }

    @Test("CTL-13: starting a daemon is no advice where one is running")
    func advice() {
        #expect(CommandFailure(ofState: ControlError.failed("the daemon closed the connection")).advice == nil)
        let away = CommandFailure(ofState: ControlError.unanswered("no daemon answers"))
        #expect(away.advice?.contains("'tandem primary'") == true)
        let hang = CommandFailure(ofState: ControlError.silent("./hub.sock: the daemon does not answer"))
        #expect(hang.exitCode == 3 && hang.advice?.contains("start it with") == false)
    }

    @Test("CTL-73: at the socket of a service the advice is the service's command")
    func services() {
        let socket = "/run/tandem/primary.sock"
        let away = CommandFailure(ControlError.unanswered("no daemon answers", at: [socket])).advice
        #expect(away?.hasPrefix("If no daemon runs, start it with 'systemctl start tandem@primary', or") == true)
        let hang = CommandFailure(ControlError.silent("the daemon does not answer", at: [socket])).advice
        #expect(hang?.contains("'systemctl restart tandem@primary'") == true)
        // Another socket whose path ends alike is no service's.
        let other = "/srv/hub" + socket
        for failure in [
            ControlError.unanswered("no daemon answers: \(other)", at: [other]),
            .silent("\(other): the daemon does not answer", at: [other]),
        ] {
            #expect(CommandFailure(failure).advice?.contains("systemctl") == false)
        }
    }
}
