// A host app, complete: it declares a typed configuration, hooks it into its message handler, prints values when they
// change, and echoes every other message. It sees only what the public libraries show.

import Glibc

@main enum Main {
    static func main() async {
        guard !Launch.arguments.isWrong else {
            Output.complain(Launch.usage)
            exit(2)
        }
        if let path = Launch.arguments.key, CommandLineKey.text == nil {
            Output.complain("SampleApp: --key: cannot read a key's text from \(path)")
            exit(1)
        }
        do {
            try await Lamp(Launch.arguments).run()
        } catch {
            Output.complain("SampleApp: \(error)")
            exit(1)
        }
    }
}

/// Arguments of the sample app.
struct Launch: Sendable {
    private(set) var application = "org.example.lamp"
    private(set) var device: String?
    private(set) var key: String?
    /// The app aborts when the volume gets this value: an app with a mistake, to try a roll back with.
    private(set) var crash: String?
    /// A Settings.bundle with the pages of its properties.
    private(set) var pages: String?
    /// Volume and colour are mirrored with the counterpart; each text is `on`, or sets one of them.
    private(set) var sync: [String] = []

    static let usage =
        "usage: SampleApp [--app APP] [--device SOCKET] [--key PUBLIC-KEY-FILE] [--crash-at VOLUME] "
        + "[--pages SETTINGS-BUNDLE] [--sync on|volume=NUMBER|colour=TEXT]..."

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
            case ("--crash-at", let value?): crash = value
            case ("--pages", let value?): pages = value
            case ("--sync", let value?): sync.append(value)
            default: isWrong = true
            }
        }
    }
}

enum CommandLineKey {
    /// The file's text; nil without the option or if the file cannot be read.
    static let text: String? = Launch.arguments.key.flatMap(read)

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = fread(&bytes, 1, bytes.count, file)
        return count > 0 ? String(validating: bytes.prefix(count), as: UTF8.self) : nil
    }
}

enum Output {
    /// Output of the app.
    static func show(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// Errors of the app.
    static func complain(_ line: String) { write(line, to: STDERR_FILENO) }

    private static func write(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
