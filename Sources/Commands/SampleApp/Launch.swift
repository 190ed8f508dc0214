// The sample's few options. A real app takes what it needs from its own command line and environment.

/// What the sample was started with.
struct Launch: Sendable {
    private(set) var application = "org.example.lamp"
    private(set) var device: String?
    private(set) var key: String?

    static let usage = "usage: SampleApp [--app APP] [--device SOCKET] [--key PUBLIC-KEY-FILE]"

    /// The arguments of this process.
    static let arguments = Launch(CommandLine.arguments.dropFirst())

    /// Whether the arguments could not be understood.
    private(set) var isWrong = false

    init(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            switch (name, rest.popFirst()) {
            case ("--app", let value?): application = value
            case ("--device", let value?): device = value
            case ("--key", let value?): key = value
            default: isWrong = true
            }
        }
    }
}
