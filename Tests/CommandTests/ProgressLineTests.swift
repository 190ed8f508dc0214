// The line that `send --file` draws: never wider than the terminal, and never wrong about how much is done.

import TandemTestSupport
import Testing

@testable import tandem

@Suite struct ProgressLineTests {
    private func line(_ done: Int64, of total: Int64, label: String = "photo.jpg", after: Duration = .seconds(2))
        -> ProgressLine
    {
        ProgressLine(label: label, done: done, total: total, elapsed: after)
    }

    @Test("a line has the name, a bar, the share, the bytes and the rate")
    func whole() {
        let text = line(512 << 10, of: 1 << 20).text(width: 80)
        #expect(
            text == "photo.jpg [" + String(repeating: "#", count: 16) + String(repeating: ".", count: 16)
                + "]  50%  512 KiB of 1.0 MiB  256 KiB/s")
    }

    @Test("the label gives way first, then the bar, then all but the share")
    func narrow() {
        let file = line(1 << 20, of: 1 << 20, label: "a-name-that-is-longer-than-others.jpg")
        #expect(file.text(width: 80).hasPrefix("a-name-that-is-longer-th"))
        #expect(file.text(width: 50).contains("#") && !file.text(width: 50).contains("longer"))
        #expect(file.text(width: 40) == "100%  1.0 MiB of 1.0 MiB  512 KiB/s")
        #expect(file.text(width: 10) == "100%" && file.text(width: 2) == "10")
        let accents = String(repeating: "ä", count: 24)
        #expect(line(1 << 20, of: 1 << 20, label: accents).text(width: 80).hasPrefix(accents + " ["))
    }

    @Test("no line is wider than the terminal, whatever the label and the numbers are")
    func width() {
        var generator = SeededGenerator(seed: 7)
        let labels = ["", "a", "写真の名前がとても長いファイル.jpg", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦.png", String(repeating: "w", count: 300)]
        for _ in 0..<2_000 {
            let total = Int64.random(in: 0...(1 << 40), using: &generator)
            let progress = line(
                Int64.random(in: 0...max(total, 1), using: &generator), of: total,
                label: labels.randomElement(using: &generator) ?? "",
                after: .milliseconds(Int.random(in: 0...100_000, using: &generator)))
            let width = Int.random(in: 0...200, using: &generator)
            let columns = progress.text(width: width).reduce(0) { $0 + ($1.isASCII ? 1 : 2) }
            #expect(columns <= width, "\(progress) in \(width)")
        }
    }

    @Test(
        "sizes have three digits and a unit",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 KiB"), (1536, "1.5 KiB"), (102_400, "100 KiB"),
            (1_048_576, "1.0 MiB"), (1 << 40, "1.0 TiB"),
        ] as [(Int64, String)])
    func sizes(_ bytes: Int64, _ text: String) { #expect(ProgressLine.size(bytes) == text) }

    @Test("an empty file is whole, and no time has no rate")
    func empty() {
        #expect(line(0, of: 0, after: .zero).text(width: 80).hasSuffix("] 100%  0 B of 0 B  -"))
    }
}
