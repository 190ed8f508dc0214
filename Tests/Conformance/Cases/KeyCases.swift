// The keys that configuration is verified with: which one a daemon trusts, and how key sets and revocations change that
// on both devices.

import TandemBase
import TandemCrypto
import TandemPropertyList
import TandemTestSupport
import TandemWire

enum KeyCases {
    static let all = [firstKey, rotation, revocation]

    private static let firstKey = Case(
        "CFG-17",
        "the first key of an app stays against another one, until the trust in it ends, with all it has signed"
    ) { stage in
        try stage.expectLinks()
        let first = try stage.applied(1)
        let other = try stage.configuredApp(anchor: Signer.successor.anchor)
        let anchor = try stage.anchor()
        try demand(anchor["keyid"] == .data(Signer.trusted.identifier), "the first key: \(anchor)")
        try demand(anchor["conflict"] == true, "the app has another one: \(anchor)")
        try stage.expectVerdict("threshold", on: stage.signed(2, by: [.successor]), "signed with the other key")
        try demand(other.offers.isEmpty, "nothing is offered: \(other.offers.count)")
        let (reloads, subject) = (other.reloads, stage.subject)
        let asked = try stage.answer(to: .trustRemove, subject, at: .secondary(0))
        try demand(asked["done"] == false && asked["configurations"] == 1, "CTL-29: asked only: \(asked)")
        try stage.expectConfiguration("applied", version: 1)
        try stage.answer(to: .trustRemove, subject.with("yes", true), at: .secondary(0))
        try stage.wait("the app reads its files again") { other.reloads > reloads }
        try stage.expectConfiguration("none")
        try stage.end(other)
        let app = try stage.configuredApp(anchor: Signer.successor.anchor)
        try stage.expectVerdict("threshold", on: first, "signed with the former key")
        try stage.expectVerdict("rollback", on: stage.signed(1, by: [.successor]), "CTL-33: a version that was applied")
        let second = try stage.signed(2, by: [.successor])
        try stage.apply(second)
        try stage.live(app, with: second, version: 2)
    }

    private static let rotation = Case(
        "CFG-92", "a key set that the primary's operator applies takes the place of the former one at the secondary"
    ) { stage in
        try stage.expectLinks()
        let set = try stage.keySet(1, [.trusted])
        let anchor = try stage.trust(set)
        try stage.applied(1, anchor: anchor)
        let app = try stage.configuredApp(anchor: anchor)
        let next = try stage.keySet(2, [.successor])
        try stage.expectRefused("threshold", stage.keySet(2, [.successor], by: [.successor]), "signed by no root")
        try stage.expectRefused("keyset-gap", stage.keySet(3, [.successor]), "a gap")
        try stage.expectFollowed(next)
        try stage.expectConfiguration("applied", version: 1)
        try stage.expectVerdict("threshold", on: stage.signed(2, ["keyset": 2]), "signed with the former key")
        let old = try stage.signed(2, by: [.successor])
        try stage.expectVerdict("old-keyset", on: old, "signed under the former key set")
        try demand(app.offers.isEmpty, "nothing is offered: \(app.offers.count)")
        let second = try stage.signed(2, by: [.successor], ["keyset": 2])
        try stage.apply(second)
        try stage.live(app, with: second, version: 2)
        try stage.expectDesired(["version": 2, "verdict": "applied", "reported": 2])
        if let directory = try ApplicationDirectory(of: app) {
            let chain = try directory.fields(of: "keysets.plist")?["chain"]?.arrayValue ?? []
            try demand(chain == [.data(set), .data(next)], "CFG-93: the chain for the app: \(chain.count)")
        }
    }

    private static let revocation = Case(
        "CFG-89", "a revocation that withdraws ends what its key alone has signed, and that key never counts again"
    ) { stage in
        try stage.expectLinks()
        let anchor = try stage.trust(stage.keySet(1, [.trusted, .successor]))
        try stage.applied(1, anchor: anchor)
        let app = try stage.configuredApp(anchor: anchor)
        let reloads = app.reloads
        let fields: PropertyListDictionary = [
            "typ": "revocation", "spec": "1.0", "app": .string(Stage.appName), "role": "secondary",
            "iat": .integer(SigningDates.issued), "keyset": 1, "revoked": [.data(Signer.trusted.identifier)],
            "withdraw": true,
        ]
        try stage.expectFollowed(SignedStatement(kind: .revocation, fields: fields).envelope(by: [.root]))
        try stage.wait("the app reads its files again") { app.reloads > reloads }
        try stage.expectConfiguration("none")
        let second = try stage.signed(2)
        try stage.expectRefused("threshold", second, "signed with the revoked key")
        try stage.expectVerdict("threshold", on: second, "signed with the revoked key")
        try demand(app.offers.isEmpty, "nothing is offered: \(app.offers.count)")
        let other = try stage.signed(2, by: [.successor])
        try stage.apply(other)
        try stage.live(app, with: other, version: 2)
    }
}

extension Stage {
    /// An app and its side, as commands about its keys name them.
    fileprivate var subject: PropertyListDictionary { ["app": .string(Self.appName), "role": "secondary"] }

    /// The secondary's row about the key that it trusts for the app (CTL-27).
    fileprivate func anchor() throws -> PropertyListDictionary {
        let anchors = try answer(to: .trustList, at: .secondary(0))["anchors"]?.arrayValue ?? []
        return anchors.compactMap(\.dictionaryValue).first { $0["app"] == .string(Self.appName) } ?? [:]
    }

    /// The envelope of a key set with these keys for configuration, whose other roles are the root's (CFG-80).
    fileprivate func keySet(_ version: Int64, _ signers: [Signer], by roots: [Signer] = [.root]) throws -> [UInt8] {
        var keys: PropertyListDictionary = [:]
        for signer in signers + [.root] { keys[Hexadecimal.encode(signer.identifier)] = .data(signer.publicKey) }
        func role(_ signers: [Signer]) -> PropertyListValue {
            ["keyids": .array(signers.map { .data($0.identifier) }), "threshold": 1]
        }
        let fields: PropertyListDictionary = [
            "typ": "keyset", "spec": "1.0", "app": .string(Self.appName), "role": "secondary",
            "ver": .integer(version), "iat": .integer(SigningDates.issued), "keys": .dictionary(keys),
            "roles": ["config": role(signers), "keyset": role([.root]), "revocation": role([.root])],
        ]
        return try SignedStatement(kind: .keySet, fields: fields).envelope(by: roots)
    }

    /// The primary's operator trusts the key set for the app of the secondary.
    /// - Returns: its text, for the app.
    fileprivate func trust(_ keySet: [UInt8]) throws -> String {
        let text = PEMText.write(keySet, label: "TANDEM KEY SET")
        try answer(to: .trustAdd, subject.with("key", .string(text)), at: .primary)
        return text
    }

    /// The primary follows a statement about keys, and then the secondary does (CTL-26).
    fileprivate func expectFollowed(_ statement: [UInt8]) throws {
        try apply(statement)
        var last: PropertyListDictionary = [:]
        try poll("the secondary follows it: \(last)") {
            last = try results(of: statement)[world.pairings[0]] ?? [:]
            return last["verdict"] == "applied"
        }
    }
}
