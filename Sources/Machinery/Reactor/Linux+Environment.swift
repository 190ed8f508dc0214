// The process's environment, read where a library must find its daemon without being told.

internal import Glibc

extension Linux {
    /// The value of an environment variable; nil if it is unset, empty or not UTF-8.
    package static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }
}
