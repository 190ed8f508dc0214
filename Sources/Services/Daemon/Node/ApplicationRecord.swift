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

    init(app: ApplicationIdentifier, user: UInt32) {
        self.app = app
        self.user = user
    }

    var row: RowChange {
        var value: PropertyListDictionary = ["app": .string(app.description), "user": .integer(Int64(user))]
        value["identifier"] = identifier.map { .string($0.description) }
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
        if let text = value["identifier"]?.stringValue {
            guard let identifier = try? CustomIdentifier(text) else { return nil }
            self.identifier = identifier
        }
    }
}

/// The installed apps of a device.
struct InstalledApplications {
    private(set) var records: [ApplicationIdentifier: ApplicationRecord] = [:]

    init(rows: [Row], path: String) throws(NodeError) {
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
        record.user = user
        return put(record)
    }

    /// Writes down what the app calls this device.
    mutating func declare(_ identifier: CustomIdentifier, for app: ApplicationIdentifier) -> [RowChange] {
        guard var record = records[app], record.identifier != identifier else { return [] }
        record.identifier = identifier
        return put(record)
    }

    private mutating func put(_ record: ApplicationRecord) -> [RowChange] {
        guard records[record.app] != record else { return [] }
        records[record.app] = record
        return [record.row]
    }
}
