// Rows of chains of devices in the store: what carriers state, the keys that they certified, the ways of what this
// device carried, its own statements, and the keys that its secondaries trust.

import TandemBase
import TandemPropertyList
import TandemSignedConfiguration
import TandemStore
import TandemWire

extension ConfigurationCarrier.State {
    /// - Parameter rows: the rows of a key space.
    init(rows: (RowSpace) throws -> [Row]) throws {
        for row in try rows(.carrierStatement) {
            let (carrier, app) = try Self.key(of: row)
            far.restore(try AcceptedStatement(try row.fields()), about: app, of: carrier)
        }
        for row in try rows(.certifiedDevice) {
            let pairings = stride(from: 0, to: row.key.count, by: 16).compactMap {
                UniqueIdentifier(bytes: row.key.dropFirst($0).prefix(16))
            }
            guard !pairings.isEmpty, pairings.count * 16 == row.key.count, let pairing = pairings.last else {
                throw ConfigurationRowError(.certifiedDevice, "its key names no pairings")
            }
            far.restore(try FarSecondaries.Certified(try row.fields()), of: pairing, through: pairings.dropLast())
        }
        for row in try rows(.carriedWay) { carried.restore(try CarriedDeliveries.Way(try row.fields())) }
        for row in try rows(.statedTrust) {
            guard let pairing = UniqueIdentifier(bytes: Array(row.key)) else {
                throw ConfigurationRowError(.statedTrust, "its key names no pairing")
            }
            carried.restore(try CarriedDeliveries.StatedTrust(try row.fields()), of: pairing)
        }
        for row in try rows(.carrierAnnouncement) {
            if row.key == Self.counterKey {
                guard let counter = try row.fields()["value"]?.counterValue else {
                    throw ConfigurationRowError(.carrierAnnouncement, "its counter is unreadable")
                }
                carried.restore(counter: counter)
                continue
            }
            let (upstream, app) = try Self.key(of: row)
            carried.restore(try CarriedDeliveries.Announcement(try row.fields()), about: app, to: upstream)
        }
    }

    private static func key(of row: Row) throws(ConfigurationRowError) -> (UniqueIdentifier, ApplicationIdentifier) {
        guard let pairing = UniqueIdentifier(bytes: row.key.prefix(16)),
            let app = try? ApplicationIdentifier(String(decoding: row.key.dropFirst(16), as: UTF8.self))
        else { throw ConfigurationRowError(row.space, "its key names no pairing and application") }
        return (pairing, app)
    }

    fileprivate static let counterKey = Array("counter".utf8)
}

extension FarChange {
    var rows: [RowChange] {
        switch self {
        case .statement(let carrier, let app, let accepted):
            [.set(.carrierStatement, key: carrier.bytes + Array(app.description.utf8), to: accepted.dictionary)]
        case .certified(let path, let pairing, let certified):
            [.set(.certifiedDevice, key: (path + [pairing]).flatMap(\.bytes), to: certified.dictionary)]
        case .unpaired(let carrier):
            [
                .deleteAll(.prefix(carrier.bytes, in: .carrierStatement)),
                .deleteAll(.prefix(carrier.bytes, in: .certifiedDevice)),
            ]
        case .forgotten(let pairing): [.delete(.certifiedDevice, key: pairing.bytes)]
        }
    }
}

extension CarriedChange {
    var rows: [RowChange] {
        switch self {
        case .way(let way): [.set(.carriedWay, key: way.nonce.bytes, to: way.dictionary)]
        case .forgotten(let nonce): [.delete(.carriedWay, key: nonce.bytes)]
        case .counter(let counter):
            [
                .set(
                    .carrierAnnouncement, key: ConfigurationCarrier.State.counterKey,
                    to: ["value": PropertyListValue(counter)])
            ]
        case .announced(let upstream, let app, let announcement):
            [
                .set(
                    .carrierAnnouncement, key: upstream.bytes + Array(app.description.utf8),
                    to: announcement.dictionary)
            ]
        case .trusted(let downstream, let trust):
            [.set(.statedTrust, key: downstream.bytes, to: trust.dictionary)]
        case .unpaired(let pairing):
            [
                .deleteAll(.prefix(pairing.bytes, in: .carrierAnnouncement)),
                .delete(.statedTrust, key: pairing.bytes),
            ]
        }
    }
}

extension RowSpace {
    /// The last statement of each carrier and app.
    static let carrierStatement = RowSpace(rawValue: 56)
    /// The devices and report keys that carriers have named, by the pairings that lead to them; those whose carrier is
    /// unpaired by their own alone.
    static let certifiedDevice = RowSpace(rawValue: 57)
    /// The ways of the deliveries that this device carried.
    static let carriedWay = RowSpace(rawValue: 58)
    /// The last statement to each primary and app.
    static let carrierAnnouncement = RowSpace(rawValue: 59)
    /// The keys that each secondary trusts, as this device has stated it.
    static let statedTrust = RowSpace(rawValue: 60)
}
