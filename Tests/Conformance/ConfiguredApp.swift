// A host app that takes signed configuration, on a connection without the public library: the case gives its verdicts.
// The library's own checks would hide a daemon that hands over what it should have refused.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import TandemWire

/// An offer of a configuration to an app (CFG-40).
struct ConfigurationOffer {
    let frame: Envelope
    /// The exact bytes.
    let envelope: [UInt8]
    let version: Int64
    let body: PropertyListDictionary
}

/// One registered connection. It answers each offer by its rule, and each reload as an app that has read its files.
final class ConfiguredApp {
    let connection: RawApp
    let name: String
    private let rule: (ConfigurationOffer) -> String?
    private(set) var offers: [ConfigurationOffer] = []
    /// How often it was told to read its files again (CFG-42).
    private(set) var reloads = 0

    /// The text beside each verdict that is not `applied`.
    static let text = "the lamp has no such colour"

    /// - Parameter rule: gives the name of its verdict on an offer; nil: none yet.
    init(_ connection: RawApp, named name: String, answering rule: @escaping (ConfigurationOffer) -> String?) {
        (self.connection, self.name, self.rule) = (connection, name, rule)
        connection.configurationRule = { [weak self] in try self?.answer($0) }
    }

    /// The versions that were offered, in order.
    var versions: [Int64] { offers.map(\.version) }

    /// Applies an offer that its rule has left open.
    func apply(_ offer: ConfigurationOffer) throws { try connection.send(reply(to: offer, "applied")) }

    private func answer(_ frame: Envelope) throws -> Envelope? {
        let body = try frame.dictionaryBody()
        guard let envelope = body["tandem.configuration"]?.dataValue else {
            let reload: PropertyListDictionary = ["tandem.reload": true]
            try demand(body == reload, "CFG-42: a reload and nothing else: \(body)")
            try demand(frame.pairing == .zero && frame.wantsReply, "CFG-42: a reload asks, through no pairing")
            reloads += 1
            return try Self.reply(to: frame, ["tandem.verdict": "applied"])
        }
        let version = try Self.fields(of: envelope)["ver"]?.integerValue ?? 0
        let offer = ConfigurationOffer(frame: frame, envelope: envelope, version: version, body: body)
        offers.append(offer)
        return try rule(offer).map { try reply(to: offer, $0) }
    }

    private func reply(to offer: ConfigurationOffer, _ verdict: String) throws -> Envelope {
        let fields = try Self.fields(of: offer.envelope)
        var body: PropertyListDictionary = [
            "tandem.verdict": .string(verdict), "tandem.digest": .data(SHA256.digest(offer.envelope)),
        ]
        body["tandem.txid"] = fields["txid"]
        body["tandem.version"] = fields["ver"]
        if verdict != "applied" { body["tandem.text"] = .string(Self.text) }
        return try Self.reply(to: offer.frame, body)
    }

    private static func reply(to frame: Envelope, _ body: PropertyListDictionary) throws -> Envelope {
        try Envelope(.reply, app: frame.app, pairing: frame.pairing, id: frame.id).with(body: body)
    }

    private static func fields(of envelope: [UInt8]) throws -> PropertyListDictionary {
        let payload = try PropertyListReader.readDictionary(envelope)["payload"]?.dataValue ?? []
        return try PropertyListReader.readDictionary(payload)
    }
}
