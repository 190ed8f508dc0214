// Makes a one-time join link on the primary and shows it as text and as a QR code. The link is a secret: it goes to
// standard output and nowhere else.

import TandemBase
import TandemPropertyList

extension Subcommand {
    static let pair = Subcommand(
        path: ["pair"], summary: "make a one-time join link on a running primary, with its QR code",
        options: [
            .device, .valued("life", "TIME", "how long the link may be used (default 15m)"),
            .flag("link-only", "print the link alone, for a pipe"), .json,
        ],
        notes: """
            Whoever has the link within its life can pair with this device once. Hand it over on a way that others
            cannot read; 'tandem join' takes it from standard input or from a private file, never as an argument.
            """,
        examples: ["pair", "pair --life 5m", "pair --link-only | ssh kiosk tandem join"]
    ) { arguments, console in
        let life = try arguments.duration("life")
        let seconds = life.map { $0.saturatingMilliseconds / 1000 }
        if let seconds, seconds < 1 { throw CommandFailure.usage("--life must be at least 1s") }
        let answer = Fact(try arguments.ask("pair", seconds.map { ["seconds": .integer($0)] } ?? [:], of: .primary))
        guard let link = answer.body["link"]?.stringValue else {
            throw CommandFailure.refused("the daemon answered without a link")
        }
        if arguments.has("json") { return console.print(json: .dictionary(answer.body)) }
        console.print(link)
        if arguments.has("link-only") { return }
        console.print("\nexpires \(answer.date("expires")); on the other device run: tandem join\n")
        console.write(try QRCode(link).terminalText(inColour: console.isColoured))
    }
}
