// Records of the host apps that ever registered here: the owner, and the app's name for this device. One row each.

import TandemBase
import TandemPropertyList
import TandemStore
import TandemWire

/// One installed app.
struct ApplicationRecord: Equatable {
    let app: ApplicationIdentifier
    /// The user that it belongs to.
    var user: UInt32
    /// The custom identifier that it declared last.
    var identifier: CustomIdentifier?
    /// The operator has taken the identifier back, and the app has declared none since (PAR-21).
    var isIdentifierCleared = false
    /// The operator has assigned it, and it was never registered (SES-74).
    var isReserved = false
    /// Of the schema in the app's directory; nil if the daemon lacks one.
    var schema: SchemaDigests?

    init(app: ApplicationIdentifier, user: UInt32) {
        self.app = app
        self.user = user
    }

    var row: RowChange {
        var value: PropertyListDictionary = ["app": .string(app.description), "user": .integer(Int64(user))]
        value["identifier"] = identifier.map { .string($0.description) }
        if isIdentifierCleared { value["cleared"] = true }
        if isReserved { value["reserved"] = true }
        value["schema"] = schema.map { .data($0.exact) }
        value["openSchema"] = schema?.open.map { .data($0) }
        do {
            return .put(.application, key: Array(app.description.utf8), value: try PropertyListWriter.write(value))
        } catch {
            preconditionFailure("an application's row can always be written: \(error)")
        }
    }

    /// Reads a row; nil for one that no version wrote.
    init?(row: Row) {
        guard let value = try? PropertyListReader.readDictionary(row.value),
            let app = value["app"]?.stringValue.flatMap({ try? ApplicationIdentifier($0) }),
            let user = value["user"]?.integerValue.flatMap({ UInt32(exactly: $0) })
        else { return nil }
        self.init(app: app, user: user)
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

    init(rows: [Row], leaving: [Row], path: String) throws(NodeError) {
        for row in leaving {
            guard let name = String(validating: row.key, as: UTF8.self), let app = try? ApplicationIdentifier(name),
                let remainder = row.value.first.flatMap({ Remainder(rawValue: $0) })
            else { throw .row(path: path, reason: "a removed application's row") }
            self.leaving[app] = remainder
        }
        for row in rows {
            guard let record = ApplicationRecord(row: row) else {
                throw .row(path: path, reason: "an application's row")
            }
            records[record.app] = record
        }
    }

    subscript(app: ApplicationIdentifier) -> ApplicationRecord? { records[app] }

    /// Writes the app down with its owner; what it declared before stays.
    mutating func install(_ app: ApplicationIdentifier, user: UInt32) -> [RowChange] {
        var record = records[app] ?? ApplicationRecord(app: app, user: user)
        // The schema is in the directory, which goes with the former user.
        if record.user != user { record.schema = nil }
        record.user = user
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

    /// Assigns the app to a user; one that was never registered is only reserved. A directory of the former user
    /// follows, until ``left(_:)``.
    mutating func assign(_ app: ApplicationIdentifier, to user: UInt32) -> [RowChange] {
        guard let record = records[app] else {
            var reserved = ApplicationRecord(app: app, user: user)
            reserved.isReserved = true
            return put(reserved)
        }
        return record.user == user ? [] : install(app, user: user) + [leave(app, .directory)]
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
