import Glibc
import SystemIO
import TestSupport
import Testing

/// Which links are followed on the way to what is written.
@Suite struct TrustedPathTests {
    private static let stranger: UInt32 = 12_345

    /// Owner of the link, owner and mode of its folder.
    @Test(
        arguments: [
            (1000, 8, 0o1777, true), (0, 8, 0o1777, true), (1000, 8, 0o755, true),
            (7, 1000, 0o755, true), (7, 0, 0o755, true), (7, 0, 0o700, true), (7, 1000, 0o1750, true),
            (7, 0, 0o1777, false), (7, 1000, 0o777, false), (7, 1000, 0o775, false), (7, 0, 0o2770, false),
            (7, 1000, 0o757, false),
            // The folder's owner may put any link there.
            (8, 8, 0o755, false), (7, 8, 0o755, false), (8, 8, 0o1777, false),
        ] as [(UInt32, UInt32, UInt32, Bool)]) func link_isFollowed_whereNoStrangerCanHavePutItThere(
            _ link: UInt32, _ folder: UInt32, _ mode: UInt32, _ isTrusted: Bool
        )
    {
        #expect(
            TrustedPath.isTrusted(linkOwner: link, folderOwner: folder, folderMode: mode, user: 1000) == isTrusted)
    }

    private func reason(_ open: () throws(SystemError) -> Void) -> SystemError? {
        do throws(SystemError) { try open() } catch { return error }
        return nil
    }

    /// A folder that all may write, with a link of a stranger to the folder `victim`, and links of one's own.
    private func shared() throws -> TemporaryTree {
        let tree = try TemporaryTree("trusted")
        try tree.makeFolder("victim/deep")
        try tree.makeFolder("shared")
        try tree.link("shared/foreign", to: "../victim")
        try tree.link("shared/own", to: "../victim")
        try tree.link("by", to: "shared/foreign/deep")
        try tree.setMode("shared", 0o1777)
        #expect(lchown(tree.path("shared/foreign"), Self.stranger, Self.stranger) == 0)
        return tree
    }

    @Test(
        .enabled(if: geteuid() == 0),
        arguments: ["shared/foreign", "shared/foreign/deep", "by", "shared/../shared/foreign/"])
    func linkOfAStranger_isRefusedAtAnyPlaceOfThePath(_ path: String) throws {
        let tree = try shared()
        let opened = reason { () throws(SystemError) in _ = try Descriptor.openFolder(tree.path(path)) }
        #expect(opened?.foreignLink == tree.path("shared/foreign") && opened?.errno == EPERM)
        #expect(opened?.reason == tree.path("shared/foreign") + " is a link of another user, and is not followed")
        let made = reason { () throws(SystemError) in _ = try Descriptor.makeFolder(tree.path(path + "/new/x")) }
        #expect(made?.foreignLink != nil && !tree.exists("victim/new") && !tree.exists("victim/deep/new"))
        #expect(throws: WrittenPlace.Problem.foreign(link: tree.path("shared/foreign"))) {
            _ = try WrittenPlace.find(tree.path(path + "/file"), makingFolders: true)
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func linkOfAStranger_isFollowed_whereOnlyTheUserMayWrite() throws {
        let tree = try shared()
        try tree.setMode("shared", 0o755)
        _ = try Descriptor.openFolder(tree.path("shared/foreign/deep"))
        #expect(chown(tree.path("shared"), Self.stranger, Self.stranger) == 0)
        let opened = reason { () throws(SystemError) in _ = try Descriptor.openFolder(tree.path("shared/foreign")) }
        #expect(opened?.foreignLink != nil)
    }

    @Test func ownLinks_areFollowedLikeByTheKernel() throws {
        let tree = try TemporaryTree("trusted")
        try tree.makeFolder("a/b/c")
        try tree.link("relative", to: "a/b")
        try tree.link("absolute", to: tree.path("a/b"))
        try tree.link("a/up", to: "../relative/./c")
        try tree.link("twice", to: "a/up/..")
        for path in ["relative", "absolute", "a/up", "twice", "relative/c/..", "a//b/", "a/b/../../absolute/c"] {
            let folder = try Descriptor.openFolder(tree.path(path))
            #expect(try folder.facts().isSameFile(as: FileFacts.of(tree.path(path))), "\(path)")
        }
        _ = try Descriptor.makeFolder(tree.path("relative/new/deep"))
        #expect(tree.exists("a/b/new/deep"))
        _ = try Descriptor.openPlace("/proc/self/cwd")
        _ = try Descriptor.openPlace(".")
    }

    @Test func brokenPaths_areErrors_andMakeNothing() throws {
        let tree = try TemporaryTree("trusted")
        try tree.link("loop", to: "loop")
        try tree.link("nowhere", to: "none/x")
        try tree.write("file", "")
        func errno(_ path: String) -> Int32? {
            reason { () throws(SystemError) in _ = try Descriptor.makeFolder(tree.path(path)) }?.errno
        }
        #expect(errno("loop") == ELOOP && errno("loop/x") == ELOOP)
        #expect(errno("nowhere") == ENOENT && errno("nowhere/x") == ENOENT)
        #expect(errno("file") == ENOTDIR && errno("file/x") == ENOTDIR)
        #expect(reason { () throws(SystemError) in _ = try Descriptor.makeFolder("") }?.errno == ENOENT)
        #expect(tree.list() == ["file", "loop@", "nowhere@"])
    }

    @Test func placesOfOutputs_areToldByWhatIsThere() throws {
        let tree = try TemporaryTree("places")
        try tree.write("file", "x")
        try tree.makeFolder("folder")
        try tree.link("link", to: "folder/new")
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        let file = try Descriptor.open(tree.path("file"), O_RDONLY)
        func kind(_ path: String) throws -> WrittenPlace.Kind { try WrittenPlace.find(path).kind }
        #expect(try kind(tree.path("none")) == .nothing && kind(tree.path("file")) == .file)
        #expect(try kind(tree.path("folder")) == .folder && kind(tree.path("pipe")) == .other)
        #expect(try kind("/dev/null") == .device && kind("/dev/fd/\(file.raw)") == .given)
        #expect(try WrittenPlace.find(tree.path("link")).path() == tree.path("folder/new"))
        #expect(throws: WrittenPlace.Problem.noName) { _ = try WrittenPlace.find(tree.path("folder/")) }
        #expect(throws: WrittenPlace.Problem.self) { _ = try WrittenPlace.find(tree.path("x/y/z")) }
        #expect(try WrittenPlace.find(tree.path("x/y/z"), makingFolders: true).kind == .nothing)
        #expect(tree.list("x") == ["y/"])
        // A pipe that came under the name meanwhile is not waited for.
        let place = try WrittenPlace.find(tree.path("late"))
        #expect(mkfifo(tree.path("late"), 0o600) == 0)
        #expect(throws: SystemError.self) { _ = try place.open(O_CREAT, mode: 0o600) }
    }
}
