import Digests
import HTTPRules
import Stores
import SystemIO
import TestSupport
import TransferModel

/// A cache on disk as one process sees it, without its thread.
struct CacheStage {
    let store: Store
    let session: StoredSession
    let folder: CacheFolder
    var key = [UInt8](repeating: 7, count: 32)
    var capacity: Int64 = 1 << 20
    var now = ManualClock().wall

    init(_ tree: TemporaryTree, session name: String = "s") throws {
        store = try Store.open(folder: tree.path("state"))
        session = try store.session(job: "j", name: name, now: now)
        folder = try CacheFolder(tree.path("cache"))
    }

    static func answer(
        _ id: Int64, _ url: String = "https://example.org/a", body: [UInt8] = [], language: String? = nil,
        credentials: CacheMark = .absent
    ) -> StoredResponse {
        let fields = language.map { [SelectingHeaders.Field(name: "accept-language", mark: .value($0))] } ?? []
        var stored = StoredResponse(
            url: url, status: 200, headers: HeaderBlock([("ETag", "\"\(id)\""), ("Vary", "Accept-Language")]),
            selecting: SelectingHeaders(fields: fields), credentials: credentials,
            requestTime: WallTime(nanoseconds: 1), responseTime: WallTime(nanoseconds: 2),
            bodyLength: Int64(body.count))
        stored.id = CacheEntryID(raw: id)
        return stored
    }

    /// As the thread does it: a long body first, its row then, and files that are needless last.
    mutating func put(_ stored: StoredResponse, _ body: [UInt8], inFile: Bool = false) throws {
        if inFile { _ = folder.write(body, of: stored.id) }
        let digest = try Checksum.of(body, .sha256).bytes
        try change(.put(stored, digest: digest, body: inFile ? nil : body))
    }

    mutating func change(_ changes: CacheChange...) throws {
        now = now + .seconds(1)
        let needless = try store.change(session, changes, key: key, capacity: capacity, folder: folder.path, now: now)
        for id in needless ?? [] { folder.remove(id) }
    }

    func ids(_ url: String = "https://example.org/a") throws -> [Int64] {
        try store.cached(session, url: url).map(\.stored.id.raw).sorted()
    }

    func body(_ id: Int64) throws -> [UInt8]? {
        try store.cachedBody(session, CacheEntryID(raw: id), in: folder)
    }
}
