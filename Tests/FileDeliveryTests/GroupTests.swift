import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Groups that nobody hinders.
@Suite(.serialized) struct GroupTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("group") }

    @Test(arguments: Standing.allCases, [false, true])
    func nothingIsSeenBeforeAllIsThere(standing: Standing, lacksUnnamedFiles: Bool) throws {
        try standing.prepare(tree, ["a": "old a", "other": "kept"])
        let before = try tree.texts("site")
        let stage = try GroupStage(tree, flush: true, lacksUnnamedFiles: lacksUnnamedFiles)
        let first = try stage.stage("a", "new ", "a")
        #expect(first.bytes == 5 && first.changed && first.path == tree.path("site/a"))
        try stage.stage("sub/deep/b", "new b")
        #expect(try tree.texts("site") == before)
        #expect(try stage.publish() == nil)
        var after = ["a": "new a", "sub/": "", "sub/deep/": "", "sub/deep/b": "new b"]
        if standing != .nothing { after["other"] = "kept" }
        #expect(try tree.texts("site") == after)
        #expect(tree.leftovers == [])
        if standing != .nothing { #expect(try stage.stage("a", "new a").changed == false) }
    }

    @Test(arguments: [Standing.folder, .link]) func onlyMembersStayWithRemove(standing: Standing) throws {
        try standing.prepare(tree, ["a": "old", "gone": "x", "sub/b": "kept", "sub/gone": "x", "deep/er/gone": "x"])
        try tree.makeFolder("site/empty")
        try tree.link("site/link", to: "a")
        #expect(mkfifo(tree.path("site/pipe"), 0o600) == 0)
        let stage = try GroupStage(tree, extraneous: .remove)
        let inode = try tree.inode("site/sub/b")
        try stage.stage("a", "new")
        #expect(try stage.keep("sub/b").bytes == 4)
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "new", "sub/": "", "sub/b": "kept"])
        #expect(stage.removed?.count == 5)
        #expect(stage.removed?.named.sorted() == ["deep/er/gone", "gone", "link", "pipe", "sub/gone"])
        #expect(try tree.inode("site/sub/b") == inode)
        #expect(tree.leftovers == [])
    }

    /// Of eight files the new set replaces one and keeps one; four lie where no member is, two of them in a folder of
    /// their own, and two more are a symlink and a file where a member's folder will be.
    @Test(arguments: [
        (GroupSpecification.RemovalLimit.count(6), true), (.count(5), false), (.count(0), false),
        (.percent(75), true), (.percent(74.9), false), (.percent(100), true),
    ])
    func moreRemovalsThanTheLimitAllows_publishNothing(
        _ limit: GroupSpecification.RemovalLimit, _ isPublished: Bool
    ) throws {
        let old = ["a": "old", "b": "kept", "gone": "x", "sub": "a file", "deep/er/one": "x", "deep/two": "x"]
        try Standing.folder.prepare(tree, old)
        try tree.write("site/here/gone", "x")
        try tree.link("site/link", to: "a")
        let before = try tree.texts("site")
        let stage = try GroupStage(tree, extraneous: .remove, maximumRemovals: limit)
        try stage.stage("a", "new")
        try stage.stage("sub/new", "new")
        try stage.stage("here/new", "new")
        try stage.keep("b")
        let error = try stage.publish()
        #expect((error == nil) == isPublished)
        if let error {
            #expect(error.name == .groupNotPublished && error.message.hasPrefix("6 of the 8 files"), "\(error)")
            #expect(try tree.texts("site") == before)
        } else {
            #expect(
                try tree.texts("site") == [
                    "a": "new", "b": "kept", "sub/": "", "sub/new": "new", "here/": "", "here/new": "new",
                ])
        }
        #expect(tree.leftovers == [])
    }

    /// What a member of the job wrote that is not in this run is named by a member all the same.
    @Test(arguments: [Standing.folder, .link]) func whatAbsentMembersWroteStays(standing: Standing) throws {
        try standing.prepare(
            tree,
            [
                "a": "old", "b": "kept", "gone": "x", "sub/b": "kept", "sub/gone": "x", "all/b/c": "kept",
                "all/d": "kept",
            ])
        try tree.makeFolder("site/away")
        try tree.makeFolder("site/all/empty")
        let stage = try GroupStage(tree, extraneous: .remove)
        try stage.stage("a", "new")
        #expect(try stage.publish(absent: ["b", "sub/b", "never/was", "away", "all/"]) == nil)
        #expect(
            try tree.texts("site") == [
                "a": "new", "b": "kept", "sub/": "", "sub/b": "kept", "all/": "", "all/b/": "", "all/b/c": "kept",
                "all/d": "kept", "all/empty/": "",
            ])
        // Nobody knows what it wrote: all may be.
        try stage.stage("a", "newer")
        #expect(try stage.publish(absent: [nil]) == nil)
        #expect(try tree.texts("site").count == 9 && tree.text("site/a") == "newer")
        try stage.keep("a")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "newer"])
        #expect(tree.leftovers == [])
    }

    /// Links of one name in several folders may lead to trees beside each other: nobody takes another's away.
    @Test func treesOfAnotherLinkStay() throws {
        for number in 1...2 {
            try tree.write("data/r\(number)/a", "0")
            try tree.makeFolder("w\(number)")
            try tree.link("w\(number)/site", to: "../data/r\(number)")
        }
        var told = ["0", "0"]
        for (round, number) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)] {
            let desk = try Desk(run: "run\(round)000\(number)state")
            desk.submit(.sweep(keeping: []))
            let place = GroupPlace(index: GroupIndex(raw: 3), folder: tree.path("w\(number)/site"))
            var destination = Destination(path: tree.path("w\(number)/site/a"))
            destination.group = place
            desk.submit(
                .publish(
                    .init(
                        TaskIndex(raw: 1), desk.staging(), destination, rest: .bytes(bytes("\(round)")),
                        lengthUnverified: false)))
            guard case .staged = try desk.next() else { throw Desk.Silence() }
            desk.submit(.publishGroup(place))
            guard case .groupPublished(_, nil, _) = try desk.next() else { throw Desk.Silence() }
            desk.finish()
            told[number - 1] = "\(round)"
            #expect(try [tree.text("w1/site/a"), tree.text("w2/site/a")] == told)
        }
        // One tree for each, and what was there first.
        #expect(tree.list("data").filter { $0.hasSuffix("/") && !$0.dropLast().contains("/") }.count == 4)
    }

    /// A tree that a killed run left goes with the next, if it is this link's.
    @Test func aTreeThatWasLeftGoes() throws {
        try Standing.link.prepare(tree, ["a": "1"])
        let stopped = try GroupStage(tree) { $0 != .confirmed }
        try stopped.stage("a", "2")
        stopped.desk.submit(.publishGroup(stopped.place))
        stopped.desk.finish()
        let second = try tree.target("site")
        let stage = try GroupStage(tree) { $0 != .confirmed }
        try stage.stage("a", "3")
        stage.desk.submit(.publishGroup(stage.place))
        stage.desk.finish()
        let third = try tree.target("site")
        #expect(third != second && tree.exists(second))
        let last = try GroupStage(tree)
        last.desk.submit(.sweep(keeping: []))
        try last.stage("b", "4")
        #expect(try last.publish() == nil)
        last.desk.finish()
        #expect(try !tree.exists(second) && !tree.exists(third) && tree.texts("site") == ["a": "3", "b": "4"])
    }

    /// One user more may read.
    private static let list: [UInt8] =
        [2, 0, 0, 0] + [1, 0, 7, 0, 255, 255, 255, 255] + [2, 0, 5, 0, 232, 3, 0, 0]
        + [4, 0, 5, 0, 255, 255, 255, 255] + [16, 0, 5, 0, 255, 255, 255, 255] + [32, 0, 0, 0, 255, 255, 255, 255]
    private static let lists = ["system.posix_acl_access", "system.posix_acl_default"]

    /// Not every filesystem has them.
    private static var hasAccessLists: Bool {
        guard let tree = try? TemporaryTree("lists"), (try? tree.makeFolder("folder")) != nil else { return false }
        return lists.allSatisfy { tree.setAttribute("folder", $0, list) }
    }

    /// Who may look into a folder is no other after a publication.
    @Test(.enabled(if: hasAccessLists), arguments: [Standing.folder, .link])
    func foldersKeepTheirAttributes(standing: Standing) throws {
        try standing.prepare(tree, ["a": "1", "sub/b": "1"])
        let (list, lists) = (Self.list, Self.lists)
        for folder in ["site", "site/sub"] {
            #expect(lists.allSatisfy { tree.setAttribute(folder, $0, list) })
        }
        let hasOwn = tree.setAttribute("site/sub", "user.note", [1, 2])
        let stage = try GroupStage(tree)
        try stage.stage("sub/b", "2")
        #expect(try stage.publish() == nil)
        for folder in ["site", "site/sub"] { for name in lists { #expect(tree.attribute(folder, name) == list) } }
        #expect(tree.attribute("site/sub", "user.note") == (hasOwn ? [1, 2] : nil))
        #expect(try FileFacts.of(tree.path("site")).permissions == 0o750)
    }

    /// Whatever no member names is what it was: the same files, and folders and links that look the same.
    @Test(arguments: [Standing.folder, .link]) func whatIsCarriedOverIsAsItWas(standing: Standing) throws {
        try standing.prepare(tree, ["file": "content", "sub/file": "content"])
        try tree.makeFolder("site/empty")
        try tree.link("site/out", to: "/etc/passwd")
        try tree.link("site/sub/dangling", to: "../../nowhere")
        try tree.setMode("site/sub", 0o2750)
        try tree.setMode("site/empty", 0o500)
        try tree.setMode("site", 0o555)
        for name in ["site", "site/sub", "site/empty"] {
            try Descriptor.openFolder(tree.path(name)).setModificationTime(nanoseconds: 1_234_567_891_234_567_890)
        }
        let link = try FileFacts(of: "out", in: tree.path("site"))
        let inodes = try ["site/file", "site/sub/file"].map { try tree.inode($0) }
        let stage = try GroupStage(tree)
        try stage.stage("new", "n")
        #expect(try stage.publish() == nil)
        #expect(try ["site/file", "site/sub/file"].map { try tree.inode($0) } == inodes)
        #expect(
            try tree.texts("site") == [
                "file": "content", "sub/": "", "sub/file": "content", "empty/": "", "out@": "/etc/passwd",
                "sub/dangling@": "../../nowhere", "new": "n",
            ])
        #expect(tree.mode("site/sub") == 0o2750 && tree.mode("site/empty") == 0o500)
        #expect(try FileFacts.of(tree.path("site")).permissions == 0o555)
        for name in ["site/sub", "site/empty"] {
            #expect(try FileFacts.of(tree.path(name)).modifiedNanoseconds == 1_234_567_891_234_567_890)
        }
        // Something new is in it.
        #expect(try FileFacts.of(tree.path("site")).modifiedNanoseconds > 1_700_000_000_000_000_000)
        let carried = try FileFacts(of: "out", in: tree.path("site"))
        #expect(carried.modifiedNanoseconds == link.modifiedNanoseconds && carried.owner == link.owner)
        #expect(tree.leftovers == [])
    }

    /// Names are bytes: neither what is no UTF-8 nor what Swift thinks equal may be lost or mixed up.
    @Test func namesAreBytes() throws {
        try Standing.folder.prepare(tree, ["caf\u{E9}": "composed"])
        let site = try Descriptor.openFolder(tree.path("site"))
        let wild = RawName(bytes: [0x61, 0xFF, 0xFE, 0x0A])
        do {
            let file = try Descriptor.open(tree.path("site/x"), O_CREAT | O_RDWR, mode: 0o644)
            try file.writeAll([1])
        }
        try site.rename(RawName("x"), into: site, as: wild)
        let stage = try GroupStage(tree)
        try stage.stage("cafe\u{301}", "decomposed")
        #expect(try stage.publish() == nil)
        let after = try Descriptor.openFolder(tree.path("site"))
        let names = try after.names().sorted()
        // What removes a test's tree knows only text.
        try after.unlink(wild)
        #expect(names == [wild, RawName("cafe\u{301}"), RawName("caf\u{E9}")])
        #expect(try tree.text("site/caf\u{E9}") == "composed" && tree.text("site/cafe\u{301}") == "decomposed")
    }

    @Test func aLinkIsSwitchedAndOnlyOurOwnFoldersGo() throws {
        try Standing.link.prepare(tree, ["a": "1"])
        let stage = try GroupStage(tree)
        try stage.stage("a", "2")
        #expect(try stage.publish() == nil)
        let second = try tree.target("site")
        #expect(second.hasPrefix("releases/site.transfer-run-test0000state-"))
        // The first was somebody's own.
        #expect(try tree.text("releases/first/a") == "1")
        try stage.stage("a", "3")
        #expect(try stage.publish() == nil)
        let third = try tree.target("site")
        #expect(third != second && tree.exists(third) && !tree.exists(second))
        #expect(try tree.text("site/a") == "3")
        #expect(tree.list("releases").filter { !$0.contains("/a") }.sorted() == ["first/", third.dropFirst(9) + "/"])
    }

    /// Absolute, through another link, and with a slash at the end.
    @Test(arguments: ["ABSOLUTE/releases/first", "stable", "./releases/../releases/first/", "stable/"])
    func linksOfManyKinds(text: String) throws {
        try tree.write("releases/first/a", "1")
        try tree.link("stable", to: "releases/first")
        try tree.link("site", to: text.replacing("ABSOLUTE", with: tree.path))
        let stage = try GroupStage(tree)
        try stage.stage("a", "2")
        #expect(try stage.publish() == nil)
        #expect(try tree.text("site/a") == "2" && tree.text("stable/a") == "1")
        #expect(try tree.target("stable") == "releases/first")
        #expect(try tree.target("site").contains("releases/site.transfer-run-test0000state-"))
        #expect(tree.leftovers == [])
    }

    @Test func modesTimesAndChecksumsOfMembers() throws {
        let stage = try GroupStage(tree)
        let abc = Checksum(
            algorithm: .md5,
            bytes: [0x90, 0x01, 0x50, 0x98, 0x3C, 0xD2, 0x4F, 0xB0, 0xD6, 0x96, 0x3F, 0x7D, 0x28, 0xE1, 0x7F, 0x72])
        let record = try stage.stage("a", "a", "bc") {
            $0.checksum = abc
            $0.mode = 0o640
            $0.modificationTime = WallTime(nanoseconds: 5)
        }
        #expect(record.checksum == abc)
        #expect(throws: TransferError.self) { try stage.stage("b", "abd") { $0.checksum = abc } }
        #expect(try stage.publish() == nil)
        #expect(tree.list("site") == ["a"] && tree.mode("site/a") == 0o640)
        #expect(try FileFacts.of(tree.path("site/a")).modifiedNanoseconds == 5)
    }

    @Test func localFilesAreStagedToo() throws {
        try tree.write("source", "text")
        let stage = try GroupStage(tree)
        var destination = Destination(path: tree.path("site/copy"))
        destination.group = stage.place
        stage.desk.submit(.copy(.init(stage.nextTask(), from: tree.path("source"), destination, maximum: nil)))
        #expect(try stage.staged().bytes == 4)
        #expect(!tree.exists("site"))
        #expect(try stage.publish() == nil)
        #expect(try tree.text("site/copy") == "text")
    }

    /// Nothing to do: the folder is not exchanged for one like it.
    @Test(arguments: GroupSpecification.Extraneous.allCases) func unchangedStays(
        extraneous: GroupSpecification.Extraneous
    ) throws {
        try Standing.folder.prepare(tree, ["a": "1", "sub/b": "2"])
        let inode = try tree.inode("site")
        let stage = try GroupStage(tree, extraneous: extraneous)
        try stage.keep("a")
        // Fetched again, and the same.
        #expect(try stage.stage("sub/b", "2").changed == false)
        #expect(try stage.publish() == nil)
        #expect(try tree.inode("site") == inode)
        // A group without members too, whatever it removes.
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "1", "sub/": "", "sub/b": "2"])
        #expect(tree.leftovers == [])
    }

    @Test(arguments: Standing.allCases) func discardLeavesNothing(standing: Standing) throws {
        try standing.prepare(tree, ["a": "1"])
        let before = try tree.texts("")
        let stage = try GroupStage(tree)
        try stage.stage("a", "2")
        try stage.stage("d/e", "2")
        try stage.discard()
        #expect(try tree.texts("") == before)
        // The end of the run does it too.
        try stage.stage("a", "3")
        #expect(!tree.leftovers.isEmpty)
        stage.desk.finish()
        #expect(try tree.texts("") == before)
    }

    @Test func existingIsJudgedAgainstWhatStandsThere() throws {
        try Standing.folder.prepare(tree, ["a": "old", "b": "old"])
        let stage = try GroupStage(tree)
        #expect(stage.failure("a") { $0.existing = .fail } == .destinationExists)
        let skipped = try stage.stage("b", "longer") { $0.existing = .skip }
        #expect(!skipped.changed && skipped.bytes == 3)
        #expect(try stage.stage("c", "new") { $0.existing = .fail }.changed)
        #expect(try stage.stage("d", "new") { $0.existing = .skip }.changed)
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "old", "b": "old", "c": "new", "d": "new"])
    }

    /// A task that comes again, with the next mirror's bytes, replaces what it staged; another task may not.
    @Test func twoTasksNeverShareAPlace() throws {
        let stage = try GroupStage(tree)
        let task = stage.nextTask()
        try stage.stage("a", "1", as: task)
        try stage.stage("a", "2", as: task)
        #expect(stage.failure("a") == .destinationExists)
        #expect(stage.failure("a/below") == .cannotMoveFile)
        try stage.stage("d/x", "1")
        #expect(stage.failure("d") == .destinationExists)
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "2", "d/": "", "d/x": "1"])
    }

    /// Hundreds of levels; the way there is longer than a path may be.
    @Test func deepTrees() throws {
        var folder = try Descriptor.openFolder(tree.makeFolder("site"))
        let name = RawName(String(repeating: "n", count: 20))
        for _ in 0..<400 {
            try folder.makeFolder(name)
            folder = try folder.folder(name)
        }
        try folder.makeLink(RawName("end"), to: RawName("x"))
        for step in ["1", "2"] {
            let stage = try GroupStage(tree)
            try stage.stage("a", step)
            #expect(try stage.publish() == nil)
            stage.desk.finish()
        }
        var found = try Descriptor.openFolder(tree.path("site"))
        for _ in 0..<400 { found = try found.folder(name) }
        #expect(try found.linkTarget(of: RawName("end")) == RawName("x"))
        #expect(try Descriptor.openFolder(tree.path).names() == [RawName("site")])
        // What removes a test's tree goes by paths: leave it none that are too long.
        let last = try GroupStage(tree, extraneous: .remove)
        try last.stage("a", "3")
        #expect(try last.publish() == nil)
        #expect(tree.list() == ["site/", "site/a"])
    }

    /// Whoever reads by path while it is published again and again never finds members of two sets.
    @Test(arguments: [Standing.folder, .link]) func readersSeeOneSetOrTheOther(standing: Standing) throws {
        try standing.prepare(tree, ["a": "0", "b": "0", "c": "0"])
        let ending = Flag()
        let tree = tree
        let mixed = Flag()
        let reader = try Thread(named: "reader") {
            while !ending.isSet {
                // Where the first reads the same before and after, the second came from the same set. A path that was
                // on its way through the old folder may end in nothing.
                guard let first = try? tree.text("site/a"), let second = try? tree.text("site/b"),
                    let again = try? tree.text("site/a")
                else { continue }
                if first == again, first != second { mixed.set() }
            }
        }
        let stage = try GroupStage(tree)
        for round in 1...40 {
            for name in ["a", "b", "c"] { try stage.stage(name, "\(round)") }
            #expect(try stage.publish() == nil)
        }
        ending.set()
        reader.join()
        #expect(!mixed.isSet)
        #expect(try tree.texts("site") == ["a": "40", "b": "40", "c": "40"])
    }
}

extension FileFacts {
    /// Of an entry itself, link or not.
    init(of name: String, in folder: String) throws {
        self = try Descriptor.openFolder(folder).facts(of: RawName(name))
    }
}
