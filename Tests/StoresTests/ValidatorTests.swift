import HTTPRules
import Stores
import SystemIO
import TestSupport
import Testing
import TransferModel

/// What is kept of an answer for the next run.
@Suite struct ValidatorTests {
    private let now = ManualClock().wall

    private func kept(_ name: String, etag: String? = "\"1\"") -> KeptValidators {
        KeptValidators(
            url: "https://example.org/\(name)", etag: etag, lastModified: etag == nil ? "yesterday" : nil,
            shape: .min, file: FileStamp(size: 1 << 40, modifiedNanoseconds: -1))
    }

    private func change(_ name: String, _ kept: KeptValidators?) -> ValidatorChange {
        ValidatorChange(destination: "/\(name)", kept: kept)
    }

    @Test func keepsReplacesAndForgets() throws {
        let tree = try TemporaryTree()
        var store: Store? = try Store.open(folder: tree.path)
        let session = try #require(try store?.session(job: "j", name: "s", now: now))
        let other = try #require(try store?.session(job: "j", name: "other", now: now))
        #expect(try store?.hasValidators(session) == false)
        try store?.change(session, [change("a", kept("a")), change("b", kept("b", etag: nil))], now: now)
        // In their order: the last word counts.
        try store?.change(
            session, [change("a", nil), change("a", kept("a", etag: "\"2\"")), change("b", nil)], now: now)
        try store?.change(session, [ValidatorChange](), now: now)
        store = nil
        let again = try Store.open(folder: tree.path)
        #expect(try again.validators(session, destination: "/a") == kept("a", etag: "\"2\""))
        #expect(try again.validators(session, destination: "/b") == nil)
        #expect(try again.validators(other, destination: "/a") == nil)
        #expect(try again.hasValidators(session) && !again.hasValidators(other))
        try again.forget(session)
        #expect(try again.validators(session, destination: "/a") == nil)
    }

    /// Whoever puts a file there makes what all others knew of it worthless, and nothing else.
    @Test func aFileOfSomebodyElseIsForgotten() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let mine = try store.session(job: "j", name: "s", now: now)
        let other = try store.session(job: "k", name: "s", now: now)
        var asked = kept("a")
        asked.asked = "1 2 cookie"
        for session in [mine, other] {
            try store.change(session, [change("a", asked), change("b", kept("b")), change("x/a", asked)], now: now)
        }
        try store.forgetOthers(than: mine, at: ["/a", "/nowhere/a"])
        #expect(try store.validators(mine, destination: "/a") == asked)
        #expect(try store.validators(other, destination: "/a") == nil)
        #expect(try store.validators(other, destination: "/b") == kept("b"))
        #expect(try store.validators(other, destination: "/x/a") == asked)
        try store.forgetOthers(than: nil, at: ["/x/a", "/x/b"])
        #expect(try store.validators(mine, destination: "/x/a") == nil)
    }

    @Test func aDateWithoutATagComesBackAsItWas() throws {
        let tree = try TemporaryTree()
        let store = try Store.open(folder: tree.path)
        let session = try store.session(job: "j", name: "s", now: now)
        try store.change(session, [change("b", kept("b", etag: nil))], now: now)
        #expect(try store.validators(session, destination: "/b") == kept("b", etag: nil))
    }

    // MARK: The thread

    /// The loop's side of a keeper, with somebody who waits for its answers.
    private final class Client {
        let keeper: MemoryKeeper
        private let wake = WakeSignal()
        private let box: Mailbox<MemoryReport>
        private var waiting: [MemoryReport] = []

        init(_ folder: String, secrets: [KnownSecret] = []) throws {
            let wake = wake
            box = Mailbox(wake: { wake.signal() })
            let place = MemoryPlace(
                folder: folder, job: "j", sessions: ["s", nil], secrets: Redactor(secrets))
            keeper = try MemoryKeeper(place, reports: box)
        }

        private func next() throws -> MemoryReport {
            while waiting.isEmpty {
                waiting = box.takeAll()
                if waiting.isEmpty, !wake.wait(nanoseconds: 30_000_000_000) { throw Silence() }
            }
            return waiting.removeFirst()
        }

        func opened() throws -> Set<SessionIndex> { try Set(places().keys) }

        func places() throws -> [SessionIndex: KnownPlaces] {
            guard case .opened(let memory) = try next() else { throw Silence() }
            return memory.places
        }

        func find(_ destination: String) throws -> KeptValidators? {
            keeper.submit([.find(TaskIndex(raw: 1), SessionIndex(raw: 0), destination: destination)])
            guard case .found(_, let kept, _) = try next() else { throw Silence() }
            return kept
        }

        /// As answers that became files; one without a tag is one that nothing identifies.
        func keep(_ changes: [ValidatorChange]) {
            keeper.submit(
                changes.map { change in
                    let lines = change.kept?.etag.map { [("ETag", $0)] } ?? []
                    let answer = FiledAnswer(
                        url: change.kept?.url ?? "https://example.org/", status: 200, headers: HeaderBlock(lines),
                        shape: .min, file: FileStamp(size: 1 << 40, modifiedNanoseconds: -1))
                    return .file(SessionIndex(raw: 0), destination: change.destination, answer)
                })
        }

        struct Silence: Error {}
    }

    /// In a store that is only made when both are written.
    @Test func aFileThatNothingIdentifiesIsForgottenAtOnce() throws {
        let tree = try TemporaryTree()
        let client = try Client(tree.path)
        _ = try client.opened()
        client.keep([change("a", kept("a")), change("b", kept("b")), change("a", kept("a", etag: nil))])
        #expect(client.keeper.finish().isEmpty)
        let store = try Store.open(folder: tree.path)
        let session = try #require(try store.existingSession(job: "j", name: "s"))
        #expect(try store.validators(session, destination: "/a") == nil)
        #expect(try store.validators(session, destination: "/b") != nil)
    }

    /// Who goes where nothing was kept need not ask; where there are too many folders to tell, everybody asks.
    @Test(arguments: [3, 5_000]) func theFoldersAreKnown(_ count: Int) throws {
        let tree = try TemporaryTree()
        let first = try Client(tree.path)
        _ = try first.opened()
        first.keep((0..<count).map { change("\($0)/x", kept("\($0)/x")) })
        #expect(first.keeper.finish().isEmpty)
        let places = try #require(try Client(tree.path).places()[SessionIndex(raw: 0)])
        #expect(!places.isNowhere && places.mayHold("/1/x") && places.mayHold("/1/other"))
        #expect(places.mayHold("/1") == (count > 4096) && places.mayHold("/1/x/y") == (count > 4096))
    }

    @Test func whatOneRunKeepsTheNextFinds() throws {
        let tree = try TemporaryTree()
        let first = try Client(tree.path)
        #expect(try first.opened().isEmpty)
        #expect(try first.find("/1") == nil)
        first.keep((0..<10_000).map { change("\($0)", kept("\($0)")) })
        #expect(first.keeper.finish().isEmpty)
        let second = try Client(tree.path)
        #expect(try second.opened() == [SessionIndex(raw: 0)])
        for number in [0, 1, 4_000, 9_999] { #expect(try second.find("/\(number)") == kept("\(number)")) }
        #expect(try second.find("/10000") == nil)
        #expect(second.keeper.finish().isEmpty)
    }

    @Test func whatIsKeptIsWrittenWithoutBeingAskedTo() throws {
        let tree = try TemporaryTree()
        let client = try Client(tree.path)
        #expect(try client.opened().isEmpty)
        client.keep([change("a", kept("a"))])
        let deadline = Clocks.instant() + .seconds(20)
        // Another process sees it while this one goes on.
        let reader = try Store.open(folder: tree.path)
        var found: KeptValidators?
        while found == nil, Clocks.instant() < deadline {
            guard let session = try reader.existingSession(job: "j", name: "s") else { continue }
            found = try reader.validators(session, destination: "/a")
        }
        #expect(found == kept("a"))
        #expect(client.keeper.finish().isEmpty)
    }

    @Test func aSecretIsNotWrittenAndWhatWasKeptBeforeGoes() throws {
        let tree = try TemporaryTree()
        let first = try Client(tree.path)
        first.keep([change("a", kept("a"))])
        #expect(first.keeper.finish().isEmpty)
        let second = try Client(tree.path, secrets: [KnownSecret(name: "K", value: "org/a")])
        second.keep([change("a", kept("a"))])
        #expect(second.keeper.finish().isEmpty)
        let third = try Client(tree.path)
        #expect(try third.opened().isEmpty && third.find("/a") == nil)
        #expect(third.keeper.finish().isEmpty)
    }

    /// Whoever asks is answered, and what went wrong is said once.
    @Test func aStoreThatCannotBeOpenedKeepsNothing() throws {
        let tree = try TemporaryTree()
        try tree.write("file", "")
        let client = try Client(tree.path("file/below"))
        #expect(try client.opened().isEmpty)
        client.keep([change("a", kept("a"))])
        #expect(try client.find("/a") == nil)
        let problems = client.keeper.finish()
        #expect(problems.count == 1 && problems[0].contains(tree.path("file")))
    }

    @Test func aStoreThatBreaksWhileItIsOpenIsLeftAlone() throws {
        let tree = try TemporaryTree()
        // More than is read at once when it is opened, and all of it in the file.
        do {
            let store = try Store.open(folder: tree.path)
            let session = try store.session(job: "j", name: "s", now: now)
            try store.change(session, (10_000..<40_000).map { change("\($0)", kept("\($0)")) }, now: now)
        }
        let client = try Client(tree.path)
        #expect(try client.opened() == [SessionIndex(raw: 0)])
        // A disk that forgets: all but the pages that were read already.
        var bytes = try tree.bytes("store.sqlite")
        for index in 16_384..<bytes.count { bytes[index] = 0xA5 }
        try tree.write("store.sqlite", bytes, mode: 0o600)
        #expect(try client.find("/39999") == nil)
        client.keep([change("a", kept("a"))])
        #expect(try client.find("/10000") == nil)
        let problems = client.keeper.finish()
        #expect(problems.count == 1 && problems.first?.contains("store.sqlite") == true, "\(problems)")
        // The next to open puts it aside.
        let next = try Client(tree.path)
        #expect(try next.opened().isEmpty)
        #expect(next.keeper.finish().first?.contains("put aside as") == true)
    }

    @Test func onlyWhatOthersMayWriteIsAPrivacyProblem() throws {
        let tree = try TemporaryTree()
        #expect(Store.privacyProblem(folder: tree.path("none")) == nil)
        #expect(Store.privacyProblem(folder: tree.path) == nil)
        try tree.write("store.sqlite", "", mode: 0o600)
        #expect(Store.privacyProblem(folder: tree.path) == nil)
        try tree.setMode("store.sqlite", 0o620)
        #expect(Store.privacyProblem(folder: tree.path)?.kind == .notPrivate)
        tree.remove("store.sqlite")
        try tree.link("store.sqlite", to: "elsewhere")
        #expect(Store.privacyProblem(folder: tree.path)?.kind == .notPrivate)
        tree.remove("store.sqlite")
        try tree.setMode("", 0o770)
        #expect(Store.privacyProblem(folder: tree.path)?.kind == .notPrivate)
        try tree.setMode("", 0o700)
    }
}
