import Glibc
import SystemIO
import TestSupport
import Testing

@Suite struct DestinationLinkTests {
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
        #expect(throws: DestinationLink.Problem.place(.tooManyLinks)) { try DestinationLink.end(of: tree.path("l0")) }
    }
}
