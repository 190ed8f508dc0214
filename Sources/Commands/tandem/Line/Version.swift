// The version of this software, as `--version` shows it. The protocol's version is the Wire room's.

enum Version {
    static let text = "0.1.0"
}
