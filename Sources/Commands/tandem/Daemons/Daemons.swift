// `primary` and `secondary`: one node each. They differ in the side that the local socket serves (--local-other serves
// the other one), and in listening and dialling.

import TandemBase
import TandemControl
import TandemDaemon
import TandemReactor
import TandemTransport

extension Subcommand {
    static let primary = daemon(
        .primary, summary: "run a primary's daemon: secondaries pair with it and connect to it",
        notes: """
            Without --listen it accepts device links on 127.0.0.1:4747, and on every address when --advertise is given.
            Ctrl-C or SIGTERM lets it finish what it has accepted; a second one ends it at once.
            \(sources)
            \(wake)
            """,
        examples: [
            "primary --advertise hub.example", "primary --state hub --local ./hub.sock --listen 127.0.0.1:4747",
        ])

    static let secondary = daemon(
        .secondary, summary: "run a secondary's daemon: it connects to the primary that it joined",
        notes: """
            It keeps working without its primary and connects again by itself. Ctrl-C or SIGTERM lets it finish what it
            has accepted; a second one ends it at once.
            With --listen it may have secondaries of its own ('tandem pair --device secondary'): it then carries their
            configurations from its primary, and their reports back. Its own apps use --local to talk to the primary, and
            --local-other to talk to its secondaries.
            \(sources)
            \(wake)
            """,
        examples: [
            "secondary", "secondary --state kiosk --local ./kiosk.sock --name kiosk",
            "secondary --listen 127.0.0.1:4748 --name gateway",
            "secondary --listen 127.0.0.1:4748 --local ./gateway.sock --local-other ./gateway-primary.sock",
        ])

    private static let sources = """
        Each option may also be a variable (--local-group: TANDEM_LOCAL_GROUP) or a key of the file of --config
        (localGroup; TANDEM_CONFIG names the file, too). The command line goes first, then the environment, then the
        file: 'tandem config keys' lists them, 'tandem config check' finds the mistakes of a file, SIGHUP reads it again.
        """

    private static let wake = """
        The file of --wake has a line for each app: its identifier, then a program by its absolute path and its
        arguments, split at blanks; there is no shell. It must belong to root or to the daemon's user, and nobody else
        may write it. The app's user runs the program, with TANDEM_SOCKET and TANDEM_APPLICATION, once when durable items
        wait and the app is not connected; one that crashes is started ever more rarely.
        """

    private static func daemon(
        _ role: DeviceRole, summary: String, notes: String, examples: [String]
    ) -> Subcommand {
        Subcommand(
            path: [role.rawValue], summary: summary, options: DaemonOptions.table, isService: true, notes: notes,
            examples: examples
        ) { arguments, console in
            let settings = try DaemonSettings(arguments, Environment())
            let options = try DaemonOptions(role: role, settings: settings).options()
            try ServiceRun.run(log: settings.log, on: console) { loop, log, fail in
                let node = try Node(options, software: Version.text, loop: loop, log: log.handler)
                node.onFatal = { fail(CommandFailure.refused("\($0)")) }
                try node.start()
                let listening = node.listening.map(\.description).joined(separator: ", ")
                let links = listening.isEmpty ? "" : ", device links at \(listening)"
                let others = options.localOther.map { " and \($0)" } ?? ""
                let reload = try DaemonReload(of: node, options, settings, log)
                return Service(
                    readiness: "ready: host apps at \(options.local)\(others)\(links)", stop: node.stop(completion:),
                    reload: reload.run)
            }
        }
    }
}
