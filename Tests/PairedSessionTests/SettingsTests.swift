// How a host app finds its identifier and its daemon, and what is refused before anything is dialled.

import PairedSession
import TandemFiles
import TandemReactor
import TandemTransport
import TandemWire
import Testing

struct SettingsTests {
    private func settings(
        _ options: PairedSessionOptions, _ environment: [String: String] = [:]
    ) throws(SessionError) -> SessionSettings {
        try SessionSettings(options, environment: { environment[$0] })
    }

    @Test("The argument comes before the environment, and without both it is error 7008")
    func application() throws {
        let named = PairedSessionOptions(application: "a")
        #expect(try settings(named, ["TANDEM_APPLICATION": "b"]).application.description == "a")
        #expect(try settings(.init(), ["TANDEM_APPLICATION": "b"]).application.description == "b")
        let error = #expect(throws: SessionError.self) { try settings(.init()) }
        #expect(error?.code == .invalidParameter && error?.name == "application")
    }

    @Test("An identifier that is none is refused before anything is dialled", arguments: ["", ".x", "a/b", "ä"])
    func badApplication(text: String) {
        let error = #expect(throws: SessionError.self) { try settings(.init(application: text)) }
        #expect(error?.code == .invalidParameter)
    }

    @Test("SES-26: the socket: argument, TANDEM_SOCKET, the runtime directory, /run/tandem")
    func socket() throws {
        let environment = ["TANDEM_SOCKET": "/b", "XDG_RUNTIME_DIR": "/run/user/1"]
        let given = PairedSessionOptions(application: "a", socketPath: "/a")
        #expect(try settings(given, environment).addresses == [.unix(path: "/a")])
        var options = PairedSessionOptions(application: "a")
        #expect(try settings(options, environment).addresses == [.unix(path: "/b")])
        options.role = .secondary
        let expected = ["/run/user/1/tandem/secondary.sock", "/run/tandem/secondary.sock"]
        #expect(
            try settings(options, ["XDG_RUNTIME_DIR": "/run/user/1"]).addresses == expected.map { .unix(path: $0) })
        options.role = nil
        #expect(try settings(options).addresses.count == 2)
    }

    @Test("SES-26: a socket path of 107 bytes is taken, of 108 refused with that number")
    func longPath() throws {
        let longest = "/" + String(repeating: "p", count: 106)
        #expect(try settings(.init(application: "a", socketPath: longest)).addresses.count == 1)
        let error = #expect(throws: SessionError.self) {
            try settings(.init(application: "a", socketPath: longest + "p"))
        }
        #expect(error?.name == "socket" && error?.reason.contains("108") == true)
    }

    @Test("SES-26: a relative socket path becomes absolute as the session is made, as the daemon's name too")
    func relativePath() throws {
        let directory = try #require(Linux.workingDirectory)
        let expected = AbsolutePath.joined("h", to: directory)
        let given = try settings(.init(application: "a", socketPath: "./h"))
        #expect(given.addresses == [.unix(path: expected)] && given.daemon == "unix:\(expected)")
        let variable = try settings(.init(application: "a"), ["TANDEM_SOCKET": "h"])
        #expect(variable.addresses == given.addresses)
    }

    @Test("FIL-16: a file is named by its absolute path from the call on")
    func relativeFile() throws {
        let directory = try #require(Linux.workingDirectory)
        let session = try PairedSession(PairedSessionOptions(application: "a", socketPath: "/tmp/none.sock"))
        #expect(session.beginFileTransfer("same").path == AbsolutePath.joined("same", to: directory))
        session.end {}
    }

    @Test("A custom identifier that is too long is refused")
    func identifier() {
        var options = PairedSessionOptions(application: "a")
        options.identifier = String(repeating: "x", count: 257)
        #expect(throws: SessionError.self) { try settings(options) }
    }
}
