// Records of the host apps that ever registered here: the owner, the side, and the app's name for this device. One row
// each.

import TandemBase
import TandemOperations
import TandemPropertyList
import TandemStore
import TandemWire

/// One installed app.
struct ApplicationRecord: Equatable {
    let app: ApplicationIdentifier
    /// The user that it belongs to.
    fileprivate(set) var user: UInt32
    /// The side that it is on (SES-83); nil only for one that was assigned, and whose first registration decides.
    fileprivate(set) var role: DeviceRole?
    /// The custom identifier that it declared last.
    fileprivate(set) var identifier: CustomIdentifier?
    /// The operator has taken the identifier back, and the app has declared none since (PAR-21).
    fileprivate(set) var isIdentifierCleared = false
    /// The operator has assigned it, and it was never registered (SES-74).
    fileprivate(set) var isReserved = false
    /// Of the schema in the app's directory; nil if the daemon lacks one.
    fileprivate(set) var schema: SchemaDigests?

    var ownership: ApplicationOwnership { ApplicationOwnership(user: user, role: role) }

    var row: RowChange {
        let value = PropertyListDictionary(present: [
            "app": .string(app.description), "user": .integer(Int64(user)), "role": role.map { .string($0.rawValue) },
            "identifier": identifier.map { .string($0.description) }, "cleared": isIdentifierCleared ? true : nil,
            "reserved": isReserved ? true : nil, "schema": schema.map { .data($0.exact) },
            "openSchema": schema?.open.map { .data($0) },
        ])
        return .set(.application, key: Array(app.description.utf8), to: value)
    }
}

extension ApplicationRecord {
    /// Reads a row; nil for one that no version wrote.
    init?(row: Row) {
        guard let value = try? PropertyListReader.readDictionary(row.value),
            let app = value["app"]?.applicationValue,
            let user = value["user"]?.integerValue.flatMap({ UInt32(exactly: $0) })
        else { return nil }
        let role = value["role"]?.stringValue.map { DeviceRole(word: $0) }
        if case .some(nil) = role { return nil }
        self.init(app: app, user: user, role: role ?? nil)
        isIdentifierCleared = value["cleared"]?.booleanValue ?? false
        isReserved = value["reserved"]?.booleanValue ?? false
        schema = value["schema"]?.dataValue.map { SchemaDigests(exact: $0, open: value["openSchema"]?.dataValue) }
        if let text = value["identifier"]?.stringValue {
            guard let identifier = try? CustomIdentifier(text) else { return nil }
            self.identifier = identifier
        }
    }
}

/// The installed apps of a device.
struct InstalledApplications {
    /// The remainder of an app that was removed or assigned; it goes after that commit, if need be at the next start.
    enum Remainder: UInt8 {
        /// Its queues and its directory.
        case all = 1
        /// Its directory, which belongs to the former user.
        case directory
    }

    private(set) var records: [ApplicationIdentifier: ApplicationRecord] = [:]
    private(set) var leaving: [ApplicationIdentifier: Remainder] = [:]
    /// Installed apps whose rows have no side yet.
    private var unwritten: Set<ApplicationIdentifier> = []

    /// - Parameter role: the side of installed apps whose rows have none: releases before had one socket, of the side
    ///   that the daemon was started for.
    init(rows: [Row], leaving: [Row], path: String, role: DeviceRole) throws(NodeError) {
        for row in leaving {
            guard let name = String(validating: row.key, as: UTF8.self), let app = try? ApplicationIdentifier(name),
                let remainder = row.value.first.flatMap({ Remainder(rawValue: $0) })
            else { throw .row(path: path, reason: "a removed application's row") }
            self.leaving[app] = remainder
        }
        for row in rows {
            guard var record = ApplicationRecord(row: row) else {
                throw .row(path: path, reason: "an application's row")
            }
            if record.role == nil, !record.isReserved {
                record.role = role
                unwritten.insert(record.app)
            }
            records[record.app] = record
        }
    }

    subscript(app: ApplicationIdentifier) -> ApplicationRecord? { records[app] }

    /// The apps whose directories are theirs. One that a former owner has left is removed with all that is in it, and
    /// the daemon looks for nothing there before (SES-74).
    var withOwnDirectories: Set<ApplicationIdentifier> { Set(records.keys.filter { leaving[$0] == nil }) }

    /// Writes down the sides that the rows lacked, so that a daemon that is started for the other side reads them.
    mutating func writeSides() -> [RowChange] {
        defer { unwritten = [] }
        return unwritten.compactMap { records[$0]?.row }
    }

    /// Writes the app down with its owner and side; what it declared before stays.
    mutating func install(_ app: ApplicationIdentifier, as ownership: ApplicationOwnership) -> [RowChange] {
        var record = records[app] ?? ApplicationRecord(app: app, user: ownership.user, role: ownership.role)
        // The schema is in the directory, which goes with the former user.
        if record.user != ownership.user { record.schema = nil }
        (record.user, record.role) = (ownership.user, ownership.role)
        return put(record)
    }

    /// Writes down that an app that was only assigned is installed.
    mutating func registered(_ app: ApplicationIdentifier) -> [RowChange] {
        guard var record = records[app], record.isReserved else { return [] }
        record.isReserved = false
        return put(record)
    }

    // MARK: the operator's changes

    /// Removes the app; what is left of it follows, until ``left(_:)``.
    mutating func remove(_ app: ApplicationIdentifier) -> [RowChange] {
        records[app] = nil
        return [.delete(.application, key: Self.key(app)), leave(app, .all)]
    }

    /// Assigns the app to a user, and one that was never registered to a side; that one is only reserved. A directory
    /// of the former user follows, until ``left(_:)``.
    mutating func assign(_ app: ApplicationIdentifier, to user: UInt32, on role: DeviceRole?) -> [RowChange] {
        guard var record = records[app] else {
            var reserved = ApplicationRecord(app: app, user: user, role: role)
            reserved.isReserved = true
            return put(reserved)
        }
        let former = record.user
        // The schema is in the directory.
        if former != user { record.schema = nil }
        (record.user, record.role) = (user, role ?? record.role)
        return put(record) + (former == user ? [] : [leave(app, .directory)])
    }

    /// Nothing is left of the app.
    mutating func left(_ app: ApplicationIdentifier) -> [RowChange] {
        leaving[app] = nil
        return [.delete(.leaving, key: Self.key(app))]
    }

    private mutating func leave(_ app: ApplicationIdentifier, _ remainder: Remainder) -> RowChange {
        leaving[app] = remainder
        return .put(.leaving, key: Self.key(app), value: [remainder.rawValue])
    }

    private static func key(_ app: ApplicationIdentifier) -> [UInt8] { Array(app.description.utf8) }

    /// Takes the app's name for this device back (PAR-21).
    mutating func clearIdentifier(of app: ApplicationIdentifier) -> [RowChange] {
        guard var record = records[app], record.identifier != nil else { return [] }
        (record.identifier, record.isIdentifierCleared) = (nil, true)
        return put(record)
    }

    // MARK: declarations

    /// Writes down what the app calls this device.
    mutating func declare(_ identifier: CustomIdentifier, for app: ApplicationIdentifier) -> [RowChange] {
        guard var record = records[app], record.identifier != identifier else { return [] }
        (record.identifier, record.isIdentifierCleared) = (identifier, false)
        return put(record)
    }

    /// Writes down the schema that the app has sent; nil if the daemon lacks it from now on.
    mutating func describe(_ app: ApplicationIdentifier, _ schema: SchemaDigests?) -> [RowChange] {
        guard var record = records[app] else { return [] }
        record.schema = schema
        return put(record)
    }

    private mutating func put(_ record: ApplicationRecord) -> [RowChange] {
        guard records[record.app] != record else { return [] }
        records[record.app] = record
        return [record.row]
    }
}
