import Glibc
import RunControl
import Stores
import Synchronization
import SystemIO
import TestSupport
import Testing
import TransferModel

/// Who keeps whom away.
struct LockTests {
    private let tree: TemporaryTree
    init() throws { tree = try TemporaryTree() }

    private func job(
        _ name: String? = nil, file: String = "-", kinds: [SessionConfiguration.Kind] = [.default]
    ) -> Job {
        var job = Job(name: name ?? "stem", file: file, baseDirectory: tree.path)
        job.isNamed = name != nil
        job.sessions = kinds.map { kind in
            var session = SessionConfiguration(name: "s")
            session.kind = kind
            return session
        }
        return job
    }

    private func lock(_ job: Job, file: JobFile? = nil) throws -> (any JobLock)? {
        try JobLocks.lock(of: job, file: file) { () throws(StateFolder.Problem) in
            try StateFolder(directory: tree.path("state"), workingDirectory: "/") { _ in nil }
        }
    }

    private func opened(_ name: String) throws -> JobFile { JobFile(try WholeFile.open(tree.path(name))) }

    @Test func oneAtATimeByName() throws {
        let first = try #require(try lock(job("nightly")))
        let second = try #require(try lock(job("nightly", file: tree.path("other.yaml"))))
        let other = try #require(try lock(job("daily")))
        #expect(try first.attempt() == .taken)
        #expect(try second.attempt() == .held(by: getpid()))
        #expect(try other.attempt() == .taken)
        first.release()
        #expect(try second.attempt() == .taken)
        second.release()
        other.release()
        #expect(tree.list("state/locks").count == 2)
    }

    @Test func theFileIsPrivateAndSaysWhoHoldsIt() throws {
        let lock = try #require(try lock(job("nightly")))
        #expect(try lock.attempt() == .taken)
        // FNV-1a of the text and a byte that no text has.
        let name = "47dfd55cf4c333cf.lock"
        #expect(tree.list("state/locks") == [name])
        #expect(tree.mode("state") == 0o700 && tree.mode("state/locks") == 0o700)
        let file = "state/locks/\(name)"
        #expect(tree.mode(file) == 0o600)
        let note = try tree.text(file)
        #expect(note.hasPrefix("{\"pid\":\(getpid()),\"startedAt\":\"20") && note.utf8.count == 64)
        lock.release()
        // The next writes over it.
        try tree.write(file, String(repeating: "x", count: 63) + "\n", mode: 0o600)
        #expect(try lock.attempt() == .taken)
        #expect(try tree.text(file).utf8.count == 64 && !tree.text(file).contains("x"))
    }

    @Test func identities() throws {
        try tree.write("real/job.yaml", "")
        try tree.link("linked", to: "real")
        try tree.link("real/link.yaml", to: "job.yaml")
        let path = tree.path("real/job.yaml")
        #expect(JobIdentity(of: job(file: path)).text == path)
        #expect(JobIdentity(of: job(file: tree.path("linked/job.yaml"))).text == path)
        #expect(JobIdentity(of: job(file: tree.path("real/link.yaml"))).text == tree.path("real/link.yaml"))
        #expect(JobIdentity(of: job("nightly", file: path)).text == "nightly")
        #expect(JobIdentity(of: job(file: "/job.yaml")).text == "/job.yaml")
        // From standard input: known by folder and text.
        var piped = job()
        piped.sha256 = LateText("aa")
        var other = piped
        other.sha256 = LateText("bb")
        #expect(JobIdentity(of: piped) == JobIdentity(of: piped))
        #expect(JobIdentity(of: piped) != JobIdentity(of: other))
    }

    @Test func ephemeralJobsLockTheirFileAndLeaveNothing() throws {
        try tree.write("job.yaml", "")
        let ephemeral = job(file: tree.path("job.yaml"), kinds: [.ephemeral, .ephemeral])
        #expect(JobLocks.isEphemeral(ephemeral) && !JobLocks.isEphemeral(job(kinds: [.ephemeral, .default])))
        let first = try #require(try lock(ephemeral, file: opened("job.yaml")))
        let second = try #require(try lock(ephemeral, file: opened("job.yaml")))
        #expect(try first.attempt() == .taken)
        #expect(try second.attempt() == .held(by: getpid()))
        #expect(tree.list() == ["job.yaml"])
    }

    @Test func aJobThatNobodyCouldKnowAgainHasNoLock() throws {
        #expect(try lock(job(kinds: [.ephemeral])) == nil)
        // With a name it can be known, and what that takes is gone with it.
        let named = try #require(try lock(job("nightly", kinds: [.ephemeral])))
        #expect(try named.attempt() == .taken)
        #expect(tree.list("state/locks").count == 1)
        named.release()
        #expect(tree.list().isEmpty)
    }

    @Test func aFileThatCannotBeLockedSaysWhy() throws {
        try tree.write("job.yaml", "")
        let pathOnly: Int32 = 0o10000000  // O_PATH: such a descriptor takes no lock.
        let file = JobFile(try Descriptor.open(tree.path("job.yaml"), pathOnly))
        let lock = try #require(try lock(job(file: tree.path("job.yaml"), kinds: [.ephemeral]), file: file))
        #expect(try lock.attempt() == .impossible("Bad file descriptor"))
    }

    @Test(arguments: ["state", "state/locks"]) func aFolderThatOthersWriteIsRefused(name: String) throws {
        try tree.makeFolder("state/locks", mode: 0o700)
        try tree.setMode(name, 0o770)
        let lock = try #require(try lock(job("nightly")))
        let problem = #expect(throws: JobLockProblem.self) { try lock.attempt() }
        #expect(problem?.description.contains("\(tree.path(name)) can be written by others") == true)
        #expect(tree.list("state/locks").isEmpty)
    }

    @Test func aFolderThatCannotBeMadeIsNamed() throws {
        try tree.write("state", "")
        let lock = try #require(try lock(job("nightly")))
        let problem = #expect(throws: JobLockProblem.self) { try lock.attempt() }
        #expect(problem?.description.contains(tree.path("state")) == true)
        let nowhere = #expect(throws: JobLockProblem.self) {
            try JobLocks.lock(of: job("nightly"), file: nil) { () throws(StateFolder.Problem) in
                try StateFolder(directory: nil, workingDirectory: "/") { _ in nil }
            }
        }
        #expect(nowhere?.description.contains("--state-dir") == true)
    }

    @Test func aBrokenLinkIsNotWaitedFor() throws {
        try tree.link("state", to: "nowhere")
        let lock = try #require(try lock(job("nightly")))
        let problem = #expect(throws: JobLockProblem.self) { try lock.attempt() }
        #expect(problem?.description == "\(tree.path("state")): No such file or directory")
    }

    /// The file comes and goes with each holder; still there is never more than one.
    @Test(arguments: [SessionConfiguration.Kind.default, .ephemeral])
    func manyThreadsOneHolder(kind: SessionConfiguration.Kind) throws {
        try tree.makeFolder("state", mode: 0o700)
        let rounds = Rounds.scaled(300)
        let inside = Atomic<Int>(0)
        let taken = Atomic<Int>(0)
        let job = job("contended", kinds: [kind])
        let state = tree.path("state")
        let threads = try (0..<6).map { _ in
            try Thread(named: "contender") {
                for _ in 0..<rounds {
                    do {
                        let lock = try JobLocks.lock(of: job, file: nil) { () throws(StateFolder.Problem) in
                            try StateFolder(directory: state, workingDirectory: "/") { _ in nil }
                        }
                        guard let lock, try lock.attempt() == .taken else { continue }
                        #expect(inside.add(1, ordering: .sequentiallyConsistent).newValue == 1)
                        taken.add(1, ordering: .relaxed)
                        // Long enough for somebody else to come in, were there a way.
                        let end = Clocks.instant() + .microseconds(100)
                        while Clocks.instant() < end {}
                        #expect(inside.load(ordering: .sequentiallyConsistent) == 1)
                        inside.subtract(1, ordering: .sequentiallyConsistent)
                        lock.release()
                    } catch { Issue.record("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(taken.load(ordering: .relaxed) > 0)
        #expect(tree.list().count == (kind == .ephemeral ? 1 : 3))
    }

    @Test func theSystemsListOfLocksIsRead() {
        let table = """
            1: POSIX  ADVISORY  WRITE 11 fd:01:77 0 EOF
            2: FLOCK  ADVISORY  WRITE 0 fd:01:77 0 EOF
            3: FLOCK  ADVISORY  WRITE 22 fd:02:77 0 EOF
            4: FLOCK  ADVISORY  WRITE 33 fd:01:77 0 EOF
            4: -> FLOCK  ADVISORY  WRITE 44 fd:01:77 0 EOF
            5: FLOCK  ADVISORY  WRITE x fd:01:78 0 EOF
            6: FLOCK  ADVISORY  WRITE 55 103:1000:79 0 EOF

            """
        #expect(LockTable.holder(device: 0xFD01, inode: 77, in: table) == 33)
        #expect(LockTable.holder(device: 0xFD02, inode: 77, in: table) == 22)
        #expect(LockTable.holder(device: 0xFD01, inode: 78, in: table) == nil)
        // Numbers past twelve and eight bits lie apart.
        #expect(LockTable.holder(device: 0x0101_0300, inode: 79, in: table) == 55)
        #expect(LockTable.holder(device: 1, inode: 1, in: "") == nil)
    }
}
