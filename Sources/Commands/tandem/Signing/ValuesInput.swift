// Values of a configuration as a person gives them: KEY=VALUE options, or a file with one JSON object. A value's type
// is its own: true is a boolean, 7 an integer, 7.0 a real, everything else text; "7" in quotes is text too.

import TandemPropertyList

/// The values that `--set` and `--values` give.
struct ValuesInput {
    private let assignments: [String]
    private let path: String?

    init(_ arguments: Arguments) {
        assignments = arguments.all("set")
        path = arguments.value("values")
    }

    /// The file's values and then the options', of which none may be in the file too.
    func values() throws -> PropertyListDictionary {
        var values = try path.map(Self.file) ?? PropertyListDictionary()
        for assignment in assignments {
            let (key, value) = try Self.assignment(assignment)
            guard values[key] == nil else { throw CommandFailure.usage("the value '\(key)' is given twice") }
            values[key] = value
        }
        return values
    }

    /// One `KEY=VALUE`.
    static func assignment(_ text: String) throws(CommandFailure) -> (String, PropertyListValue) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let key = parts.first, let value = parts.last, !key.isEmpty else {
            throw .usage("--set '\(text)' is not KEY=VALUE")
        }
        return (key, scalar(value))
    }

    private static func scalar(_ text: String) -> PropertyListValue {
        switch try? JSONReader.read(text) {
        case .boolean(let flag): .boolean(flag)
        case .integer(let number): .integer(number)
        case .unsigned(let number): .unsigned(number)
        case .real(let number): .real(number)
        case .string(let quoted): .string(quoted)
        default: .string(text)
        }
    }

    private static func file(_ path: String) throws -> PropertyListDictionary {
        let bytes = try LocalFile(path: path).read()
        let value: PropertyListValue
        do { value = try JSONReader.read(bytes) } catch { throw CommandFailure.refused("\(path): \(error)") }
        guard let values = value.dictionaryValue else {
            throw CommandFailure.refused("\(path): the values must be one JSON object")
        }
        return values
    }
}
