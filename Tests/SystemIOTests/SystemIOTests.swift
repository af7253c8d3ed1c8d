import Glibc
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

struct DescriptorTests {
    @Test func writesAllAndReadsBack() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        var random = Seeded("writesAllAndReadsBack")
        let bytes = random.bytes(300_000)
        do {
            let file = try folder.open("a", O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            try file.writeAll(bytes)
            var piece = [UInt8](repeating: 0, count: 1000)
            let count = try piece.withUnsafeMutableBytes { try file.read(into: $0, at: 299_500) }
            #expect(count == 500 && piece[..<500] == bytes[299_500...])
            #expect(try file.facts().size == 300_000)
        }
        #expect(try tree.bytes("a") == bytes)
    }

    @Test func closesWhenItsOwnerLetsGo() throws {
        let tree = try TemporaryTree()
        var raw: Int32 = -1
        do { raw = try Descriptor.openFolder(tree.path).raw }
        // The number may have been given out anew by another test; then it is no longer this folder.
        let again = "/proc/self/fd/\(raw)"
        #expect((try? FileFacts.of(again))?.inode != (try FileFacts.of(tree.path)).inode)
    }

    @Test func unnamedFilesLeaveNothing() throws {
        let tree = try TemporaryTree()
        let folder = try Descriptor.openFolder(tree.path)
        do {
            let file = try folder.openUnnamed(mode: 0o644)
            try file.writeAll([1, 2, 3])
            #expect(tree.list().isEmpty)
            try file.link(into: folder, as: "named")
            #expect(throws: SystemError(call: "link", errno: EEXIST)) { try file.link(into: folder, as: "named") }
        }
        #expect(try tree.bytes("named") == [1, 2, 3])
        do { _ = try folder.openUnnamed(mode: 0o644) }
        #expect(tree.list() == ["named"])
    }

    @Test func renamesOnlyWhatIsFree() throws {
        let tree = try TemporaryTree()
        try tree.write("from/a", "a")
        try tree.write("to/b", "b")
        let from = try Descriptor.openFolder(tree.path("from"))
        let to = try Descriptor.openFolder(tree.path("to"))
        #expect(throws: SystemError(call: "rename", errno: EEXIST)) { try from.renameIfFree("a", into: to, as: "b") }
        try from.renameIfFree("a", into: to, as: "c")
        try to.rename("c", into: from, as: "d")
        #expect(tree.list() == ["from/", "from/d", "to/", "to/b"])
        #expect(throws: SystemError(call: "unlink", errno: ENOENT)) { try to.unlink("c") }
    }

    @Test(arguments: [0, 1_795_244_400_123_456_789, -1, -1_500_000_000, 86_400_000_000_000] as [Int64])
    func modificationTimes(nanoseconds: Int64) throws {
        let tree = try TemporaryTree()
        try tree.write("a", "")
        let file = try Descriptor.open(tree.path("a"), O_RDONLY)
        try file.setModificationTime(nanoseconds: nanoseconds)
        #expect(try file.facts().modifiedNanoseconds == nanoseconds)
    }

    @Test func errorsNameTheCall() {
        let error = #expect(throws: SystemError.self) { _ = try Descriptor.openFolder("/nowhere/at/all") }
        #expect(error?.errno == ENOENT && error?.description == "open: No such file or directory")
    }

    @Test func factsTellKindsApart() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "four")
        try tree.link("link", to: "file")
        let folder = try Descriptor.openFolder(tree.path)
        #expect(try folder.facts(of: "link").isLink && folder.facts(of: "file").isRegular)
        #expect(try folder.facts(of: "link", followingLinks: true).size == 4)
        #expect(try folder.facts().isFolder)
    }
}

struct WholeFileTests {
    @Test func readsRegularFilesUpToALimit() throws {
        let tree = try TemporaryTree()
        try tree.write("a", "12345")
        #expect(try WholeFile.read(tree.path("a"), limit: 5) == Array("12345".utf8))
        #expect(throws: WholeFile.Problem.tooLarge) { try WholeFile.read(tree.path("a"), limit: 4) }
        #expect(throws: WholeFile.Problem.notFound) { try WholeFile.read(tree.path("b"), limit: 4) }
        #expect(throws: WholeFile.Problem.notFound) { try WholeFile.read(tree.path("a/b"), limit: 4) }
        try tree.write("empty", "")
        #expect(try WholeFile.read(tree.path("empty"), limit: 0).isEmpty)
    }

    /// None of them is waited for.
    @Test func refusesWhatIsNoRegularFile() throws {
        let tree = try TemporaryTree()
        #expect(mkfifo(tree.path("pipe"), 0o600) == 0)
        for path in [tree.path, tree.path("pipe"), "/dev/zero", "/dev/null"] {
            #expect(throws: WholeFile.Problem.notRegular) { try WholeFile.read(path, limit: 100) }
        }
    }

    @Test func readsWhatHasNoSize() throws {
        let status = try WholeFile.read("/proc/self/status", limit: 1 << 20)
        #expect(String(decoding: status, as: UTF8.self).contains("Pid:\t\(getpid())"))
        #expect(throws: WholeFile.Problem.tooLarge) { try WholeFile.read("/proc/self/status", limit: 10) }
    }

    @Test func listsRegularFilesBelow() throws {
        let tree = try TemporaryTree()
        for name in ["a", "d/b", "d/e/c", "d/e/f/g"] { try tree.write(name, "") }
        try tree.link("link", to: "a")
        try tree.link("d/loop", to: "..")
        try tree.link("d/gone", to: "nowhere")
        let all = ["a", "d/b", "d/e/c", "d/gone", "link"]
        #expect(try WholeFile.list(tree.path, depth: 3).map(\.description).sorted() == all)
        #expect(try WholeFile.list(tree.path, depth: 1).map(\.description).sorted() == ["a", "link"])
        #expect(throws: WholeFile.Problem.notFound) { try WholeFile.list(tree.path("none"), depth: 1) }
        #expect(throws: WholeFile.Problem.self) { try WholeFile.list(tree.path("a"), depth: 1) }
    }

    @Test func listsNamesThatAreNoText() throws {
        let tree = try TemporaryTree()
        let folder = Array("\(tree.path)/d".utf8) + [0xFF]
        let file = (folder + Array("/x".utf8) + [0xFE]).map { CChar(bitPattern: $0) } + [0]
        try #require(mkdir(folder.map { CChar(bitPattern: $0) } + [0], 0o700) == 0)
        close(creat(file, 0o600))
        defer {
            unlink(file)
            rmdir(folder.map { CChar(bitPattern: $0) } + [0])
        }
        #expect(try WholeFile.list(tree.path, depth: 2) == [RawName(bytes: [0x64, 0xFF, 0x2F, 0x78, 0xFE])])
        #expect(Folders.names(in: tree.path).isEmpty)
        let found = try #require(Folders.resolved(RawName(bytes: folder + Array("/.".utf8))))
        #expect(Array(found.bytes) == folder)
        #expect(found.text == nil)
        #expect(throws: NotText(folder)) { try found.asText() }
    }
}

struct FoldersTests {
    @Test(arguments: ["a/b/c", "a//b///c/", "x/\u{301}y/z", "one"]) func makesWhatIsMissing(path: String) throws {
        let tree = try TemporaryTree()
        _ = try Descriptor.makeFolder(tree.path(path))
        _ = try Descriptor.makeFolder(tree.path(path))
        #expect(try FileFacts.of(tree.path(path)).isFolder)
    }

    @Test func cannotMakeBelowAFile() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "")
        #expect(throws: SystemError(call: "open", errno: ENOTDIR)) {
            _ = try Descriptor.makeFolder(tree.path("file/x"))
        }
        #expect(throws: SystemError.self) { _ = try Descriptor.makeFolder("") }
    }

    @Test(arguments: [
        ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/", "a", ""), ("/a//b", "/a/", "b"),
        ("/a/\u{301}b", "/a", "\u{301}b"),
    ]) func splits(path: String, folder: String, name: String) {
        let parts = Folders.split(path)
        #expect(Array(parts.folder.utf8) == Array(folder.utf8) && Array(parts.name.utf8) == Array(name.utf8))
        let raw = Folders.split(RawName(path))
        #expect(raw.folder == RawName(folder) && raw.name == RawName(name))
    }

    @Test func resolvesWhatIsThereOfAPath() throws {
        let tree = try TemporaryTree()
        try tree.makeFolder("a")
        try tree.link("link", to: "a")
        func resolved(_ path: String) -> String { Folders.resolvedAsFarAsThere(RawName(path)).description }
        #expect(resolved(tree.path("link/x/y")) == tree.path("a/x/y"))
        #expect(resolved(tree.path("link")) == tree.path("a"))
        #expect(resolved("/no/such") == "/no/such")
        let working = try #require(try Folders.working())
        #expect(resolved("no-such") == RawName(working).appending(RawName("no-such")).description)
    }

    @Test(arguments: [
        ("/a/b", "/a", true), ("/a", "/a", true), ("/a", "/", true), ("/ab", "/a", false), ("/", "/a", false),
        ("/a/\u{301}b", "/a", true),
    ]) func knowsWhatLiesWhere(path: String, folder: String, isThere: Bool) {
        #expect(Folders.isAt(RawName(path), orIn: RawName(folder)) == isThere)
    }
}

struct ThreadingTests {
    @Test func aMailboxLosesNothingAndKeepsEachSendersOrder() throws {
        let wake = WakeSignal()
        let box = Mailbox<Int>(wake: { wake.signal() })
        let threads = try (0..<4).map { sender in
            try Thread(named: "sender-with-a-long-name") {
                for number in 0..<2_000 {
                    let value = sender * 10_000 + number * 2
                    if number % 3 == 0 {
                        box.post([value, value + 1])
                    } else {
                        box.post(value)
                        box.post(value + 1)
                    }
                }
            }
        }
        var next = [0, 0, 0, 0]
        while next.reduce(0, +) < 16_000 {
            // Were a wake-up lost, this would not be.
            #expect(wake.wait(nanoseconds: 20_000_000_000))
            for value in box.takeAll() {
                #expect(value % 10_000 == next[value / 10_000])
                next[value / 10_000] += 1
            }
        }
        for thread in threads { thread.join() }
        #expect(box.takeAll().isEmpty)
    }

    @Test func onlyAnEmptyBoxWakes() {
        let wakes = Atomic<Int>(0)
        let box = Mailbox<Int>(wake: { wakes.add(1, ordering: .relaxed) })
        box.post(1)
        box.post([2, 3])
        box.post([])
        #expect(wakes.load(ordering: .relaxed) == 1)
        #expect(box.takeAll() == [1, 2, 3])
        box.post([4])
        #expect(wakes.load(ordering: .relaxed) == 2)
    }

    @Test func aSignalWaitsForItsSleeper() {
        let signal = WakeSignal()
        #expect(!signal.wait(nanoseconds: 0))
        let before = Clocks.instant()
        #expect(!signal.wait(nanoseconds: 20_000_000))
        #expect((Clocks.instant() - before).nanoseconds >= 20_000_000)
        signal.signal()
        signal.signal()
        #expect(signal.wait(nanoseconds: 1_000_000_000) && signal.wait(nanoseconds: 0) && !signal.wait(nanoseconds: 0))
    }

    @Test func clocksGoForward() {
        var last = Clocks.now()
        for _ in 0..<1_000 {
            let now = Clocks.now()
            #expect(now.instant >= last.instant && now.boot >= last.boot && now.boot >= now.instant)
            last = now
        }
        #expect(Clocks.instant() >= last.instant)
        #expect(Clocks.threadTime() <= Clocks.processTime())
        // After 2020, in nanoseconds.
        #expect(last.wall.nanoseconds > 1_577_836_800_000_000_000)
    }

    /// A thread that is made meanwhile gets no signal that is to end the process, and its maker goes on as before.
    @Test func signalsAreHeldBackFromAThreadOnly() throws {
        @Sendable func isHeld(_ number: Int32) -> Bool {
            var set = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &set)
            return sigismember(&set, number) == 1
        }
        let before = (isHeld(SIGINT), isHeld(SIGTERM))
        let seen = Mutex((false, false))
        let thread = try Signals.holding { () throws(SystemError) in
            try Thread(named: "held") { seen.withLock { $0 = (isHeld(SIGINT), isHeld(SIGTERM)) } }
        }
        thread.join()
        #expect(seen.withLock { $0 } == (true, true))
        #expect((isHeld(SIGINT), isHeld(SIGTERM)) == before)
    }

    /// Of those of this machine a write says all there is to say; of any other nobody knows.
    @Test func whichFilesystemsTellLate() throws {
        let local: [UInt32] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1]
        for number in local { #expect(!FilesystemKind(number: number).tellsLate) }
        // NFS, CIFS and SMB2, FUSE, 9p, Ceph, AFS; one that is not there yet; one that would not say.
        let others: [UInt32] = [
            0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x1234_5678, 0,
        ]
        for number in others { #expect(FilesystemKind(number: number).tellsLate) }
        // Of what is no regular file system.
        #expect(try FilesystemKind.of(Descriptor.openFolder("/proc")).tellsLate)
    }

    /// The file stays open, and what cannot be asked is an error.
    @Test func whoAsksForLostWritesGoesOnWriting() throws {
        let tree = try TemporaryTree("confirm")
        let file = try Descriptor.open(tree.path("file"), O_WRONLY | O_CREAT, mode: 0o644)
        for word in ["one ", "two"] {
            try file.writeAll(Array(word.utf8))
            try file.confirmWrites()
        }
        #expect(try tree.text("file") == "one two")
        #expect(throws: SystemError(call: "close", errno: EBADF)) { try Descriptor.confirmWrites(-1) }
    }

    @Test func theEnvironmentIsTheProcesss() {
        #expect(CurrentProcess.environment()["PATH"] == getenv("PATH").map { String(cString: $0) })
    }
}
