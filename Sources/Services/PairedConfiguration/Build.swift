// Kind of this build: what is lenient or strict by it asks here.

/// The build of this module, which a package's client builds in its own kind.
enum Build {
    static let isDebug: Bool = {
        #if DEBUG
            true
        #else
            false
        #endif
    }()
}
