import Glibc
import SystemIO
import TestSupport
import Testing

struct PrivateFolderTests {
    @Test func makesWhatIsMissingForItsUserAlone() throws {
        let tree = try TemporaryTree()
        let path = tree.path("deep/er/folder")
        let folder = try PrivateFolder.make(path)
        let file = try PrivateFolder.file("a", in: folder, at: path)
        try file.overwrite(Array("longer".utf8))
        try file.overwrite(Array("short".utf8))
        #expect(try tree.text("deep/er/folder/a") == "shortr")
        for made in ["deep", "deep/er", "deep/er/folder"] { #expect(tree.mode(made) == 0o700) }
        #expect(tree.mode("deep/er/folder/a") == 0o600)
        // Both are taken as they are the next time.
        let again = try PrivateFolder.open(path)
        #expect(try PrivateFolder.file("a", in: again, at: path).facts().size == 6)
    }

    @Test func makesAFileOnceAndThenOnlyLooksAtIt() throws {
        let tree = try TemporaryTree()
        let folder = try PrivateFolder.open(tree.path)
        #expect(try PrivateFolder.makeFile("a", in: folder, at: tree.path))
        #expect(tree.mode("a") == 0o600)
        try tree.write("a", "x", mode: 0o644)
        #expect(try !PrivateFolder.makeFile("a", in: folder, at: tree.path))
        #expect(tree.mode("a") == 0o600)
        #expect(try tree.text("a") == "x")
        #expect(try PrivateFolder.look(at: "a", in: folder, at: tree.path).size == 1)
        let missing = #expect(throws: PrivacyProblem.self) {
            try PrivateFolder.look(at: "b", in: folder, at: tree.path)
        }
        #expect(missing?.isMissing == true)
        try tree.setMode("a", 0o660)
        try tree.link("link", to: "a")
        try tree.makeFolder("folder")
        for (name, kind) in [("a", .othersMayWrite), ("link", .wrongKind), ("folder", .wrongKind)]
            as [(String, PrivacyProblem.Kind)]
        {
            let problem = #expect(throws: PrivacyProblem.self) {
                _ = try PrivateFolder.makeFile(name, in: folder, at: tree.path)
            }
            #expect(problem?.kind == kind, "\(name)")
            #expect(throws: PrivacyProblem.self) { try PrivateFolder.look(at: name, in: folder, at: tree.path) }
        }
        #expect(folder.mayWrite("a") && !folder.mayWrite("none"))
    }

    @Test func refusesWhatOthersCanWrite() throws {
        let tree = try TemporaryTree()
        for (name, mode) in [("group", 0o720), ("all", 0o702), ("sticky", 0o1777)] as [(String, UInt32)] {
            try tree.makeFolder(name)
            try tree.setMode(name, mode)
            let problem = #expect(throws: PrivacyProblem.self) { _ = try PrivateFolder.make(tree.path(name)) }
            #expect(problem?.kind == .othersMayWrite)
            #expect(problem?.description == "\(tree.path(name)) can be written by others: `chmod go-w` it")
        }
        try tree.write("own/file", "", mode: 0o620)
        let folder = try PrivateFolder.open(tree.path("own"))
        let problem = #expect(throws: PrivacyProblem.self) {
            _ = try PrivateFolder.file("file", in: folder, at: tree.path("own"))
        }
        #expect(problem?.kind == .othersMayWrite)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away")) func refusesWhatIsAnothers() throws {
        let tree = try TemporaryTree()
        try tree.makeFolder("theirs")
        #expect(chown(tree.path("theirs"), 65534, 65534) == 0)
        let problem = #expect(throws: PrivacyProblem.self) { _ = try PrivateFolder.make(tree.path("theirs")) }
        #expect(problem?.kind == .belongsToAnother)
    }

    @Test func refusesWhatIsNoFolderAndNoFile() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "", mode: 0o600)
        try tree.link("link", to: "file")
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        for name in ["file", "file/below"] {
            let problem = #expect(throws: PrivacyProblem.self) { _ = try PrivateFolder.make(tree.path(name)) }
            #expect(problem?.kind == .wrongKind, "\(name)")
        }
        let folder = try Descriptor.openFolder(tree.path)
        for name in ["link", "pipe"] {
            let problem = #expect(throws: PrivacyProblem.self) {
                _ = try PrivateFolder.file(name, in: folder, at: tree.path)
            }
            #expect(problem?.kind == .wrongKind, "\(name)")
        }
        let missing = #expect(throws: PrivacyProblem.self) { _ = try PrivateFolder.open(tree.path("none")) }
        #expect(missing?.isMissing == true)
    }

    @Test func takesOnlyEmptyFoldersAway() throws {
        let tree = try TemporaryTree()
        try tree.write("full/file", "")
        try tree.makeFolder("empty")
        PrivateFolder.removeIfEmpty([tree.path("full"), tree.path("empty"), tree.path("none")])
        #expect(tree.list() == ["full/", "full/file"])
        let missing = PrivateFolder.missing(tree.path("full/a/b"))
        #expect(missing == [tree.path("full/a/b"), tree.path("full/a")])
        _ = try PrivateFolder.make(tree.path("full/a/b"))
        #expect(PrivateFolder.missing(tree.path("full/a/b")).isEmpty)
        PrivateFolder.removeIfEmpty(missing)
        #expect(tree.list() == ["full/", "full/file"])
    }

    @Test func aLockIsOneOpenings() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "")
        let one = try Descriptor.open(tree.path("file"), O_RDONLY)
        #expect(try one.tryLock())
        #expect(try one.tryLock())
        do {
            let other = try Descriptor.open(tree.path("file"), O_RDONLY)
            #expect(try !other.tryLock())
        }
        let pathOnly: Int32 = 0o10000000  // O_PATH
        let unlockable = try Descriptor.open(tree.path("file"), pathOnly)
        #expect(throws: SystemError(call: "lock", errno: EBADF)) { try unlockable.tryLock() }
    }

    @Test func foldersAreListedAndResolved() throws {
        let tree = try TemporaryTree()
        try tree.write("a/b", "")
        try tree.makeFolder("a/c")
        try tree.link("link", to: "a")
        #expect(Folders.names(in: tree.path("a")).sorted() == ["b", "c"])
        #expect(Folders.names(in: tree.path("none")).isEmpty)
        #expect(Folders.resolved(tree.path("link/../a/./b")) == RawName(tree.path("a/b")))
        #expect(Folders.resolved(tree.path("none")) == nil)
    }
}

struct PollingTests {
    @Test func aWakeEndsAWaitOnceAndForAll() throws {
        let wake = try PollWake()
        let thread = try Thread(named: "waker") {
            wake.signal()
            wake.signal()
        }
        var entries = [wake.entry]
        while !entries[0].isReady { Polling.wait(&entries, milliseconds: 20_000) }
        thread.join()
        wake.clear()
        Polling.wait(&entries, milliseconds: 0)
        #expect(!entries[0].isReady)
    }

    @Test func processesAreKnownByTheirNumber() {
        #expect(CurrentProcess.processExists(CurrentProcess.processID()))
        #expect(CurrentProcess.processExists(1))
        #expect(!CurrentProcess.processExists(.max))
    }
}
