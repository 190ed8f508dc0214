// The words that frames of files carry as their `name` (FIL-6, FIL-10).

/// The words of `progress` for files.
enum FileProgress: String {
    case taking, transferred
}

/// The word of `want`.
enum FileWant {
    static let restart = "restart"
}
