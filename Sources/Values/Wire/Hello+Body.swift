// Hello as a dictionary and back.

import TandemBase
package import TandemPropertyList

extension Hello {
    /// The dictionary of this hello.
    package var body: PropertyListDictionary {
        var body: PropertyListDictionary = [
            "capabilities": .array(capabilities.map { .string($0.rawValue) }), "software": .string(software),
        ]
        switch versions {
        case .offered(let range):
            body["minimum"] = PropertyListValue(range.lowerBound.number)
            body["maximum"] = PropertyListValue(range.upperBound.number)
        case .chosen(let version): body["version"] = PropertyListValue(version.number)
        }
        body["role"] = role.map { .string($0.rawValue) }
        body["device"] = device.map { .data($0.bytes) }
        link?.add(to: &body)
        return body
    }

    /// Reads a hello's dictionary.
    /// - Throws: ``WireError/invalidValue(key:expected:)`` naming the key.
    package init(body: PropertyListDictionary) throws(WireError) {
        let fields = BodyFields(body)
        versions = try Versions(fields)
        let words = try fields.array("capabilities", "an array of strings", \.stringValue)
        capabilities = words.compactMap { Capability(rawValue: $0) }
        software = try fields.string("software")
        role = try fields.optional("role", "primary or secondary") {
            $0.stringValue.flatMap { DeviceRole(rawValue: $0) }
        }
        device = try fields.optionalIdentifier("device")
        link = try LinkHello(fields)
    }
}

extension Hello.Versions {
    fileprivate init(_ fields: BodyFields) throws(WireError) {
        func version(_ key: String) throws(WireError) -> ProtocolVersion? {
            try fields.optional(key, "a version") {
                $0.unsignedValue.flatMap { UInt32(exactly: $0) }.flatMap { ProtocolVersion($0) }
            }
        }
        if let chosen = try version("version") {
            self = .chosen(chosen)
            return
        }
        guard let minimum = try version("minimum"), let maximum = try version("maximum"), minimum <= maximum else {
            throw .invalidValue(key: "minimum", expected: "a version up to 'maximum'")
        }
        self = .offered(minimum...maximum)
    }
}

extension LinkHello {
    /// Nil if the fields are those of a local socket, which has no `instance`.
    fileprivate init?(_ fields: BodyFields) throws(WireError) {
        guard let instance = try fields.optionalIdentifier("instance") else { return nil }
        self.instance = instance
        name = try fields.required("name", "a name of 1-64 bytes") { value in
            value.stringValue.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil }
        }
        epoch = try fields.unsigned("epoch")
        received = try Self.marks(fields, "received")
        sent = try Self.marks(fields, "sent")
        clock = try fields.optionalInteger("clock").map { WallTime(milliseconds: $0) }
    }

    fileprivate func add(to body: inout PropertyListDictionary) {
        body["name"] = .string(name)
        body["epoch"] = PropertyListValue(epoch)
        body["instance"] = .data(instance.bytes)
        body["received"] = .array(received.map(\.value))
        body["sent"] = .array(sent.map(\.value))
        body["clock"] = clock.map { .integer($0.milliseconds) }
    }

    private static func marks(_ fields: BodyFields, _ key: String) throws(WireError) -> [SequenceMark] {
        var marks: [SequenceMark] = []
        for entry in try fields.dictionaries(key) {
            let channel = try entry.required("channel", "a channel") {
                $0.stringValue.flatMap { Channel(rawValue: $0) }
            }
            marks.append(
                SequenceMark(
                    app: try entry.application("app"), channel: channel, sequence: try entry.unsigned("sequence")))
        }
        return marks
    }
}

extension SequenceMark {
    fileprivate var value: PropertyListValue {
        [
            "app": .string(app.description), "channel": .string(channel.rawValue),
            "sequence": PropertyListValue(sequence),
        ]
    }
}
