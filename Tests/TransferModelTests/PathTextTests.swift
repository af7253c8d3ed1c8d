import Testing
import TransferModel

/// What two paths are compared by.
@Suite struct PathTextTests {
    @Test(arguments: [
        ("/a/b", "/a/b"), ("/a//b/./c", "/a/b/c"), ("/a/../b", "/b"), ("/a/b/../../..", "/"), ("/a/b/", "/a/b/"),
        ("/a/../", "/"), ("/", "/"), ("/...//.x", "/.../.x"), ("/a/\u{301}b/../c", "/a/c"),
    ])
    func dotsAndEmptySegmentsGo(_ path: String, _ other: String) {
        #expect(PathText.withoutDots(path) == other)
    }
}
