// The control commands about configuration: trusted keys, applying, changed identifiers, lowered versions.

import TandemBase
import TandemCrypto
import TandemPairing
import TandemPropertyList
import TandemStore
import TandemWire

extension Node {
    func trustAdd(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let key = AnchorKey(application: try body.application("app"), role: try body.role("role"))
        let pem = try body.string("key")
        let publicKey: PublicKey
        do throws(KeyError) { publicKey = try PublicKey(pem: pem) } catch {
            return completion(.failed(.badRequest, text: "key: \(error)"))
        }
        carrier.trust(pem, for: key) { outcome in
            switch outcome {
            case .conflict:
                completion(.failed(.anchorConflict, text: "another key is trusted for this app and role, and stays"))
            case .notStored: completion(.failed(.store, text: "the key could not be stored; see the log"))
            case .trusted: completion(.done(["keyid": .data(publicKey.identifier.bytes)]))
            }
        }
    }

    func apply(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let wait = try body.milliseconds("wait", absent: .seconds(30))
        carrier.apply(try body.data("envelope"), app: try body.application("app"), wait: wait) { outcome in
            switch outcome {
            case .failed(let name, let text): completion(.failed(name: name, text: text))
            case .results(let results): completion(.done(["results": .array(results.map { .dictionary($0.body) })]))
            }
        }
    }

    func acceptIdentifier(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let (app, pairing) = (try body.application("app"), try body.identifier("pairing"))
        registry.perform(
            { [self] next in
                guard let (claim, changes) = next.acceptIdentifier(of: app, pairing: pairing) else {
                    return ([], { completion(.failed(.notFound, text: "no changed identifier waits for this app")) })
                }
                return (
                    changes.map(\.rowChange),
                    { [self] in
                        targetChanged(of: app)
                        completion(.done(["identifier": .string("\(claim.effective)")]))
                    }
                )
            },
            failure: { [self] in fail($0, completion) })
    }

    func allowVersion(_ body: BodyFields, _ completion: @escaping Answering) throws(WireError) {
        let pairing = try body.identifier("pairing")
        let version = try body.required("version", "a protocol version") { value in
            value.unsignedValue.flatMap { UInt32(exactly: $0) }.flatMap { ProtocolVersion($0) }
        }
        registry.perform(
            { next in
                guard let changes = next.allowVersion(version, for: pairing) else {
                    return ([], { completion(.failed(.notFound, text: "no such pairing")) })
                }
                return (changes.map(\.rowChange), { completion(.done()) })
            },
            failure: { [self] in fail($0, completion) })
    }
}

extension ApplyResult {
    fileprivate var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "name": .string(name), "state": .string(verdict == nil ? "queued" : "reported"),
            "version": PropertyListValue(version), "digest": .data(digest),
        ]
        body["pairing"] = pairing.map { .data($0.bytes) }
        body["verdict"] = verdict.map { .string($0) }
        body["text"] = text.flatMap { $0.isEmpty ? nil : .string($0) }
        return body
    }
}
