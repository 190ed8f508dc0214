// Options of the daemons from their four sources: the order, the mistakes by name, and one declaration for all texts.

import Foundation
import TandemBase
import TandemControl
import TandemDaemon
import TandemPropertyList
import TandemPropertyListXML
import TandemSettings
import TandemTestSupport
import Testing

@testable import tandem

@Suite struct DaemonSettingsTests {
    private let directory = TemporaryDirectory()

    private func arguments(_ words: String...) throws -> Arguments {
        try OptionParser(subcommand: .primary).parse(words)
    }

    private func file(_ entries: PropertyListDictionary, isBinary: Bool = false) throws -> String {
        let value = PropertyListValue.dictionary(entries)
        return try file(isBinary ? try PropertyListWriter.write(value) : try PropertyListXMLWriter.write(value))
    }

    private func file(_ bytes: [UInt8], mode: Int = 0o600) throws -> String {
        let path = directory.path + "/options-\(UInt32.random(in: 0 ... .max)).plist"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func mistakes(_ entries: PropertyListDictionary) throws -> [String] {
        DaemonSettings.mistakes(inFile: try file(entries)).map { "\($0.name): \($0.key): \($0.text)" }
    }

    @Test func `CTL-50: the command line goes before the environment, the file and the default`() throws {
        let path = try file(["name": "file", "log": "debug", "wake": "/w", "listen": ["127.0.0.1:1", "127.0.0.1:2"]])
        let environment = Environment(["TANDEM_NAME": "variable", "TANDEM_WAKE": "/v", "TANDEM_CONFIG": path])
        let settings = try DaemonSettings(try arguments("--name", "line", "--listen", "127.0.0.1:3"), environment)
        #expect(settings.text(.name) == "line")
        #expect(settings.text(.wake) == "/v")
        #expect(settings.log == .debug)
        #expect(settings.texts(.listen) == ["127.0.0.1:3"])
        #expect(settings.text(.localGroup) == nil)
        #expect(try DaemonSettings(Arguments(), Environment([:])).log == .info)
        #expect(
            DaemonOption.all.map(\.setting.name).map(settings.origin) == [
                "default", "default", "default", "default", "commandLine", "default", "commandLine", "environment",
                "default", "file",
            ])
    }

    @Test func `a state directory is absolute from the start, since apps get paths in it and run elsewhere`() throws {
        for (named, expected) in [("./kiosk", "/kiosk"), ("state/kiosk", "/state/kiosk")] {
            let line = try OptionParser(subcommand: .secondary).parse(["--state", named, "--local", "/k.sock"])
            let settings = try DaemonSettings(line, Environment([:]))
            let options = DaemonOptions(role: .secondary, settings: settings, environment: Environment([:]))
            #expect(try options.options().state == FileManager.default.currentDirectoryPath + expected)
            #expect(try options.withoutSockets().state == FileManager.default.currentDirectoryPath + expected)
        }
    }

    @Test func `PAR-4: a socket path in an address is absolute, since another daemon reads it in a link`() throws {
        let words = [
            "--state", "/s", "--local", "/k.sock", "--listen", "unix:./l.sock", "--advertise", "unix:a/l.sock",
        ]
        let settings = try DaemonSettings(try OptionParser(subcommand: .primary).parse(words), Environment([:]))
        let options = try DaemonOptions(role: .primary, settings: settings, environment: Environment([:])).options()
        let here = FileManager.default.currentDirectoryPath
        #expect(options.listen.map { "\($0)" } == ["unix:\(here)/l.sock"])
        #expect(options.advertise.map { "\($0)" } == "unix:\(here)/a/l.sock")
        #expect(try "\(DaemonOptions.absoluteAddress("unix:/l.sock"))" == "unix:/l.sock")
        let long = "unix:" + String(repeating: "a", count: 107)
        let failure = #expect(throws: CommandFailure.self) { try DaemonOptions.absoluteAddress(long, of: .listen) }
        #expect(failure?.text.hasPrefix("--listen 'unix:aaa") == true, "the path is too long once it is absolute")
        #expect(try "\(DaemonOptions.absoluteAddress("hub"))" == "hub:4747")
    }

    @Test(
        "PAR-4: an advertised host without a port gets the only port that the daemon listens on",
        arguments: [
            (["hub"], "hub:4747"), (["hub", "0.0.0.0:4861"], "hub:4861"),
            (["[::1]", "0.0.0.0:1", "[::]:1"], "[::1]:1"),
            (["hub:7", "0.0.0.0:1"], "hub:7"), (["hub", "unix:/l.sock"], "hub:4747"),
            (["unix:/l.sock", "0.0.0.0:1"], "unix:/l.sock"),
        ])
    func advertisedPort(places: [String], expected: String) throws {
        #expect(try advertised(places) == expected)
    }

    @Test("PAR-4: an advertised host without a port is refused where the daemon's port is not one")
    func severalPorts() throws {
        let failure = #expect(throws: CommandFailure.self) { try advertised(["hub", "0.0.0.0:1", "0.0.0.0:2"]) }
        #expect(
            failure?.text == "--advertise 'hub' needs a port: the daemon listens at 0.0.0.0:1 and 0.0.0.0:2",
            "\(failure as Any)")
        #expect(throws: CommandFailure.self) { try advertised(["hub", "0.0.0.0:0"]) }
    }

    /// The address that join links name.
    /// - Parameter places: the value of `--advertise`, then those of `--listen`.
    private func advertised(_ places: [String]) throws -> String? {
        let words = ["--state", "/s", "--local", "/k.sock", "--advertise", places[0]]
        let listen = places.dropFirst().flatMap { ["--listen", $0] }
        let line = try OptionParser(subcommand: .primary).parse(words + listen)
        let settings = try DaemonSettings(line, Environment([:]))
        let options = try DaemonOptions(role: .primary, settings: settings, environment: Environment([:])).options()
        return options.advertise.map { "\($0)" }
    }

    @Test func `CTL-62: the other side's socket comes from each source, and is no second one at the first one's path`()
        throws
    {
        func options(_ words: [String], _ variables: [String: String] = [:]) throws -> NodeOptions {
            let line = try OptionParser(subcommand: .secondary).parse(["--state", "/s", "--local", "/k.sock"] + words)
            let settings = try DaemonSettings(line, Environment(variables))
            return try DaemonOptions(role: .secondary, settings: settings, environment: Environment([:])).options()
        }
        #expect(try options([]).localOther == nil)
        let own = try options(["--local-other", "/o.sock"])
        #expect(own.sockets.primary == "/o.sock" && own.sockets.secondary == "/k.sock")
        #expect(try options([], ["TANDEM_LOCAL_OTHER": "/v.sock"]).localOther == "/v.sock")
        let config = ["--config", try file(["localOther": "/f.sock"])]
        #expect(try options(config).localOther == "/f.sock")
        #expect(throws: NodeError.self) { try options(["--local-other", "/k.sock"]) }
    }

    @Test func `CTL-50: a switch of the file is taken back, and an empty variable is none`() throws {
        let path = try file(["allowInvalidSignatures": true, "name": "file"])
        func settings(_ words: String...) throws -> DaemonSettings {
            let line = try OptionParser(subcommand: .secondary).parse(["--config", path] + words)
            return try DaemonSettings(line, Environment(["TANDEM_NAME": ""]))
        }
        #expect(try settings().isOn(.allowInvalidSignatures))
        #expect(try settings().text(.name) == "file")
        #expect(try !settings("--no-allow-invalid-signatures").isOn(.allowInvalidSignatures))
        #expect(throws: CommandFailure.usage("--no-allow-invalid-signatures is given twice")) {
            try settings("--allow-invalid-signatures", "--no-allow-invalid-signatures")
        }
        let environment = Environment(["TANDEM_ALLOW_INVALID_SIGNATURES": "yes", "TANDEM_LISTEN": "a:1,b:2"])
        let variables = try DaemonSettings(Arguments(), environment)
        #expect(variables.isOn(.allowInvalidSignatures))
        #expect(variables.texts(.listen) == ["a:1", "b:2"])
    }

    @Test func `CTL-50: the table in the protocol is that of the declarations, and help has each option`() {
        let text = Checkout.text(of: "Protocol/Control.md")
        #expect(text.contains("\n\n\(DaemonOption.table.joined(separator: "\n"))\n\n"), "\(DaemonOption.table)")
        for daemon in [Subcommand.primary, .secondary] {
            for option in DaemonOption.all { #expect(Help.page(of: daemon).contains(option.option.usage)) }
        }
    }

    @Test func `CTL-51: the file is XML or binary, in either spelling, and belongs to nobody else`() throws {
        for isBinary in [false, true] {
            let path = try file(["local_group": "staff"], isBinary: isBinary)
            let line = try arguments("--config", path)
            #expect(try DaemonSettings(line, Environment([:])).text(.localGroup) == "staff")
        }
        let loose = DaemonSettings.mistakes(inFile: try file(Array("<plist><dict/></plist>".utf8), mode: 0o666))
        #expect(loose.map(\.name) == ["unreadable"])
        #expect(loose.first?.text.contains("may be written by others") == true)
        let broken = DaemonSettings.mistakes(inFile: try file(Array("<plist><dict>".utf8)))
        #expect(broken.first?.text.contains("line 1") == true, "\(broken)")
        #expect(
            DaemonSettings.mistakes(inFile: directory.path + "/none").map(\.line) == [
                "\(directory.path)/none does not exist"
            ])
    }

    @Test func `CTL-52: each mistake of a file names the key, what is wrong and what to do`() throws {
        #expect(
            try mistakes(["local-group": "staff", "colour": 1]) == [
                "no-such-key: colour: no option has this name; remove it ('tandem config keys' lists the options)",
                "no-such-key: local-group: no option has this name; did you mean 'localGroup'?",
            ])
        #expect(
            try mistakes(["listen": "127.0.0.1:1", "allowInvalidSignatures": 1, "state": true]) == [
                "wrong-type: allowInvalidSignatures: an integer is not read as boolean; write <true/> or <false/>",
                "wrong-type: listen: a string is not read as strings; write an array of strings",
                "wrong-type: state: a boolean is not read as string; write a string",
            ])
        #expect(
            try mistakes(["log": "loud"]) == [
                "out-of-bounds: log: 'loud' is none of error, warning, info, debug; "
                    + "write one of error, warning, info, debug"
            ])
        #expect(
            try mistakes(["local_group": "a", "localGroup": "b"])
                == ["given-twice: local_group: 'localGroup' is the same option; remove one of them"])
    }

    @Test func `CTL-52: a file that a person has to mend ends with 2, and one that may be there later with 1`() throws {
        func code(_ path: String) throws -> Int32? {
            let line = try arguments("--config", path)
            let error = #expect(throws: OptionMistakes.self) { try DaemonSettings(line, Environment([:])) }
            return error?.failure.exitCode
        }
        #expect(try code(try file(["log": "loud"])) == 2)
        #expect(try code(directory.path + "/none") == 1)
        #expect(try code(directory.path + "/none/none") == 1)
        #expect(try code(directory.path) == 2, "no regular file")
        #expect(try code(try file(Array("<plist><dict>".utf8))) == 2, "no property list")
        #expect(try code(try file([UInt8]())) == 2)
        #expect(try code(try file(Array("<plist><dict/></plist>".utf8), mode: 0o666)) == 2)
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: try file(["log": "info"]))
        #expect(try code(link) == 2)
    }

    @Test func `CTL-52 LIM-106: bounds are judged in every source`() throws {
        let long = String(repeating: "x", count: 65)
        #expect(
            try mistakes(["name": .string(long)]).first?.hasPrefix("out-of-bounds: name: it must have 1 to 64") == true)
        #expect(try mistakes(["local": .string("/" + long + long)]).first?.contains("107") == true)
        #expect(try mistakes(["listen": ["127.0.0.1:99999"]]).first?.contains("is no port") == true)
        let addresses = (1...17).map { PropertyListValue.string("127.0.0.1:\($0)") }
        #expect(try mistakes(["listen": .array(addresses)]).first?.contains("over the maximum 16") == true)
        #expect(try mistakes(["listen": .array(Array(addresses.dropLast()))]).isEmpty)
        let line = try arguments("--name", long)
        let option = #expect(throws: OptionMistakes.self) { try DaemonSettings(line, Environment([:])) }
        #expect(option?.failure == .usage("--name: it must have 1 to 64 bytes and no NUL"))
        let environment = Environment(["TANDEM_LOG": "loud"])
        let variable = #expect(throws: OptionMistakes.self) { try DaemonSettings(Arguments(), environment) }
        #expect(variable?.failure.exitCode == 2)
        #expect(variable?.failure.text.hasPrefix("TANDEM_LOG: 'loud' is none of") == true)
    }

    @Test func `CTL-54 CTL-55: a file that is read again changes what it says, and nothing that is hidden`() throws {
        let path = try file(["log": "info", "name": "one", "state": "/s"])
        let line = try arguments("--config", path, "--state", "/line")
        var settings = try DaemonSettings(line, Environment([:]))
        let started = settings
        let next = try PropertyListXMLWriter.write(["log": "debug", "name": "two", "state": "/t"])
        try Data(next).write(to: URL(fileURLWithPath: path))
        let changes = try settings.reread()
        #expect(changes.map(\.name) == ["name", "log"])
        #expect(changes.map(\.needsRestart) == [true, false])
        #expect(settings.log == .debug)
        #expect(settings.restartKeys(since: started) == ["name"])
        try Data(try PropertyListXMLWriter.write(["name": "one"])).write(to: URL(fileURLWithPath: path))
        #expect(try settings.reread().count == 2)
        #expect(settings.restartKeys(since: started).isEmpty)
        #expect(settings.origin(of: "log") == "default")
    }

    @Test func `CTL-56: a broken file changes nothing`() throws {
        let path = try file(["log": "debug"])
        var settings = try DaemonSettings(try arguments("--config", path), Environment([:]))
        try Data("<plist><dict><key>log</key></dict></plist>".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: OptionMistakes.self) { try settings.reread() }
        #expect(settings.log == .debug)
    }
}
