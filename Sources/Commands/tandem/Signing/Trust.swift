// `trust`: the keys that a daemon accepts for an application's configuration. They come from the operator, never from a
// pairing.

import TandemBase
import TandemCrypto
import TandemOperations
import TandemPropertyList
import TandemWire

extension Subcommand {
    static let trustAdd = Subcommand(
        path: ["trust", "add"], summary: "tell a daemon the public key that signs an app's configuration",
        options: [
            .device, .application.required, .side.required,
            .valued("key", "FILE", "public key (PEM) or key set").required,
        ],
        notes: """
            A second, different key for the same app and role is refused (anchor-conflict): 'tandem trust replace' puts it in
            the first one's place, 'tandem trust remove' ends the trust in that.
            """,
        examples: ["trust add --app org.example.lamp --role secondary --key signing.key.pub"]
    ) { arguments, console in
        let anchor = try AnchorFile(path: try arguments.required("key"))
        _ = try arguments.ask(.trustAdd, try arguments.side(["key": .string(anchor.text)]))
        let set = anchor.version.map { "key set \($0), configuration key " } ?? ""
        for key in anchor.configurationKeys { console.print("trusted \(set)\(key.identifier.hexadecimal)") }
    }

    static let trustList = Subcommand(
        path: ["trust", "list"], summary: "list the configuration keys that a daemon trusts",
        options: [.device, .json],
        notes: """
            'key set 3' is the third version of a key set, which is in force; a 'bare key' has no key set, and can neither be
            rotated nor revoked. 'revoked' is the number of the app's keys that never count again; a second table names them.
            A key set with several configuration keys shows no key id here. Under one that has expired nothing new is
            accepted; what is active stays.
            """,
        examples: ["trust list", "trust list --json"]
    ) { arguments, console in
        let anchors = try arguments.ask(.trustList)["anchors"] ?? .array([])
        if arguments.has("json") { return console.print(json: Fact.plain(anchors)) }
        for line in TrustReport.lines(of: Fact.list(anchors)) { console.print(line) }
    }

    static let trustRemove = Subcommand(
        path: ["trust", "remove"], summary: "stop trusting an app's configuration key",
        options: [.device, .application.required, .side.required, .yes, .json],
        notes: """
            Lists the configurations that depend on the key, which end with it, and asks for confirmation. Versions that
            were applied stay refused. Revocations that followed the key are forgotten until a primary brings them again.
            The app's own key is trusted again when the app registers the next time.
            """,
        examples: ["trust remove --app org.example.lamp --role secondary"]
    ) { arguments, console in
        let app = try arguments.application()
        let answer = try arguments.askTwice(.trustRemove, try arguments.side(), console) { fact in
            let first = "the configuration key \(fact.digest("former")) of \(app) would no longer be trusted"
            return Consequences.untrusting(fact, after: first)
        }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("removed \(answer.text("former"))")
    }

    static let trustReplace = Subcommand(
        path: ["trust", "replace"], summary: "replace an app's trusted configuration key",
        options: [
            .device, .application.required, .side.required,
            .valued("key", "FILE", "public key (PEM) or key set").required, .yes, .json,
        ],
        notes: """
            As 'trust remove' and 'trust add' in one step. Lists the configurations that depend on the former key, which end
            with it, and asks for confirmation.
            """,
        examples: ["trust replace --app org.example.lamp --role secondary --key new.key.pub"]
    ) { arguments, console in
        let app = try arguments.application()
        let anchor = try AnchorFile(path: try arguments.required("key"))
        let body = try arguments.side(["key": .string(anchor.text)])
        let answer = try arguments.askTwice(.trustReplace, body, console) { fact in
            let first =
                fact.body["former"] == nil
                ? "no other key is trusted for \(app)"
                : "the configuration key \(fact.digest("keyid")) would replace \(fact.digest("former")) of \(app)"
            return Consequences.untrusting(fact, after: first)
        }
        if arguments.has("json") { return console.print(json: answer) }
        console.print("trusted \(answer.text("keyid"))")
    }
}

extension Arguments {
    /// The body of a request about the key of the app and the side that the options name.
    fileprivate func side(_ more: PropertyListDictionary = [:]) throws -> PropertyListDictionary {
        let side: PropertyListDictionary = [
            "app": .string(try application().description), "role": .string(try role().rawValue),
        ]
        return side.merging(more)
    }
}

/// The trusted keys as text for people.
enum TrustReport {
    static func lines(of anchors: [Fact]) -> [String] {
        var trusted = Table("trusted keys", ["app", "role", "source", "kind", "expires", "revoked", "key id"])
        var revoked = Table("revoked keys", ["app", "role", "key id"])
        for anchor in anchors {
            let (app, role) = (anchor.text("app"), anchor.text("role"))
            trusted.add(
                app, role, anchor.text("source"), kind(of: anchor), expiry(of: anchor), anchor.text("revoked"),
                anchor.text("keyid"))
            if anchor.body["conflict"] == true {
                trusted.advise(
                    "\(app) has registered with another anchor, by which it refuses what this one vouches for: "
                        + "'tandem trust replace' with the app's, or ship the app with this one")
            }
            let keys = (anchor.body["revokedKeys"]?.arrayValue ?? []).compactMap(\.dataValue)
            for key in keys { revoked.add(app, role, Hexadecimal.encode(key)) }
            let more = (anchor.body["revoked"]?.integerValue ?? 0) - Int64(keys.count)
            if more > 0, !keys.isEmpty { revoked.advise("\(more) more of \(app) (\(role)) are not shown") }
        }
        return trusted.listing + revoked.lines
    }

    private static func expiry(of anchor: Fact) -> String {
        anchor.date("expires") + (anchor.body["expired"] == true ? ", expired" : "")
    }

    private static func kind(of anchor: Fact) -> String {
        switch anchor.text("kind") {
        case "bare-key": "bare key"
        case "key-set": "key set \(anchor.text("version"))"
        // A daemon of an earlier version does not tell them apart.
        default: "-"
        }
    }
}
