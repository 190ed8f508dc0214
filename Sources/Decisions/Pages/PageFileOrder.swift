// Files of a page in the order in which they are looked for (PAG-1).

/// The candidates for a page's file.
package enum PageFileOrder {
    /// The two directories, the first of which hides the other's files.
    package static let bundles = ["InAppSettings.bundle", "Settings.bundle"]

    /// The files of a page, the first existing one of which counts.
    /// - Parameter bundles: the directories, each with that of a language in it, whose files come first.
    package static func candidates<Directory>(
        for page: String, device: DeviceKind, in bundles: [(plain: Directory, localised: Directory?)]
    ) -> [(directory: Directory, name: String)] {
        bundles.flatMap { bundle in
            ["~\(device.suffix).inApp", ".inApp", "~\(device.suffix)", ""].flatMap { ending in
                [bundle.localised, bundle.plain].compactMap(\.self).map { ($0, "\(page)\(ending).plist") }
            }
        }
    }

    /// The languages of a process: of `LC_ALL`, `LC_MESSAGES` and `LANG` the first that is set, as its whole tag, with
    /// hyphens and with underscores, and as its language alone; none for `C` and `POSIX`.
    package static func preferredLanguages(_ variable: (String) -> String?) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        let tag = String(locale.prefix { $0 != "." && $0 != "@" })
        guard !tag.isEmpty, tag != "C", tag != "POSIX" else { return [] }
        let language = String(tag.prefix { $0 != "_" && $0 != "-" })
        let parts = tag.split { $0 == "_" || $0 == "-" }
        return parts.count == 1
            ? [language] : [parts.joined(separator: "-"), parts.joined(separator: "_"), language]
    }
}
