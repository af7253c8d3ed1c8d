import FileDelivery
import Glibc
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Others at work in the folder, and kills, at each step of a publication.
@Suite(.serialized) struct GroupInterferenceTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree("interference") }

    /// What another process may do to the folder.
    enum Meddling: String, CaseIterable, Sendable {
        case newFile, newFileBelow, removal, longerFile, replacedFile, replacedMember, newFolder, removedFolder
        case otherMode, otherLink, folderForFile, replacedFolder

        func happen(_ tree: TemporaryTree) {
            switch self {
            case .newFile: _ = try? tree.write("site/new", "theirs")
            case .newFileBelow: _ = try? tree.write("site/d/e/new", "theirs")
            case .removal: tree.remove("site/kept")
            case .longerFile: _ = try? tree.write("site/d/kept", "much longer")
            case .replacedFile:
                _ = try? tree.write("theirs", "kept")
                rename(tree.path("theirs"), tree.path("site/kept"))
            case .replacedMember: _ = try? tree.write("site/member", "theirs, longer")
            case .newFolder: _ = try? tree.makeFolder("site/d/theirs")
            case .removedFolder: tree.remove("site/empty")
            case .otherMode: try? tree.setMode("site/d", 0o700)
            case .otherLink:
                tree.remove("site/link")
                try? tree.link("site/link", to: "theirs")
            case .folderForFile:
                tree.remove("site/kept")
                _ = try? tree.makeFolder("site/kept")
            case .replacedFolder:
                rename(tree.path("site/d"), tree.path("theirs"))
                _ = try? tree.write("site/d/kept", "kept")
            }
        }
    }

    private func prepare(_ standing: Standing) throws {
        try standing.prepare(tree, ["kept": "kept", "member": "old", "d/kept": "kept", "d/e/kept": "kept"])
        try tree.makeFolder("site/empty")
        try tree.link("site/link", to: "kept")
    }

    @Test(
        arguments: [Standing.folder, .link],
        Meddling.allCases.flatMap { meddling in [GroupStep.prepared, .looked].map { (meddling, $0) } })
    func whatOthersDoIsNotLost(standing: Standing, case pair: (Meddling, GroupStep)) throws {
        let (meddling, step) = pair
        for extraneous in GroupSpecification.Extraneous.allCases {
            for name in tree.list() where !name.dropLast().contains("/") {
                tree.remove(name.filter { !"/@".contains($0) })
            }
            try prepare(standing)
            let after = Snapshots()
            let once = Flag()
            let tree = tree
            let stage = try GroupStage(tree, extraneous: extraneous) { now in
                if now == step, once.take() {
                    meddling.happen(tree)
                    after.take(tree)
                }
                return true
            }
            try stage.stage("member", "new member")
            try stage.stage("d/member", "new member")
            let error = try stage.publish()
            #expect(error?.name == .groupChanged, "\(meddling) \(extraneous)")
            #expect(error?.message.contains("site") == true)
            #expect(try tree.texts("site") == after.texts)
            #expect(tree.leftovers == [] && tree.list("releases").allSatisfy { $0.hasPrefix("first") })
            // Left alone, it goes through.
            try stage.stage("member", "new member")
            #expect(try stage.publish() == nil)
            #expect(try tree.text("site/member") == "new member")
        }
    }

    /// Whoever still has a folder of the old tree open writes into it after the swap: seen in time.
    @Test(arguments: [Standing.folder, .link]) func aWriterInTheOldTree(standing: Standing) throws {
        try prepare(standing)
        let old = try Descriptor.openFolder(tree.path("site/d"))
        let raw = old.raw
        let once = Flag()
        let stage = try GroupStage(tree) { step in
            if step == .swapped, once.take() { close(openat(raw, "theirs", O_CREAT | O_WRONLY, 0o600)) }
            return true
        }
        let inode = try tree.inode("site/d")
        try stage.stage("member", "new")
        #expect(try stage.publish()?.name == .groupChanged)
        #expect(try tree.inode("site/d") == inode && tree.exists("site/d/theirs"))
        #expect(try tree.text("site/member") == "old")
        #expect(tree.leftovers == [] && tree.list("releases").allSatisfy { $0.hasPrefix("first") })
        if standing == .link { #expect(try tree.target("site") == "releases/first") }
        withExtendedLifetime(old) {}
    }

    /// Without an exchange of names a link can still be switched, and back.
    @Test func withoutExchange() throws {
        try prepare(.link)
        let old = try Descriptor.openFolder(tree.path("site/d"))
        let raw = old.raw
        let once = Flag()
        let stage = try GroupStage(tree, flush: true, lacksExchange: true) { step in
            if step == .swapped, once.take() { close(openat(raw, "theirs", O_CREAT | O_WRONLY, 0o600)) }
            return true
        }
        try stage.stage("member", "new")
        #expect(try stage.publish()?.name == .groupChanged)
        #expect(try tree.text("site/member") == "old" && tree.target("site") == "releases/first")
        #expect(tree.leftovers == [] && tree.list("releases").allSatisfy { $0.hasPrefix("first") })
        try stage.stage("member", "new")
        #expect(try stage.publish() == nil)
        #expect(try tree.text("site/member") == "new" && tree.target("site") != "releases/first")
        #expect(tree.leftovers == [])
        withExtendedLifetime(old) {}
    }

    /// Then a link that comes just before is seen, and a folder cannot be exchanged at all.
    @Test func withoutExchangeNothingIsLost() throws {
        try prepare(.link)
        try tree.makeFolder("theirs")
        let tree = tree
        let stage = try GroupStage(tree, lacksExchange: true) { step in
            if step == .looked {
                tree.remove("site")
                try? tree.link("site", to: "theirs")
            }
            return true
        }
        try stage.stage("member", "new")
        #expect(try stage.publish()?.name == .groupChanged)
        #expect(try tree.target("site") == "theirs")
        #expect(tree.leftovers == [] && tree.list("releases").allSatisfy { $0.hasPrefix("first") })
        tree.remove("site")
        rename(tree.path("releases/first"), tree.path("site"))
        let folder = try GroupStage(tree, lacksExchange: true)
        try folder.stage("member", "new")
        let error = try folder.publish()
        #expect(error?.name == .groupNotPublished && error?.message.contains("symlink") == true)
        #expect(try tree.text("site/member") == "old")
        #expect(tree.leftovers == [])
    }

    /// The old tree must come back, and its place is gone: it is kept, and the error says where.
    @Test(arguments: [Standing.folder, .link]) func whenThereIsNoWayBack(standing: Standing) throws {
        try prepare(standing)
        let old = try Descriptor.openFolder(tree.path("site"))
        let raw = old.raw
        let tree = tree
        let stage = try GroupStage(tree) { step in
            if step == .swapped {
                close(openat(raw, "theirs", O_CREAT | O_WRONLY, 0o600))
                rename(tree.path("site"), tree.path("away"))
            }
            return true
        }
        try stage.stage("member", "new")
        let error = try stage.publish()
        let place = try old.path().description
        #expect(error?.name == .groupNotPublished && error?.message.contains(place) == true)
        #expect(String(decoding: try TemporaryTree.bytes(at: place + "/member"), as: UTF8.self) == "old")
        #expect(try tree.text("away/member") == "new")
        withExtendedLifetime(old) {}
    }

    /// Somebody puts another folder, link or file in the place of the group's.
    @Test(arguments: Standing.allCases, [GroupStep.prepared, .looked])
    func anotherFolderInItsPlace(standing: Standing, step: GroupStep) throws {
        for theirs in ["folder", "link", "file"] {
            for name in ["site", "releases", "moved", "theirs"] { tree.remove(name) }
            try standing.prepare(tree, ["member": "old"])
            try tree.write("theirs/member", "theirs")
            let once = Flag()
            let tree = tree
            let stage = try GroupStage(tree) { now in
                guard now == step, once.take() else { return true }
                rename(tree.path("site"), tree.path("moved"))
                switch theirs {
                case "folder": rename(tree.path("theirs"), tree.path("site"))
                case "link": try? tree.link("site", to: "theirs")
                default: _ = try? tree.write("site", "theirs")
                }
                return true
            }
            try stage.stage("member", "new")
            #expect(try stage.publish()?.name == .groupChanged, "\(theirs)")
            #expect(try theirs == "file" ? tree.text("site") == "theirs" : tree.text("site/member") == "theirs")
            if standing != .nothing { #expect(try tree.text("moved/member") == "old") }
            #expect(tree.leftovers == [])
        }
    }

    /// Between staging and publishing: what a member was judged by must still hold.
    @Test func whatAMemberWasJudgedByStillHolds() throws {
        try prepare(.folder)
        for change in [
            { [tree] in _ = try? tree.write("site/kept", "changed") },
            { [tree] in tree.remove("site/kept") },
            { [tree] in _ = try? tree.write("site/fresh", "theirs") },
        ] {
            tree.remove("site/fresh")
            try tree.write("site/kept", "kept")
            let stage = try GroupStage(tree)
            try stage.keep("kept")
            try stage.stage("fresh", "ours") { $0.existing = .skip }
            change()
            let before = try tree.texts("site")
            let error = try stage.publish()
            if before["kept"] == nil {
                // Taken away by somebody, and named by the group: it comes back.
                #expect(error == nil)
                #expect(try tree.text("site/kept") == "kept")
            } else {
                #expect(error?.name == .groupChanged)
                #expect(try tree.texts("site") == before)
            }
            #expect(tree.leftovers == [])
        }
    }

    /// The same where nothing else would have to be done.
    @Test func aKeptMemberThatWasTakenAwayComesBack() throws {
        try prepare(.folder)
        let stage = try GroupStage(tree, extraneous: .remove)
        let names = ["kept", "member", "d/kept", "d/e/kept", "link"]
        for name in names { try stage.keep(name) }
        tree.remove("site/d/e")
        tree.remove("site/empty")
        #expect(try stage.publish() == nil)
        #expect(
            try tree.texts("site").keys.sorted() == ["d/", "d/e/", "d/e/kept", "d/kept", "kept", "link@", "member"])
    }

    /// The system stops anywhere: what stands there is the old set or the new, whole, and the next run gets through.
    @Test(arguments: Standing.allCases, GroupStep.allCases) func aKillAtAnyStep(standing: Standing, step: GroupStep)
        throws
    {
        try standing.prepare(tree, ["member": "old", "kept": "kept", "d/kept": "kept"])
        let before = standing == .nothing ? [:] : try tree.texts("site")
        var after = before
        after["member"] = "new"
        let reached = Flag()
        let killed = try GroupStage(tree) { now in
            guard now == step else { return true }
            reached.set()
            return false
        }
        try killed.stage("member", "new")
        killed.desk.submit(.publishGroup(killed.place))
        killed.desk.finish()
        #expect(reached.isSet)
        let isSwapped = step == .swapped || step == .confirmed
        #expect(try tree.texts("site") == (isSwapped ? after : before))
        let stage = try GroupStage(tree)
        try stage.stage("member", "newer")
        #expect(try stage.publish() == nil)
        after["member"] = "newer"
        #expect(try tree.texts("site") == after)
    }
}

/// What a tree looked like when somebody had meddled with it.
final class Snapshots: Sendable {
    private let box = Mailbox<[String: String]>()
    func take(_ tree: TemporaryTree) { if let texts = try? tree.texts("site") { box.post(texts) } }
    /// Once.
    var texts: [String: String] { box.takeAll().last ?? [:] }
}
