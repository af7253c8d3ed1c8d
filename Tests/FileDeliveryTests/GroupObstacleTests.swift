import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What cannot be published, and what nobody may reach through a group.
@Suite(.serialized) struct GroupObstacleTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("obstacle") }

    // MARK: Members

    @Test(arguments: [
        "../outside", "a/../../outside", "..", "", ".", "a/..", "a\0b",
        "a/" + String(repeating: "x/", count: 3_000) + "b",
    ])
    func membersStayBelowTheFolder(name: String) throws {
        try tree.write("outside", "old")
        try Standing.folder.prepare(tree, ["a/b": "old"])
        let before = try tree.texts("")
        let stage = try GroupStage(tree)
        #expect(stage.failure(name) == .cannotCreateFile)
        #expect(throws: TransferError.self) { try stage.keep(name) }
        try stage.discard()
        #expect(try tree.texts("") == before)
    }

    /// Another folder whose name begins alike is not the group's.
    @Test func aFolderWithALongerName() throws {
        let stage = try GroupStage(tree)
        var destination = Destination(path: tree.path("site2/a"))
        destination.group = stage.place
        stage.desk.submit(
            .publish(.init(stage.nextTask(), stage.desk.staging(), destination, rest: .none, lengthUnverified: false)))
        guard case .failed(_, let error) = try stage.desk.next() else { throw Desk.Silence() }
        #expect(error.name == .cannotCreateFile && error.message.contains("site2/a"))
    }

    /// A link in the folder leads nowhere for a member: not for its bytes, not for what it is compared with.
    @Test func linksInsideAreNotFollowed() throws {
        try tree.write("outside/f", "secret")
        try Standing.folder.prepare(tree)
        try tree.link("site/out", to: "../outside")
        try tree.link("site/file", to: "../outside/f")
        let stage = try GroupStage(tree)
        #expect(stage.failure("out/f") == .cannotMoveFile)
        #expect(throws: TransferError.self) { try stage.keep("out/f") }
        #expect(try stage.stage("file", "secret").changed)
        #expect(try stage.keep("out").changed == false)
        #expect(try stage.publish() == nil)
        #expect(
            try tree.texts("") == [
                "outside/": "", "outside/f": "secret", "site/": "", "site/out@": "../outside", "site/file": "secret",
            ])
        // With `remove` the link is one more file that nobody named.
        let strict = try GroupStage(tree, extraneous: .remove)
        try strict.stage("out/f", "new")
        #expect(try strict.publish() == nil)
        #expect(
            try tree.texts("") == [
                "outside/": "", "outside/f": "secret", "site/": "", "site/out/": "", "site/out/f": "new",
            ])
    }

    @Test func whatNoMemberReplaces() throws {
        try Standing.folder.prepare(tree, ["d/x": "1", "file": "1"])
        #expect(mkfifo(tree.path("site/d/pipe"), 0o600) == 0)
        for existing in ExistingPolicy.allCases {
            let stage = try GroupStage(tree)
            #expect(stage.failure("d") { $0.existing = existing } == .cannotMoveFile)
            #expect(stage.failure("d/pipe") { $0.existing = existing } == .cannotMoveFile)
            #expect(stage.failure("file/below") { $0.existing = existing } == .cannotMoveFile)
        }
        // With `remove` none of these stays anyway.
        let stage = try GroupStage(tree, extraneous: .remove)
        #expect(stage.failure("d") { $0.existing = .fail } == .destinationExists)
        try stage.stage("d", "2")
        try stage.stage("file/below", "2")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["d": "2", "file/": "", "file/below": "2"])
    }

    @Test func whatIsNotThereCannotBeKept() throws {
        try Standing.folder.prepare(tree, ["d/x": "1"])
        let stage = try GroupStage(tree)
        for name in ["none", "d/none", "d"] {
            let error = #expect(throws: TransferError.self) { try stage.keep(name) }
            #expect(error?.name == .groupChanged)
        }
    }

    // MARK: Folders

    private func refusal(_ stage: GroupStage) -> TransferError? {
        #expect(throws: TransferError.self) { try stage.stage("a", "x") }
    }

    @Test func whatCannotBeAGroupsFolder() throws {
        try tree.write("site", "a file")
        #expect(try refusal(GroupStage(tree))?.name == .groupNotPublished)
        tree.remove("site")
        try tree.link("site", to: "nowhere")
        let dangling = try refusal(GroupStage(tree))
        #expect(dangling?.name == .groupNotPublished && dangling?.errno == ENOENT)
        #expect(dangling?.message.contains("nowhere") == true)
        tree.remove("site")
        try tree.link("site", to: "/")
        #expect(try refusal(GroupStage(tree))?.errno == EBUSY)
        tree.remove("site")
        try tree.write("file", "")
        try tree.link("site", to: "file")
        #expect(try refusal(GroupStage(tree))?.errno == ENOTDIR)
        #expect(tree.list() == ["file", "site@"])
    }

    /// The old tree goes away: not under the feet of this very process.
    @Test(arguments: ["", "/"]) func theWorkingFolder(end: String) throws {
        let working = try #require(try Folders.working())
        try tree.link("site", to: working + end)
        let error = try refusal(GroupStage(tree))
        #expect(error?.errno == EBUSY && error?.message.contains(working) == true)
    }

    /// It fails before anything changes, and says which.
    @Test(arguments: [Standing.folder, .link]) func aPipeCannotBeCarriedOver(standing: Standing) throws {
        try standing.prepare(tree, ["a": "1", "d/b": "1"])
        #expect(mkfifo(tree.path("site/d/pipe"), 0o600) == 0)
        let before = tree.list()
        let inode = try tree.inode("site")
        let stage = try GroupStage(tree)
        try stage.stage("a", "2")
        let error = try stage.publish()
        #expect(error?.name == .groupNotPublished && error?.errno == ENOTSUP)
        #expect(error?.message.contains("site/d/pipe") == true)
        #expect(tree.list() == before)
        #expect(try tree.inode("site") == inode && tree.text("site/a") == "1")
        // The group can be staged again.
        tree.remove("site/d/pipe")
        try stage.stage("a", "3")
        #expect(try stage.publish() == nil)
        #expect(try tree.text("site/a") == "3")
    }

    @Test(.enabled(if: Mounting.isAllowed)) func mountPoints() throws {
        try Standing.folder.prepare(tree, ["a": "1", "d/b": "1"])
        try tree.write("elsewhere/f", "precious")
        let inner = tree.path("site/d")
        // The same filesystem, once more: no number of a device tells it apart.
        try #require(mount(tree.path("elsewhere"), inner, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(inner, Int32(MNT_DETACH)) }
        for extraneous in GroupSpecification.Extraneous.allCases {
            let stage = try GroupStage(tree, extraneous: extraneous)
            try stage.stage("a", "2")
            let error = try stage.publish()
            #expect(error?.name == .groupNotPublished && error?.errno == EXDEV)
            #expect(error?.message.contains("site/d") == true)
            #expect(tree.leftovers == [])
            #expect(try tree.text("site/a") == "1" && tree.text("elsewhere/f") == "precious")
        }
        let site = tree.path("site")
        try #require(mount("tmpfs", site, "tmpfs", 0, "size=64k") == 0)
        defer { umount2(site, Int32(MNT_DETACH)) }
        #expect(try refusal(GroupStage(tree))?.errno == EXDEV)
    }

    /// On a filesystem of its own that has no room for one more folder.
    @Test(.enabled(if: Mounting.isAllowed), arguments: [Standing.folder, .link])
    func aFullDiskInTheMiddleOfThePreparation(standing: Standing) throws {
        let inside = try TemporaryTree("small")
        try #require(mount("tmpfs", inside.path, "tmpfs", 0, "size=1m,nr_inodes=24") == 0)
        defer { umount2(inside.path, Int32(MNT_DETACH)) }
        try standing.prepare(inside, ["a": "1", "d/b": "1", "d/e/c": "1", "d/f/c": "1", "d/g/c": "1"])
        let before = try inside.texts("")
        let stage = try GroupStage(inside)
        try stage.stage("a", "2")
        var fillers = 0
        while (try? inside.write("filler\(fillers)", "")) != nil { fillers += 1 }
        // Room for two folders of the four that are missing.
        for _ in 0..<2 {
            fillers -= 1
            inside.remove("filler\(fillers)")
        }
        let error = try stage.publish()
        #expect(error?.name == .groupNotPublished && error?.errno == ENOSPC)
        for filler in 0..<fillers { inside.remove("filler\(filler)") }
        #expect(try inside.texts("") == before)
    }

    /// A run of the same number was killed and left things under the very names.
    @Test(arguments: Standing.allCases) func leftoversDoNotHurt(standing: Standing) throws {
        try standing.prepare(tree, ["a": "1"])
        for number in 1...3 {
            try tree.write(".transfer-run-test0000state-\(number)/tree/x", "left")
            try tree.makeFolder("releases")
            try tree.write("releases/.transfer-run-test0000state-\(number)/tree/x", "left")
            try tree.write("releases/site.transfer-run-test0000state-\(number)/x", "left")
        }
        let left = tree.list().filter { $0.contains(".transfer-run") }
        let stage = try GroupStage(tree)
        try stage.stage("b", "2")
        #expect(try stage.publish() == nil)
        #expect(try tree.text("site/b") == "2" && !tree.exists("site/x"))
        let new = try standing == .link ? tree.target("site") : "-"
        #expect(tree.list().filter { $0.contains(".transfer-run") && !$0.hasPrefix(new) } == left)
    }

    /// What somebody linked to inside of the tree itself: linking one is no change to the other.
    @Test(arguments: [Standing.folder, .link]) func oneFileWithSeveralNames(standing: Standing) throws {
        try standing.prepare(tree, ["a": "1", "z": "1"])
        for name in ["b", "y"] { #expect(link(tree.path("site/a"), tree.path("site/\(name)")) == 0) }
        let stage = try GroupStage(tree)
        try stage.stage("y", "2")
        try stage.keep("b")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "1", "b": "1", "y": "2", "z": "1"])
        #expect(try tree.inode("site/a") == tree.inode("site/b"))
    }
}
