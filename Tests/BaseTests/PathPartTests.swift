// Directory and name of a path.

import TandemBase
import Testing

@Suite struct PathPartTests {
    @Test(
        "a path is cut at slashes as the kernel cuts it, also before a combining mark",
        arguments: [
            ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b"),
            ("/a/\u{301}b", "/a", "\u{301}b"), ("/a/\u{301}", "/a", "\u{301}"),
        ])
    func parts(path: String, directory: String, name: String) {
        #expect(path.parentPath == directory)
        #expect(path.nameInParent == name)
        #expect(path.lastPathPart == name)
    }

    @Test("a path of slashes has no last part, and slashes at its end belong to none")
    func slashes() {
        #expect("".lastPathPart == nil && "//".lastPathPart == nil)
        #expect("/a/b//".lastPathPart == "b")
    }

    @Test("a path with a slash at its end names nothing in its directory")
    func nothingBehindTheLastSlash() {
        #expect("/a/b/".parentPath == "/a/b" && "/a/b/".nameInParent.isEmpty)
        #expect("/".nameInParent.isEmpty && "".nameInParent.isEmpty)
    }
}
