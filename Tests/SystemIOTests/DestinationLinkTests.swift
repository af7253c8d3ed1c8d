import Glibc
import SystemIO
import TestSupport
import Testing

@Suite struct DestinationLinkTests {
    @Test func whereOthersMayWriteOnlyTrustedLinksCount() {
        func isTrusted(_ link: UInt32, _ folder: UInt32, _ mode: UInt32) -> Bool {
            DestinationLink.isTrusted(linkOwner: link, folderOwner: folder, folderMode: mode, user: 1000)
        }
        for mode: UInt32 in [0o755, 0o700] { #expect(isTrusted(7, 8, mode)) }
        for mode: UInt32 in [0o1777, 0o777, 0o775, 0o2770] {
            #expect(isTrusted(1000, 8, mode) && isTrusted(0, 8, mode) && isTrusted(8, 8, mode))
            #expect(!isTrusted(7, 8, mode))
        }
    }

    @Test func linksAreFollowedToTheirEnd() throws {
        let tree = try TemporaryTree("links")
        try tree.makeFolder("d")
        try tree.write("d/file", "x")
        try tree.link("one", to: "two")
        try tree.link("two", to: "d/three")
        try tree.link("d/three", to: tree.path("d/../d/file"))
        try tree.link("new", to: "d/none")
        #expect(try DestinationLink.end(of: tree.path("one")) == tree.path("d/file"))
        #expect(try DestinationLink.end(of: tree.path("new")) == tree.path("d/none"))
        for name in ["d", "d/file", "none", "none/none"] {
            #expect(try DestinationLink.end(of: tree.path(name)) == nil)
        }
        // Of the kernel's own links the text says nothing.
        #expect(throws: DestinationLink.Problem.noFile) { try DestinationLink.end(of: "/proc/self/fd/0") }
        #expect(throws: DestinationLink.Problem.noFile) { try DestinationLink.end(of: "/dev/null") }
    }

    @Test func aChainIsBounded() throws {
        let tree = try TemporaryTree("links")
        for number in 0..<40 { try tree.link("l\(number)", to: "l\(number + 1)") }
        #expect(try DestinationLink.end(of: tree.path("l0")) == tree.path("l40"))
        try tree.link("l40", to: "l41")
        #expect(throws: DestinationLink.Problem.tooManyLinks) { try DestinationLink.end(of: tree.path("l0")) }
    }
}
