import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Several runs that publish a group at one place, and those that sweep there.
@Suite(.serialized) struct GroupRivalTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("rivals") }

    /// All that killed runs left beside the folder goes, as another run sees it.
    private static func sweep(_ tree: TemporaryTree, _ standing: Standing) {
        guard let stage = try? GroupStage(tree, run: "rival003other") else { return }
        stage.desk.submit(.sweep(keeping: []))
        // Both are met: the folder of the link, and the one that its trees lie in.
        _ = try? stage.stage("swept", "never published")
        _ = try? stage.discard()
        stage.desk.finish()
    }

    /// While one is at it the other waits, whatever step it came to, and a third takes nothing away: then both sets stand
    /// there.
    @Test(arguments: [Standing.folder, .link], [GroupStep.prepared, .looked, .swapped, .confirmed])
    func oneAfterTheOther(standing: Standing, step: GroupStep) throws {
        let tree = tree
        try standing.prepare(tree, ["kept": "kept", "a": "old"])
        // Of a link the first tree is somebody's, the next is ours and may be swept.
        let first = try GroupStage(tree, run: "rival000state")
        try first.stage("a", "first")
        #expect(try first.publish() == nil)
        first.desk.finish()

        let rival = Rival(try GroupStage(tree, run: "rival001state"))
        try rival.stage.stage("a", "rival")
        try rival.stage.stage("b", "rival")
        let once = Flag()
        let stage = try GroupStage(tree, run: "rival002state") { now in
            if now == step, once.take() {
                rival.submit()
                // Long enough for it, if nothing held it.
                usleep(300_000)
            }
            if now == .swapped || now == .confirmed { Self.sweep(tree, standing) }
            return true
        }
        try stage.stage("c", "ours")
        #expect(try stage.publish() == nil)
        #expect(try rival.stage.published() == nil)
        #expect(try tree.texts("site") == ["a": "rival", "b": "rival", "c": "ours", "kept": "kept"])
        #expect(tree.list().allSatisfy { !$0.contains(".transfer-run-rival") || $0.contains("site.") })
    }

    /// A group above was put in place meanwhile, and the folder that was ours to exchange lies in what goes.
    @Test(arguments: [GroupStep.prepared, .looked]) func whatIsExchangedOutOfSightIsNotPublished(_ step: GroupStep)
        throws
    {
        let tree = tree
        try tree.write("above/site/a", "old")
        let stage = try GroupStage(tree, folder: "above/site") { now in
            if now == step {
                rename(tree.path("above"), tree.path("aside"))
                _ = try? tree.write("above/site/a", "old")
            }
            return true
        }
        try stage.stage("a", "ours")
        #expect(try stage.publish()?.name == .groupChanged)
        #expect(try tree.text("above/site/a") == "old" && tree.text("aside/site/a") == "old")
    }

    /// The name of what is put beside a link is no longer than a name may be.
    @Test func aLinkOfALongName() throws {
        let name = String(repeating: "l", count: 255)
        try tree.write("there/a", "old")
        try tree.link(name, to: "there")
        for text in ["first", "second"] {
            let stage = try GroupStage(tree, folder: name)
            try stage.stage("a", text)
            #expect(try stage.publish() == nil)
            #expect(try tree.text("\(name)/a") == text)
            stage.desk.finish()
        }
        // The first tree was somebody's, the next went with the one after it.
        #expect(tree.list().count { $0.hasSuffix("/a") } == 2)
    }

    /// Handed to the hook, which runs on another thread.
    private final class Rival: @unchecked Sendable {
        let stage: GroupStage
        init(_ stage: GroupStage) { self.stage = stage }
        func submit() { stage.desk.submit(.publishGroup(stage.place)) }
    }

    /// What else there is to do goes on; who has waited long enough says for what.
    @Test(arguments: [Standing.folder, .link]) func theWaitHoldsUpNothingElseAndEnds(standing: Standing) throws {
        try standing.prepare(tree, ["a": "old"])
        let stage = try GroupStage(tree)
        do {
            let held = try Descriptor.openFolder(tree.path("site"))
            #expect(try held.tryLock())
            try stage.stage("a", "new")
            stage.desk.submit(.publishGroup(stage.place))
            for name in ["x", "y"] {
                guard case .success = try stage.desk.publish([bytes(name)], to: tree.path("other/\(name)")) else {
                    throw Desk.Silence()
                }
            }
            #expect(try tree.text("site/a") == "old")
        }
        #expect(try stage.published() == nil)
        #expect(try tree.text("site/a") == "new")

        let held = try Descriptor.openFolder(tree.path("site"))
        // Whoever published lets go of it a moment after saying so.
        #expect(try (0..<5_000).contains { _ in try held.tryLock() || usleep(1_000) != 0 })
        let hurried = try GroupStage(tree, patience: .milliseconds(100))
        try hurried.stage("a", "newer")
        let error = try hurried.publish()
        #expect(error?.name == .groupNotPublished && error?.errno == EWOULDBLOCK)
        #expect(error?.message.contains(tree.path("site")) == true)
        #expect(try tree.text("site/a") == "new" && tree.leftovers == [])
        withExtendedLifetime(held) {}
    }

    /// Whoever gives up finds all as it was, and may publish another time; what is done stays done.
    @Test(arguments: Standing.allCases) func whoGivesUpWaitsNoLonger(standing: Standing) throws {
        try standing.prepare(tree, ["a": "old"])
        let stage = try GroupStage(tree)
        let place = standing == .nothing ? nil : tree.path("site")
        if let place {
            let held = try Descriptor.openFolder(place)
            #expect(try held.tryLock())
            try stage.stage("a", "new")
            stage.desk.submit(.publishGroup(stage.place))
            stage.desk.submit(.giveUpGroup(stage.place))
            let error = try stage.published()
            #expect(error?.name == .cancelled && error?.message.contains(place) == true)
            #expect(try tree.texts("site") == ["a": "old"] && tree.leftovers == [])
        }
        try stage.stage("a", "newer")
        #expect(try stage.publish() == nil)
        stage.desk.submit(.giveUpGroup(stage.place))
        guard case .success = try stage.desk.publish([bytes("x")], to: tree.path("other/x")) else {
            throw Desk.Silence()
        }
        #expect(try tree.texts("site") == ["a": "newer"])
    }

    /// Its lock goes with whoever is killed: nobody waits for it.
    @Test(arguments: [Standing.folder, .link], [GroupStep.prepared, .swapped])
    func whoIsKilledHoldsNobodyUp(standing: Standing, step: GroupStep) throws {
        try standing.prepare(tree, ["a": "old"])
        let killed = try GroupStage(tree, run: "rival001state") { $0 != step }
        try killed.stage("a", "killed")
        killed.desk.submit(.publishGroup(killed.place))
        killed.desk.finish()
        let stage = try GroupStage(tree, patience: .milliseconds(100))
        try stage.stage("b", "new")
        #expect(try stage.publish() == nil)
        #expect(try tree.texts("site") == ["a": step == .swapped ? "killed" : "old", "b": "new"])
    }

    /// The way back would take away what somebody else, who waits for nobody, put there meanwhile; and what was there
    /// before is nobody's leftover.
    @Test(arguments: [Standing.folder, .link]) func theWayBackTakesNothingOfOthersAway(standing: Standing) throws {
        let tree = tree
        try standing.prepare(tree, ["a": "old"])
        if standing == .link {
            // Then the tree that it leads to has a name by which it may be swept.
            let first = try GroupStage(tree, run: "rival000state")
            try first.stage("a", "old")
            try first.stage("b", "old")
            #expect(try first.publish() == nil)
        }
        let old = try Descriptor.openFolder(tree.path("site"))
        let raw = old.raw
        let stage = try GroupStage(tree) { step in
            if step == .swapped {
                close(openat(raw, "changed", O_CREAT | O_WRONLY, 0o600))
                rename(tree.path("site"), tree.path("moved"))
                _ = try? tree.write("theirs/a", "theirs")
                if standing == .link {
                    try? tree.link("site", to: "theirs")
                } else {
                    rename(tree.path("theirs"), tree.path("site"))
                }
            }
            return true
        }
        try stage.stage("a", "new")
        let error = try stage.publish()
        let place = try old.path().description
        #expect(error?.name == .groupNotPublished && error?.message.contains(place) == true)
        #expect(try tree.texts("site") == ["a": "theirs"])
        if standing == .link { rename(tree.path("moved"), tree.path("site")) }
        stage.desk.finish()
        Self.sweep(tree, standing)
        #expect(String(decoding: try TemporaryTree.bytes(at: place + "/a"), as: UTF8.self) == "old")
    }
}
