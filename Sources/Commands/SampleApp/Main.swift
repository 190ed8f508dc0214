// A host app, complete: it declares a typed configuration, hooks it into its message handler, prints values when they
// change, and echoes every other message. It sees only what the public libraries show.

import Glibc

@main enum Main {
    static func main() async {
        guard !Launch.arguments.isWrong else {
            Output.complain(Launch.usage)
            exit(2)
        }
        do {
            try await Lamp(Launch.arguments).run()
        } catch {
            Output.complain("SampleApp: \(error)")
            exit(1)
        }
    }
}
