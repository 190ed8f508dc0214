// Names from outside, made harmless: the list of those that have done harm elsewhere, and what must survive.

import TandemDelivery
import TandemTestSupport
import Testing

@Suite struct ReceivedFileNameTests {
    @Test(
        "FIL-12: a name becomes one component that stays where it is put",
        arguments: [
            ("../../etc/passwd", "passwd"), ("/etc/shadow", "shadow"), ("", "file"), (".", "file"), ("..", "_."),
            ("/", "file"), ("../..", "_."), ("a/b/", "b"), (".bashrc", "_bashrc"), ("-rf", "_rf"), ("a\0b", "a_b"),
            ("\0", "file"), ("a\nb.txt", "a_b.txt"), ("\u{1B}[2Jx", "_[2Jx"), ("..\\..\\boot.ini", "_._.._boot.ini"),
            ("\u{202E}gpj.exe", "_gpj.exe"), ("   ", "file"), ("con\u{2028}x", "con_x"), ("/\u{301}x", "\u{301}x"),
        ])
    func hostile(_ name: String, _ expected: String) {
        let reduced = ReceivedFileName(reducing: name).text
        #expect(reduced.unicodeScalars.elementsEqual(expected.unicodeScalars), "\(reduced.debugDescription)")
    }

    @Test(
        "FIL-12: a harmless name stays as it is",
        arguments: ["photo.jpg", "Übersicht 2026 (2).pdf", "日本語.txt", "a~b#c;d&e.tar.gz", "x👍"])
    func harmless(_ name: String) {
        #expect(ReceivedFileName(reducing: name).text == name)
    }

    @Test("FIL-12: a long name is cut between characters and keeps a short extension", arguments: [199, 200, 201, 300])
    func length(_ count: Int) {
        let reduced = ReceivedFileName(reducing: String(repeating: "x", count: count - 4) + ".jpg").text
        #expect(reduced.utf8.count == min(200, count))
        #expect(reduced.hasSuffix(".jpg"))
        let wide = ReceivedFileName(reducing: String(repeating: "日", count: count)).text
        #expect(wide.utf8.count <= 200 && wide.utf8.count > 197)
        #expect(wide.allSatisfy { $0 == "日" })
    }

    @Test("FIL-12: whatever the name, the result has nothing that leaves, hides or acts")
    func random() {
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<1_000 {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...40, using: &generator) {
                let highest: UInt32 = Bool.random(using: &generator) ? 0x7F : 0x10FFFF
                if let scalar = Unicode.Scalar(UInt32.random(in: 0...highest, using: &generator)) {
                    scalars.append(scalar)
                }
            }
            let text = ReceivedFileName(reducing: String(scalars)).text
            #expect(!text.unicodeScalars.contains { $0 == "/" || $0.value < 0x20 || $0.value == 0x7F })
            #expect(!text.isEmpty && text.utf8.count <= 200 && text != "." && text != "..")
            #expect(!text.utf8.starts(with: ".".utf8) && !text.utf8.starts(with: "-".utf8))
        }
    }
}
