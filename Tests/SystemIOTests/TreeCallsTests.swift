import Glibc
import SystemIO
import TestSupport
import Testing

final class TreeCallsTests {
    private let tree: TemporaryTree
    private let folder: Descriptor
    init() throws {
        tree = try TemporaryTree("calls")
        folder = try Descriptor.openFolder(tree.path)
    }

    @Test func rawNames() {
        #expect(RawName("caf\u{E9}") != RawName("cafe\u{301}"))
        #expect(RawName(bytes: [0x61, 0, 0x62]) == RawName("a"))
        #expect(RawName(bytes: [0x61, 0xFF]).description == "a\u{FFFD}")
        #expect(Array(RawName(bytes: [0xFF, 0x80]).bytes) == [0xFF, 0x80])
        let sorted = [[0xFF], [0x61], [0x61, 0x62], [0x7F]].map { RawName(bytes: $0) }.sorted().map { Array($0.bytes) }
        #expect(sorted == [[0x61], [0x61, 0x62], [0x7F], [0xFF]])
    }

    @Test func namesAreReadAgainFromTheStart() throws {
        for number in 0..<2_000 { try folder.makeLink(RawName("name-\(number)"), to: RawName("x")) }
        for _ in 0..<2 { #expect(try Set(folder.names()).count == 2_000) }
        let file = try Descriptor.open("/dev/null", O_RDONLY)
        #expect(throws: SystemError(call: "open", errno: ENOTDIR)) { try file.names() }
    }

    @Test func foldersAreNotOpenedThroughLinks() throws {
        try folder.makeFolder(RawName("real"))
        try folder.makeLink(RawName("link"), to: RawName("real"))
        #expect(try folder.folder(RawName("real")).facts() == folder.folder(behind: RawName("link")).facts())
        #expect(throws: SystemError(call: "open", errno: ENOTDIR)) { _ = try folder.folder(RawName("link")) }
        #expect(throws: SystemError(call: "open", errno: ENOENT)) { _ = try folder.folder(RawName("none")) }
        #expect(try folder.linkTarget(of: RawName("link")) == RawName("real"))
        #expect(throws: SystemError(call: "readlink", errno: EINVAL)) { try folder.linkTarget(of: RawName("real")) }
        #expect(try folder.folder(RawName("real")).path() == RawName(tree.path("real")))
    }

    @Test func linksAndRemovals() throws {
        try tree.write("a", "text")
        try folder.makeFolder(RawName("d"))
        let below = try folder.folder(RawName("d"))
        try folder.link(RawName("a"), into: below, as: RawName("b"))
        #expect(try below.facts(of: RawName("b")).isSameFile(as: folder.facts(of: RawName("a"))))
        #expect(throws: SystemError(call: "rmdir", errno: ENOTEMPTY)) { try folder.removeFolder(RawName("d")) }
        #expect(throws: SystemError(call: "unlink", errno: EISDIR)) { try folder.unlink(RawName("d")) }
        try below.unlink(RawName("b"))
        try folder.removeFolder(RawName("d"))
        try folder.sync()
        #expect(tree.list() == ["a"])
    }

    @Test func exchanges() throws {
        try tree.write("x/one", "1")
        try tree.write("y/two", "2")
        try folder.exchange(RawName("x"), with: folder, RawName("y"))
        #expect(tree.list() == ["x/", "x/two", "y/", "y/one"])
        #expect(throws: SystemError(call: "rename", errno: ENOENT)) {
            try folder.exchange(RawName("x"), with: folder, RawName("z"))
        }
        #expect(throws: SystemError(call: "rename", errno: EEXIST)) {
            try folder.renameFolderIfFree(RawName("x"), into: folder, as: RawName("y"))
        }
        try folder.renameFolderIfFree(RawName("x"), into: folder.folder(RawName("y")), as: RawName("in"))
        #expect(tree.list() == ["y/", "y/in/", "y/in/two", "y/one"])
    }

    /// The time of a link is its own, not that of what it leads to.
    @Test func timesOfLinks() throws {
        try tree.write("a", "")
        try folder.makeLink(RawName("link"), to: RawName("a"))
        let before = try folder.facts(of: RawName("a"))
        try folder.setModificationTime(of: RawName("link"), nanoseconds: -7)
        try folder.setOwner(of: RawName("link"), before.owner, group: before.group)
        #expect(try folder.facts(of: RawName("link")).modifiedNanoseconds == -7)
        #expect(try folder.facts(of: RawName("a")) == before)
        // Whatever else stays, the time of the change does not.
        try Descriptor.open(tree.path("a"), O_RDONLY).setOwner(before.owner, group: before.group)
        #expect(try folder.facts(of: RawName("a")).changedNanoseconds >= before.changedNanoseconds)
    }

    @Test func mountsHaveNumbers() throws {
        let number = folder.mountNumber
        #expect(try number == Descriptor.openFolder(tree.path).mountNumber)
        #expect(try number == 0 || number != Descriptor.openFolder("/proc").mountNumber)
    }

    @Test func freeSpace() throws {
        let here = try FreeSpace.at(tree.path)
        #expect(here.bytes > 0)
        #expect(try here.device == FileFacts.of(tree.path).device)
        #expect(try FreeSpace.at(tree.path("not/there/at/all")).device == here.device)
        #expect(try FreeSpace.at("/proc").bytes == 0)
        try tree.write("file", "")
        #expect(throws: SystemError(call: "stat", errno: ENOTDIR)) { try FreeSpace.at(tree.path("file/below")) }
    }
}
