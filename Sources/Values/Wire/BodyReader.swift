// Strict reading of the dictionaries inside `body`: every key that is read has its type and range checked and is named
// in the error. Keys that nobody reads are ignored, so that a later version may add some; where the body is ours alone (a
// stored row, a join) `refuseKeys(otherThan:)` closes it.

package import TandemIdentity
package import TandemPropertyList

/// What is wrong with one key of a body.
package struct BodyError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Problem: String, Sendable {
        case missing = "is missing"
        case type = "has the wrong type"
        case value = "has a value that is not allowed"
        case unknown = "is not known here"
    }

    /// The key, with the index of its entry for lists: `pairings[2].level`.
    package let key: String
    package let problem: Problem

    package init(key: String, problem: Problem) {
        self.key = key
        self.problem = problem
    }

    package var description: String { "key '\(key)' \(problem.rawValue)" }
}

/// Typed access to one received dictionary.
package struct BodyReader: Sendable {
    private let body: PropertyListDictionary
    private let path: String

    package init(_ body: PropertyListDictionary, path: String = "") {
        self.body = body
        self.path = path
    }

    private func error(_ key: String, _ problem: BodyError.Problem) -> BodyError {
        BodyError(key: path + key, problem: problem)
    }

    /// Refuses every key that is not in the list.
    package func refuseKeys(otherThan known: [String]) throws(BodyError) {
        for key in body.keys where !known.contains(key) { throw error(key, .unknown) }
    }

    private func present<T>(_ value: T?, _ key: String) throws(BodyError) -> T {
        guard let value else { throw error(key, .missing) }
        return value
    }

    package func optionalString(_ key: String) throws(BodyError) -> String? {
        guard let value = body[key] else { return nil }
        guard case .string(let text) = value else { throw error(key, .type) }
        return text
    }

    package func optionalData(_ key: String) throws(BodyError) -> [UInt8]? {
        guard let value = body[key] else { return nil }
        guard case .data(let bytes) = value else { throw error(key, .type) }
        return bytes
    }

    package func optionalBoolean(_ key: String) throws(BodyError) -> Bool? {
        guard let value = body[key] else { return nil }
        guard case .boolean(let flag) = value else { throw error(key, .type) }
        return flag
    }

    package func optionalIdentifier(_ key: String) throws(BodyError) -> UniqueIdentifier? {
        guard let bytes = try optionalData(key) else { return nil }
        guard let identifier = UniqueIdentifier(bytes: bytes) else { throw error(key, .value) }
        return identifier
    }

    package func string(_ key: String) throws(BodyError) -> String { try present(optionalString(key), key) }

    package func data(_ key: String) throws(BodyError) -> [UInt8] { try present(optionalData(key), key) }

    package func boolean(_ key: String) throws(BodyError) -> Bool { try present(optionalBoolean(key), key) }

    package func identifier(_ key: String) throws(BodyError) -> UniqueIdentifier {
        try present(optionalIdentifier(key), key)
    }

    /// An integer from 0 upwards.
    package func count(_ key: String) throws(BodyError) -> UInt64 {
        switch try present(body[key], key) {
        case .integer(let number):
            guard let count = UInt64(exactly: number) else { throw error(key, .value) }
            return count
        case .unsigned(let count): return count
        default: throw error(key, .type)
        }
    }

    /// An integer of either sign.
    package func integer(_ key: String) throws(BodyError) -> Int64 {
        guard case .integer(let number) = try present(body[key], key) else { throw error(key, .type) }
        return number
    }

    /// One of the strings of an enum.
    package func choice<Choice: RawRepresentable<String>>(_ key: String) throws(BodyError) -> Choice {
        guard let choice = Choice(rawValue: try string(key)) else { throw error(key, .value) }
        return choice
    }

    /// An application identifier.
    package func application(_ key: String) throws(BodyError) -> ApplicationIdentifier {
        guard let app = try? ApplicationIdentifier(try string(key)) else { throw error(key, .value) }
        return app
    }

    /// A custom identifier, if there is one.
    package func optionalCustomIdentifier(_ key: String) throws(BodyError) -> CustomIdentifier? {
        guard let text = try optionalString(key) else { return nil }
        guard let identifier = try? CustomIdentifier(text) else { throw error(key, .value) }
        return identifier
    }

    /// UTF-8 text kept as data.
    package func optionalText(_ key: String) throws(BodyError) -> String? {
        guard let bytes = try optionalData(key) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error(key, .value) }
        return text
    }

    /// A typed paired identifier.
    package func target(_ key: String) throws(BodyError) -> PairedIdentifier {
        guard let target = try? PairedIdentifier(text: try string(key)) else { throw error(key, .value) }
        return target
    }

    /// The dictionaries of a list, each as a reader that names its place in errors.
    package func dictionaries(_ key: String) throws(BodyError) -> [BodyReader] {
        guard case .array(let values) = try present(body[key], key) else { throw error(key, .type) }
        var readers: [BodyReader] = []
        for (index, value) in values.enumerated() {
            guard case .dictionary(let entry) = value else { throw error("\(key)[\(index)]", .type) }
            readers.append(BodyReader(entry, path: "\(path)\(key)[\(index)]."))
        }
        return readers
    }
}
