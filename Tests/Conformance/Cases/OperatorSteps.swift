// Steps of cases in which an operator acts: control requests to daemons, and state directories that are copied, put
// back or spoiled while their daemon is away.

import Glibc
import TandemBase
import TandemPropertyList
import TandemTestSupport
import TandemWire

extension Stage {
    /// The result of a control request, made on a connection of its own (CTL-1).
    func result(of command: ControlName, _ body: PropertyListDictionary = [:], at place: Place) throws -> Envelope {
        let console = try greeted(at: place)
        // A case may ask often, and a daemon has a bound on connections (LIM-5).
        defer { console.close() }
        try console.send(Envelope(.control, id: .random(), command: command.rawValue).with(body: body))
        try wait("\(place)'s daemon answers '\(command.rawValue)'") { try !console.received(.result).isEmpty }
        return try console.only(.result)
    }

    /// The body of the result of a control request that must succeed.
    @discardableResult
    func answer(to command: ControlName, _ body: PropertyListDictionary = [:], at place: Place) throws
        -> PropertyListDictionary
    {
        let result = try self.result(of: command, body, at: place)
        try demand(result.code == 0, "'\(command.rawValue)' succeeds: \(result.fault)")
        return try result.dictionaryBody()
    }

    /// A fresh join link of the primary.
    /// - Parameter seconds: its life; nil: the usual one.
    func joinLink(seconds: Int64? = nil) throws -> String {
        var body: PropertyListDictionary = [:]
        body["seconds"] = seconds.map { .integer($0) }
        let made = try answer(to: .pair, body, at: .primary)
        guard let link = made["link"]?.stringValue else { throw Violation("a join link") }
        return link
    }
}

/// The state directory of a daemon that is away.
enum StateDirectory {
    /// Copies it to a place where nothing is, or back over what has become of it.
    static func copy(_ source: String, to target: String) throws {
        let (from, to) = (ShellWord.quoted(source), ShellWord.quoted(target))
        let (status, output) = ForeignCommand.shell("rm -rf \(to) && cp -a \(from) \(to)")
        try demand(status == 0, "\(source) is copied: \(output)")
    }

    /// Changes the first byte of a file below the directory that has exactly this content.
    /// - Returns: whether there is one. A daemon may keep a file in another form.
    static func spoil(_ content: [UInt8], in directory: String) -> Bool {
        TemporaryDirectory.names(in: directory).contains { name in
            let path = "\(directory)/\(name)"
            guard TemporaryDirectory.read(path) == content else { return spoil(content, in: path) }
            guard let file = fopen(path, "r+") else { return false }
            defer { fclose(file) }
            return fputc(Int32(content[0] ^ 1), file) >= 0
        }
    }
}
