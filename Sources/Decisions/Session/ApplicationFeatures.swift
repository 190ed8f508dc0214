// What an app says that it can do, so that its counterparts may choose whom to ask (SES-36): names that mean something
// to the apps alone, and whether it shows what comes urgently. It travels in `register`, `application` and `state`
// alike.

import TandemPropertyList
import TandemWire

/// The names of what an app provides; sorted, each once.
package struct ProvidedNames: Sendable, Equatable {
    package let names: [String]

    package static var none: ProvidedNames { ProvidedNames(valid: []) }

    private init(valid names: [String]) { self.names = names }

    /// Nil if they are more than 16, or one is not 1 to 64 bytes without NUL (LIM-32).
    package init?(_ names: some Sequence<String>) {
        let sorted = Set(names).sorted()
        guard sorted.count <= Limits.providedNames, sorted.allSatisfy(Self.isName) else { return nil }
        self.init(valid: sorted)
    }

    private static func isName(_ name: String) -> Bool {
        (1...Limits.providedName).contains(name.utf8.count) && !name.utf8.contains(0)
    }
}

/// What an app declares for its counterparts.
package struct ApplicationFeatures: Sendable, Equatable {
    package var provides: ProvidedNames
    /// It shows a complication: urgent items are worth their budget.
    package var hasComplication: Bool

    package init(provides: ProvidedNames = .none, hasComplication: Bool = false) {
        self.provides = provides
        self.hasComplication = hasComplication
    }

    /// Adds what differs from nothing.
    func write(to body: inout PropertyListDictionary) {
        if hasComplication { body["complication"] = .boolean(true) }
        if !provides.names.isEmpty { body["provides"] = .array(provides.names.map { .string($0) }) }
    }

    init(_ fields: BodyFields) throws(WireError) {
        hasComplication = try fields.boolean("complication", absent: false)
        let names = try fields.optional("provides", "at most 16 strings of 1-64 bytes without NUL") { value in
            value.arrayValue.map { $0.compactMap(\.stringValue) }.flatMap { names in
                names.count == value.arrayValue?.count ? ProvidedNames(names) : nil
            }
        }
        provides = names ?? .none
    }
}
