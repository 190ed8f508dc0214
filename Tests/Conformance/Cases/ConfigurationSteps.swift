// Steps of cases about signed configuration: what operators sign and apply, apps that take it, and what the daemons say
// of it afterwards.

import Glibc
import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import TandemWire

extension Stage {
    // MARK: apps

    /// A registered app with an anchor.
    /// - Parameter rule: gives its verdict on each offer; nil: none yet.
    func configuredApp(
        at place: Place = .secondary(0), named name: String = Stage.appName, anchor: String = Signer.trusted.anchor,
        answering rule: @escaping (ConfigurationOffer) -> String? = { _ in "applied" }
    ) throws -> ConfiguredApp {
        let facts: PropertyListDictionary = ["anchor": .data(Array(anchor.utf8))]
        var found: ConfiguredApp?
        try poll("\(place)'s app is registered once the connection before has ended") {
            let connection = try rawApp(at: place)
            let app = ConfiguredApp(connection, named: name, answering: rule)
            try connection.hello()
            try connection.register(name, declaring: facts)
            try wait("\(place)'s app is registered") {
                try connection.isClosed || !connection.received(.registered).isEmpty
            }
            // The daemon may not know yet of the end of the connection before (SES-6).
            if connection.isClosed { try expectRefusal("already-receiving", of: connection) } else { found = app }
            return found != nil
        }
        guard let registered = found else { throw Violation("\(place)'s app is registered") }
        return registered
    }

    /// The app ends in order, and with that the trial of what it has applied (CFG-61).
    func end(_ app: ConfiguredApp) throws { try app.connection.leave() }

    /// The secondary's daemon notices that its app has ended: from then on a configuration waits for the next one.
    func expectDeparture() throws {
        try poll("the secondary's daemon notices the end of its app") {
            try rows("applications", at: .secondary(0)) { $0["connected"] == true }.isEmpty
        }
    }

    /// A pairing takes no configuration before its first link (PAR-10).
    func expectLinks() throws {
        try poll("all pairings are linked") {
            let rows = (try answer(to: .status, at: .primary)["pairings"]?.arrayValue ?? []).compactMap(
                \.dictionaryValue)
            return world.pairings.allSatisfy { pairing in
                rows.contains { $0["pairing"] == .data(pairing.bytes) && $0["level"] == "linked" }
            }
        }
    }

    // MARK: the signer

    /// A configuration for the secondary's app, whose target is the paired identifier of the primary (SES-7).
    /// - Parameter changes: other values of fields; nil: without the field.
    func statement(_ version: Int64, _ changes: [String: PropertyListValue?] = [:]) throws -> SignedStatement {
        var fields: PropertyListDictionary = [
            "typ": "config", "spec": "1.0", "app": .string(Self.appName), "role": "secondary",
            "target": .string(try target()), "ver": .integer(version), "keyset": 1,
            "txid": .data(UniqueIdentifier.random().bytes), "iat": .integer(SigningDates.issued),
            "values": ["colour": .string("colour \(version)"), "level": .integer(version)],
        ]
        for (name, value) in changes { fields[name] = value }
        return SignedStatement(kind: .configuration, fields: fields)
    }

    /// Its envelope; no two have the same bytes.
    func signed(
        _ version: Int64, by signers: [Signer] = [.trusted], _ changes: [String: PropertyListValue?] = [:]
    ) throws -> [UInt8] {
        try statement(version, changes).envelope(by: signers)
    }

    /// The paired identifier of the primary for an app of the secondary that declares none.
    func target() throws -> String { "vendor:\(try device(at: .primary))" }

    func device(at place: Place) throws -> UniqueIdentifier {
        let told = try answer(to: .status, at: place)["device"]?.dataValue ?? []
        guard let device = UniqueIdentifier(bytes: told) else { throw Violation("\(place)'s device: \(told)") }
        return device
    }

    // MARK: the operator

    /// The result of `apply`, which waits for no secondary.
    func result(
        ofApplying envelope: [UInt8], at place: Place, _ more: PropertyListDictionary = [:]
    ) throws -> Envelope {
        var body: PropertyListDictionary = ["envelope": .data(envelope), "app": .string(Self.appName), "wait": 0]
        for (key, value) in more { body[key] = value }
        return try result(of: .apply, body, at: place)
    }

    /// The verdict on a configuration that is given to the secondary's own daemon (CTL-5), the app's included.
    private func verdict(on envelope: [UInt8], _ more: PropertyListDictionary) throws -> String {
        // Less than the wait for the answer itself, so that one without a verdict is seen.
        let time = PropertyListValue.integer(min(patience / 2, Limits.controlWait).components.seconds * 1000)
        let result = try self.result(ofApplying: envelope, at: .secondary(0), more.with("wait", time))
        guard result.code == 0 else { return result.name ?? "" }
        let body = try result.dictionaryBody()
        let row = body["results"]?.arrayValue?.first?.dictionaryValue ?? [:]
        guard let verdict = row["verdict"]?.stringValue else { throw Violation("a verdict: \(body)") }
        return verdict
    }

    /// The body of the answer to an app that hands a configuration to its daemon (SES-54).
    func handOver(_ envelope: [UInt8], by app: ConfiguredApp) throws -> PropertyListDictionary {
        let before = try app.connection.received(.answer).count
        let name = try ApplicationIdentifier(app.name)
        let query = Envelope(.query, app: name, id: .random(), channel: .configuration, command: "apply")
        try app.connection.send(query.with(body: ["envelope": .data(envelope)]))
        try wait("an answer") { try app.connection.received(.answer).count > before }
        let answer = try app.connection.received(.answer)[before]
        try demand(answer.id == query.id && answer.code == 0, "the answer: \(answer.fault)")
        return try answer.dictionaryBody()
    }

    /// The secondary's own daemon is given a configuration, and this is its verdict.
    func expectVerdict(
        _ verdict: String, on envelope: [UInt8], _ text: String, _ more: PropertyListDictionary = [:]
    ) throws {
        let given = try self.verdict(on: envelope, more)
        try demand(given == verdict, "\(text): '\(verdict)', not '\(given)'")
    }

    /// The primary's operator applies it, and the daemon refuses it by this name.
    func expectRefused(
        _ name: String, _ envelope: [UInt8], _ text: String, _ more: PropertyListDictionary = [:]
    ) throws {
        let result = try self.result(ofApplying: envelope, at: .primary, more)
        try demand(result.code != 0 && result.name == name, "\(text): '\(name)', not \(result.fault)")
    }

    /// The results of a configuration at all secondaries, by their pairings (CTL-25).
    func results(of envelope: [UInt8]) throws -> [UniqueIdentifier: PropertyListDictionary] {
        let rows = try apply(envelope, ["follow": true])["results"]?.arrayValue ?? []
        var results: [UniqueIdentifier: PropertyListDictionary] = [:]
        for row in rows.compactMap(\.dictionaryValue) {
            guard let pairing = row["pairing"]?.dataValue.flatMap({ UniqueIdentifier(bytes: $0) }) else { continue }
            results[pairing] = row
        }
        return results
    }

    /// The primary's operator applies it, and the primary takes it.
    @discardableResult
    func apply(_ envelope: [UInt8], _ more: PropertyListDictionary = [:]) throws -> PropertyListDictionary {
        let result = try self.result(ofApplying: envelope, at: .primary, more)
        try demand(result.code == 0, "the primary takes it: \(result.fault)")
        return try result.dictionaryBody()
    }

    // MARK: status

    /// The primary's row about the configuration desired of a secondary (CTL-23); empty if there is none.
    func desired(of number: Int = 0) throws -> PropertyListDictionary {
        let pairing = PropertyListValue.data(world.pairings[number].bytes)
        return try rows("desired", at: .primary) { $0["pairing"] == pairing }.first ?? [:]
    }

    /// A daemon need not tell the trial from what follows it (CFG-67).
    func readsTrials() throws -> Bool {
        try [Place.primary, .secondary(0)].allSatisfy { try greeted(at: $0).hasDaemon(with: .trial) }
    }

    /// The secondary's row about its own app's configuration (CTL-27); empty if there is none.
    func configuration() throws -> PropertyListDictionary {
        try rows("configurations", at: .secondary(0)) { $0["pairing"] == nil }.first ?? [:]
    }

    /// The rows of an array of `status` about the app.
    private func rows(
        _ key: String, at place: Place, where isMeant: (PropertyListDictionary) -> Bool
    ) throws -> [PropertyListDictionary] {
        let rows = try answer(to: .status, at: place)[key]?.arrayValue ?? []
        return rows.compactMap(\.dictionaryValue).filter { $0["app"] == .string(Self.appName) && isMeant($0) }
    }

    /// The primary's word about a secondary becomes as expected.
    func expectDesired(of number: Int = 0, _ expected: PropertyListDictionary) throws {
        var last: PropertyListDictionary = [:]
        try poll("\(expected) of secondary \(number), and it is \(last)") {
            last = try desired(of: number)
            return expected.allSatisfy { last[$0.key] == $0.value }
        }
    }

    /// The secondary's word about its app's configuration becomes as expected, with no trial.
    /// - Parameters:
    ///   - state: as in CTL-27; `none` also without a row.
    ///   - pauses: as in ``wait(_:within:pauses:until:)``.
    func expectConfiguration(_ state: String, version: Int64? = nil, pauses: Duration = .zero) throws {
        var last: PropertyListDictionary = [:]
        try poll("'\(state)', version \(version ?? 0), and no trial, not \(last)", pauses: pauses) {
            last = try configuration()
            let isMeant = version.map { last["version"] == .integer($0) } ?? true
            return (last["state"]?.stringValue ?? "none") == state && isMeant && last["trial"] != true
        }
    }

    /// The app is offered the configuration, applies it, and ends in order: its trial is over (CFG-61).
    func live(_ app: ConfiguredApp, with envelope: [UInt8], version: Int64) throws {
        try wait("version \(version) is offered") { app.offers.last?.envelope == envelope }
        // An offer that its daemon has repeated at once stands before this answer.
        try expectAnswer(to: app.connection)
        try end(app)
        try expectConfiguration("applied", version: version)
    }

    /// An app of the secondary that has applied a version, lived with it and ended, which its daemon has noticed.
    /// - Returns: the envelope.
    @discardableResult
    func applied(_ version: Int64, anchor: String = Signer.trusted.anchor) throws -> [UInt8] {
        let app = try configuredApp(anchor: anchor)
        let envelope = try signed(version)
        try apply(envelope)
        try live(app, with: envelope, version: version)
        try expectDeparture()
        try expectDesired(["version": .integer(version), "verdict": "applied", "reported": .integer(version)])
        return envelope
    }
}

/// The directory of an app, with the files of its configuration (CFG-36).
struct ApplicationDirectory {
    private let path: String

    /// - Returns: nil if the daemon has given the app none.
    init?(of app: ConfiguredApp) throws {
        let told = try app.connection.only(.registered).dictionaryBody()
        guard let path = told["directory"]?.stringValue else { return nil }
        self.path = path
    }

    func bytes(of name: String) -> [UInt8]? { TemporaryDirectory.read("\(path)/\(name)") }

    func fields(of name: String) throws -> PropertyListDictionary? {
        try bytes(of: name).map { try PropertyListReader.readDictionary($0) }
    }

    /// Replaces a file by one with another first byte. The app's user may do that in its own directory, and need not be
    /// allowed to write to the daemon's file.
    func spoil(_ name: String) throws {
        guard var changed = bytes(of: name), !changed.isEmpty else { throw Violation("CFG-36: no \(name)") }
        changed[0] ^= 1
        let copy = "\(path)/changed"
        guard let file = fopen(copy, "w") else { throw Violation("could not change \(path)/\(name)") }
        let isWritten = fwrite(changed, 1, changed.count, file) == changed.count
        let isClosed = fclose(file) == 0
        try demand(isWritten && isClosed && rename(copy, "\(path)/\(name)") == 0, "could not change \(path)/\(name)")
    }
}

/// Dates in seconds since 1970, each for as long as this suite is used.
enum SigningDates {
    /// Configurations are issued in 2023.
    static let issued: Int64 = 1_700_000_000
    /// An hour later.
    static let over: Int64 = issued + 3600
    /// In 2096.
    static let far: Int64 = 4_000_000_000
}
