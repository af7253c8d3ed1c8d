import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Verified members of a group that was not published, as the next run finds them.
@Suite(.serialized) struct KeptMembersTests {
    private let tree: TemporaryTree
    private let state: TemporaryTree
    init() throws {
        tree = try TemporaryTree("kept")
        state = try TemporaryTree("kept-state")
    }

    private func keeping(_ maximum: Int64 = 1 << 20, job: String = "nightly") -> KeptPlace {
        KeptPlace(group: tree.path("site"), job: job, state: state.path("state"), maximum: maximum)
    }

    private func stage(
        _ keeping: KeptPlace? = nil, extraneous: GroupSpecification.Extraneous = .keep, hook: GroupHook? = nil
    ) throws -> GroupStage {
        try GroupStage(tree, extraneous: extraneous, keeping: keeping ?? self.keeping(), hook: hook)
    }

    /// The paths of the files that are kept.
    private var kept: [String] {
        let start = "\(keeping().name)/members/"
        return tree.list().filter { $0.hasPrefix(start) && !$0.hasSuffix("/") }.map {
            String($0.dropFirst(start.count))
        }
        .sorted()
    }

    private var isClean: Bool {
        !tree.list().contains { $0.contains(".transfer-run-") } && Folders.names(in: state.path("state/kept")).isEmpty
    }

    /// The stamp that `readStamp` reports of a member.
    private func size(_ stage: GroupStage, _ name: String, _ existing: ExistingPolicy = .revalidate) throws -> Int64? {
        stage.desk.submit(
            .readStamp(
                .init(
                    TaskIndex(raw: 1), path: "\(stage.place.folder)/\(name)", member: GroupMember(stage.place, existing)
                )))
        guard case .stampRead(_, let stamp, _) = try stage.desk.next() else { throw Desk.Silence() }
        return stamp?.size
    }

    @Test(arguments: Standing.allCases)
    func membersOfADiscardedGroup_areTakenByTheNextRun(standing: Standing) throws {
        try standing.prepare(tree, ["a": "old a", "same": "same"])
        let before = try tree.texts("site")
        let first = try stage()
        try first.stage("a", "newer a")
        try first.stage("sub/b", "new b")
        try first.discard()
        first.desk.finish()
        #expect(try tree.texts("site") == before)
        #expect(tree.leftovers == [])
        if standing != .link { #expect(kept == ["a", "sub/b"]) }

        let second = try stage()
        #expect(try size(second, "a") == 7 && size(second, "sub/b") == 5)
        #expect(try second.keep("a").changed)
        #expect(try second.keep("sub/b").bytes == 5)
        try second.stage("c", "c")
        #expect(try second.publish() == nil)
        var after = ["a": "newer a", "sub/": "", "sub/b": "new b", "c": "c"]
        if standing != .nothing { after["same"] = "same" }
        #expect(try tree.texts("site") == after)
        second.desk.finish()
        #expect(tree.leftovers == [])
        #expect(!tree.list().contains { $0.contains("-kept-") })
    }

    @Test func whatARunDoesNotReach_staysKept() throws {
        for number in 1...3 {
            let run = try stage()
            // The run ends without a word about the group.
            try run.stage("m\(number)", "\(number)")
            if number == 3 { try run.keep("m1") }
            run.desk.finish()
        }
        #expect(kept == ["m1", "m2", "m3"])
        let last = try stage()
        for number in 1...3 { #expect(try last.keep("m\(number)").changed) }
        #expect(try last.publish() == nil)
        last.desk.finish()
        #expect(try tree.texts("site") == ["m1": "1", "m2": "2", "m3": "3"])
        #expect(isClean)
    }

    @Test func aMemberThatIsFetchedAgain_takesThePlaceOfTheKeptOne() throws {
        for text in ["first", "second one"] {
            let run = try stage()
            try run.stage("a", text)
            run.desk.finish()
        }
        let last = try stage()
        #expect(try size(last, "a") == 10)
        try last.keep("a")
        #expect(try last.publish() == nil)
        #expect(try tree.text("site/a") == "second one")
    }

    @Test func aKilledRunsTree_isKept() throws {
        let keeping = keeping()
        try tree.write("\(keeping.name)/tree/sub/b", "new b")
        try tree.write("\(keeping.name)/members/a", "new a")
        #expect(chmod(tree.path(keeping.name), 0o700) == 0)
        let stage = try stage()
        #expect(try size(stage, "sub/b") == 5)
        try stage.keep("sub/b")
        try stage.keep("a")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "new a", "sub/": "", "sub/b": "new b"])
    }

    @Test(arguments: [GroupStep.prepared, .swapped])
    func membersOfAGroupThatCannotBePublished_areKept(step: GroupStep) throws {
        try tree.write("site/a", "old")
        let place = tree
        let first = try stage { reached in
            guard reached == step else { return true }
            // Somebody writes into the old tree, which has a temporary name once it is swapped.
            let old = place.list().first { $0.hasSuffix("/a") && place.holds($0, "old") } ?? "?"
            #expect(throws: Never.self) { _ = try place.write("\(old.dropLast())other", "x") }
            return true
        }
        try first.stage("a", "new")
        #expect(try first.publish()?.name == .groupChanged)
        first.desk.finish()
        #expect(try tree.text("site/a") == "old")
        #expect(kept == ["a"])
        #expect(tree.leftovers == [])
        let second = try stage()
        try second.keep("a")
        #expect(try second.publish() == nil)
        #expect(try tree.texts("site") == ["a": "new", "other": "x"])
    }

    @Test func noMoreThanTheMaximum_isKept() throws {
        let run = try stage(keeping(10))
        for name in ["a", "b", "c"] { try run.stage(name, "1234") }
        run.desk.finish()
        #expect(kept.count == 2)
        let none = try GroupStage(tree, folder: "other", keeping: nil)
        try none.stage("a", "x")
        none.desk.finish()
        let little = try stage(keeping(3))
        try little.keep(kept[0])
        little.desk.finish()
        #expect(isClean)
    }

    @Test func membersOlderThanAWeek_areNotKept() throws {
        let first = try stage()
        try first.stage("a", "new")
        first.desk.finish()
        let week: Int64 = 7 * 24 * 60 * 60 * 1_000_000_000
        try Descriptor.openFolder(tree.path("")).setModificationTime(
            of: RawName(keeping().name), nanoseconds: Clocks.wall().nanoseconds - week - 1_000_000_000)
        let second = try stage()
        #expect(try size(second, "a") == nil)
        second.desk.finish()
    }

    /// A run of any job that writes beside it.
    @Test func anotherRun_sweepsWhatIsOlderThanAWeek_andNothingElse() throws {
        for (job, days) in [("old", 8), ("new", 6)] as [(String, Int64)] {
            let run = try stage(keeping(job: job))
            try run.stage("a", "new")
            run.desk.finish()
            try Descriptor.openFolder(tree.path("")).setModificationTime(
                of: RawName(keeping(job: job).name),
                nanoseconds: Clocks.wall().nanoseconds - days * 24 * 60 * 60 * 1_000_000_000)
        }
        let desk = try Desk()
        desk.submit(.sweep(keeping: []))
        _ = try desk.publish([bytes("x")], to: tree.path("file"))
        desk.finish()
        #expect(!tree.exists(keeping(job: "old").name))
        #expect(tree.exists(keeping(job: "new").name))
    }

    @Test func aFolderThatOthersMayReadIn_isNotUsed() throws {
        let keeping = keeping()
        try tree.write("\(keeping.name)/members/a", "planted")
        #expect(chmod(tree.path(keeping.name), 0o755) == 0)
        let stage = try stage()
        #expect(try size(stage, "a") == nil)
        try stage.stage("a", "good")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": "good"])
        #expect(tree.exists("\(keeping.name)/members/a"))
    }

    @Test func aFolderThatIsALink_isNotUsed() throws {
        try tree.write("elsewhere/members/a", "planted")
        #expect(chmod(tree.path("elsewhere"), 0o700) == 0)
        try tree.link(keeping().name, to: "elsewhere")
        let stage = try stage()
        #expect(try size(stage, "a") == nil)
        try stage.stage("b", "good")
        stage.desk.finish()
        #expect(try tree.texts("elsewhere") == ["members/": "", "members/a": "planted"])
    }

    @Test func whatARunHasLocked_isLeftAlone() throws {
        let first = try stage()
        try first.stage("a", "first")
        let second = try stage()
        #expect(try size(second, "a") == nil)
        try second.stage("a", "second")
        #expect(try second.publish() == nil)
        second.desk.finish()
        first.desk.finish()
        #expect(try tree.text("site/a") == "second")
        #expect(kept == ["a"])
        #expect(tree.leftovers == [])
    }

    @Test func existingDecides_whetherAKeptFileCounts() throws {
        try tree.write("site/there", "there")
        let first = try stage()
        try first.stage("there", "kept there")
        try first.stage("new", "kept")
        first.desk.finish()
        let stage = try stage()
        #expect(try size(stage, "there") == 10 && size(stage, "new") == 4)
        #expect(try size(stage, "there", .skip) == 5 && size(stage, "new", .skip) == 4)
        #expect(try size(stage, "there", .replace) == 5 && size(stage, "new", .replace) == nil)
        #expect(try size(stage, "there", .fail) == 5 && size(stage, "new", .fail) == nil)
        #expect(try stage.keep("new", .skip).changed)
        #expect(try !stage.keep("there", .skip).changed)
        // Somebody was faster: `skip` protects that file.
        try tree.write("site/new", "theirs")
        #expect(try stage.publish() != nil)
        #expect(try tree.text("site/new") == "theirs")
    }

    @Test(arguments: [true, false]) func aCancelledGroup_keepsNothing(_ hasStaged: Bool) throws {
        let first = try stage()
        try first.stage("a", "new")
        first.desk.finish()
        let second = try stage()
        if hasStaged { try second.stage("b", "new") }
        second.desk.submit(.discardGroup(second.place, keepingMembers: false))
        second.desk.finish()
        #expect(isClean)
    }

    @Test func resetRemovesWhatAJobKeeps() throws {
        for job in ["one", "two"] {
            let run = try stage(keeping(job: job))
            try run.stage("a", "new")
            run.desk.finish()
        }
        KeptPlace.removeAll(of: "one", state: state.path("state"))
        #expect(!tree.exists(keeping(job: "one").name))
        #expect(tree.exists(keeping(job: "two").name))
        KeptPlace.removeAll(of: "two", state: state.path("state"))
        #expect(isClean)
    }
}

extension TemporaryTree {
    fileprivate func holds(_ path: String, _ wanted: String) -> Bool { (try? text(path)) == wanted }
}
