// The process's environment, in one place so that tests can give another one.

import Glibc

/// The process's environment; a variable that is set to nothing counts as unset.
struct Environment: Sendable {
    private let overrides: [String: String]?

    init() { overrides = nil }

    /// An environment of these variables only.
    init(_ variables: [String: String]) { overrides = variables }

    func value(_ name: String) -> String? {
        let value = overrides.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }
}
