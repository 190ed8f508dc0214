// Spellings of a property's name outside of the code: snake case in configuration files, capitals in the environment,
// hyphens on the command line, initials for people. Nothing here depends on a locale.

package enum SettingSpelling {
    /// The camel case of a key in snake case: `my_API_key` is `myApiKey`. A key without an underscore stays as it is.
    package static func camelCase(ofSnakeCase key: String) -> String {
        let parts = key.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return key }
        return parts[0].lowercased()
            + parts.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
            .joined()
    }

    /// `BASE_URL` of `baseURL`.
    package static func environmentCase(of name: String) -> String {
        words(of: name).map { $0.uppercased() }.joined(separator: "_")
    }

    /// `base-url` of `baseURL`.
    package static func optionCase(of name: String) -> String {
        words(of: name).map { $0.lowercased() }.joined(separator: "-")
    }

    /// `BU` of `baseURL`; the whole name if it has neither letter nor digit.
    static func initials(of name: String) -> String {
        let initials = words(of: name).map { $0.prefix(1).uppercased() }.joined()
        return initials.isEmpty ? name : initials
    }

    /// The words of a name in camel case: a capital begins one, and the last of several capitals begins the next
    /// (`myAPIKey` has `my`, `API` and `Key`). Any character but a letter or digit stands between words.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = ""
        let characters = Array(name)
        for (index, character) in characters.enumerated() {
            guard character.isLetter || character.isNumber else {
                if !word.isEmpty { words.append(word) }
                word = ""
                continue
            }
            let isFirst =
                character.isUppercase
                && (word.last?.isUppercase == false
                    || (index + 1 < characters.count && characters[index + 1].isLowercase))
            if isFirst, !word.isEmpty {
                words.append(word)
                word = ""
            }
            word.append(character)
        }
        return word.isEmpty ? words : words + [word]
    }
}

/// Two properties with one spelling outside of the code: neither can be set there.
public struct SettingNameCollision: Error, Sendable, Equatable {
    /// The variable or option that both would have.
    public let spelling: String
    /// The names of the two.
    public let properties: [String]

    /// A collision, as an app's own tests may make it.
    public init(spelling: String, properties: [String]) {
        self.spelling = spelling
        self.properties = properties
    }
}

extension SettingNameCollision: CustomStringConvertible {
    public var description: String {
        "the properties \(properties.map { "'\($0)'" }.joined(separator: " and ")) are both '\(spelling)'; rename one"
    }
}

/// The spellings of all properties of a schema, each with its index.
struct SpelledNames {
    private var indices: [String: Int] = [:]
    private let names: [String]

    init(_ schema: SettingsSchema) { names = schema.declarations.map(\.name) }

    mutating func add(_ spelling: String, for index: Int) throws(SettingNameCollision) {
        if let other = indices[spelling], other != index {
            throw SettingNameCollision(spelling: spelling, properties: [names[other], names[index]])
        }
        indices[spelling] = index
    }

    func index(of spelling: String) -> Int? { indices[spelling] }
}
