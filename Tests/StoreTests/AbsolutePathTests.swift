// Absolute forms of paths: a relative one is joined to a directory once, and everything else stays as it is.

import TandemFiles
import Testing

@Suite struct AbsolutePathTests {
    @Test(
        "FIL-16: a relative path is joined to the directory, and an absolute or empty one stays",
        arguments: [
            ("same", "/d", "/d/same"), ("./hub.sock", "/d", "/d/hub.sock"), ("././/a", "/", "/a"),
            ("../a", "/d/e", "/d/e/../a"), (".", "/d", "/d/."), ("/a", "/d", "/a"), ("", "/d", ""),
            // A slash and the mark behind it are one Character.
            ("/\u{301}a", "/d", "/\u{301}a"),
        ])
    func joined(path: String, directory: String, expected: String) {
        #expect(AbsolutePath.joined(path, to: directory) == expected)
    }

    @Test("FIL-16: without a working directory a path stays as it is")
    func removed() { #expect(AbsolutePath.joined("same", to: nil) == "same") }
}
