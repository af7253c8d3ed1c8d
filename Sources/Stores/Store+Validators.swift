package import HTTPRules
import Records
package import TransferModel

/// A change to the validators recorded for one destination of a session.
package struct ValidatorChange: Hashable, Sendable {
    /// Absolute path of the destination.
    package var destination: String
    /// New validators; `nil` deletes those of the destination.
    package var kept: KeptValidators?
    package init(destination: String, kept: KeptValidators?) {
        self.destination = destination
        self.kept = kept
    }
}

extension Store {
    /// Returns the folders of files with recorded validators, each with its trailing slash; `nil` when there are more
    /// than `KnownPlaces.most`.
    package func folders(_ session: StoredSession) throws(StoreError) -> Set<String>? {
        try read { () throws(StoreError) in
            let query = try database.prepare(
                """
                SELECT path FROM folders
                WHERE session = ? AND EXISTS (SELECT 1 FROM validators WHERE folder = id) LIMIT ?
                """)
            query.bind(1, session.id)
            query.bind(2, Int64(KnownPlaces.most + 1))
            var folders: Set<String> = []
            while try query.step() { folders.insert(query.text(0) ?? "") }
            return folders.count > KnownPlaces.most ? nil : folders
        }
    }

    /// Returns the validators recorded for the destination, or `nil` if there are none or their seal is broken.
    package func validators(_ session: StoredSession, destination: String) throws(StoreError) -> KeptValidators? {
        try ValidatorQuery(self).find(session, destination)
    }

    /// Writes the changes in their order, in one transaction.
    package func change(
        _ session: StoredSession, _ changes: [ValidatorChange], now: WallTime
    ) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try batch { () throws(StoreError) in
            try noteLateUse(of: session, now: now)
            var writer = try ValidatorWriter(database, session)
            for change in changes {
                let place = DestinationPlace(change.destination)
                if let kept = change.kept { try writer.put(kept, at: place) } else { try writer.remove(place) }
            }
        }
    }

    /// Deletes the validators that sessions other than `session` recorded for `paths`. Their files were just replaced,
    /// and size and time alone may not show that.
    package func forgetOthers(than session: StoredSession?, at paths: [String]) throws(StoreError) {
        guard !paths.isEmpty else { return }
        try batch { () throws(StoreError) in
            let find = try database.prepare("SELECT id FROM folders WHERE path = ? AND session IS NOT ?")
            find.bind(2, session?.id)
            let delete = try database.prepare("DELETE FROM validators WHERE folder = ? AND name = ?")
            // Neighbours mostly lie in one folder, and mostly no other session has it.
            var last: (path: Substring, others: [Int64])?
            for path in paths {
                let place = DestinationPlace(path)
                if last?.path.utf8.elementsEqual(place.folder.utf8) != true {
                    find.bind(1, place.folder)
                    var others: [Int64] = []
                    while try find.step() { if let id = find.integer(0) { others.append(id) } }
                    find.reset()
                    last = (place.folder, others)
                }
                for other in last?.others ?? [] {
                    delete.bind(1, other)
                    delete.bind(2, place.name)
                    try delete.run()
                }
            }
        }
    }
}

extension Store {
    /// Whether any session has validators for the file at `path`.
    func isKnown(_ path: String) throws(StoreError) -> Bool {
        let place = DestinationPlace(path)
        return try read { () throws(StoreError) in
            let query = try database.prepare(
                "SELECT 1 FROM folders JOIN validators ON folder = id WHERE path = ? AND validators.name = ? LIMIT 1")
            query.bind(1, place.folder)
            query.bind(2, place.name)
            return try query.step()
        }
    }
}

/// The folders in which earlier runs of a session recorded something; a lookup for a destination elsewhere needs no
/// query.
package struct KnownPlaces: Hashable, Sendable {
    /// Each with its trailing slash; `nil` means every folder.
    private let folders: Set<String>?
    /// Most folders that are listed; a session with more of them counts as known everywhere.
    static let most = 4096

    init(_ folders: Set<String>?, and destinations: some Collection<String>) {
        self.folders = folders?.union(destinations.map { String(DestinationPlace($0).folder) })
    }

    /// Whether no folder is known, so that every lookup would find nothing.
    package var isNowhere: Bool { folders?.isEmpty == true }

    /// Whether the store may have a record for the destination: decided by its folder alone.
    package func mayHold(_ destination: String) -> Bool {
        folders?.contains(String(DestinationPlace(destination).folder)) != false
    }
}

/// A path split after its last slash.
struct DestinationPlace {
    let folder: Substring
    let name: Substring

    init(_ path: String) {
        // By bytes: a slash that a combining mark follows is still one.
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        folder = path[..<end]
        name = path[end...]
    }
}

/// A row of `folders`: what the files of one folder mostly have in common.
private struct StoredFolder {
    let id: Int64
    /// Prefix of the URL of the first file recorded in the folder, without the file's name; empty if the URL does not
    /// end in it.
    let source: String
    let shape: Int64

    /// Returns the URL to store for a file: `nil` if it is the folder's prefix followed by `name`.
    func abridged(_ url: String, _ name: Substring) -> String? {
        let isTogether =
            url.utf8.count == source.utf8.count + name.utf8.count && url.utf8.starts(with: source.utf8)
            && url.utf8.dropFirst(source.utf8.count).elementsEqual(name.utf8)
        return isTogether ? nil : url
    }

    /// Returns the URL without `name` at its end; empty if it does not end in it.
    static func source(of url: String, _ name: Substring) -> String {
        guard url.utf8.reversed().starts(with: name.utf8.reversed()) else { return "" }
        return String(decoding: url.utf8.dropLast(name.utf8.count), as: UTF8.self)
    }
}

extension KeptValidators {
    /// Returns a checksum over every value of the row, its session and its place: a row changed by another program, or
    /// moved to another place, does not match.
    fileprivate func seal(_ session: StoredSession, _ place: DestinationPlace, sum: Int64? = nil) -> Int64 {
        var seal = Fingerprint()
        seal.add(session.id)
        seal.add(place.folder)
        seal.add(place.name)
        seal.add(url)
        // A missing text differs from an empty one.
        for text in [etag, lastModified, name] { seal.add(text ?? "\0") }
        seal.add(shape)
        seal.add(file.size)
        seal.add(file.modifiedNanoseconds)
        // Rows of earlier versions have a short sum in place of the checksum.
        for number in [boot, sum] { seal.add(number ?? -1) }
        if let record = checksum?.record { seal.add(record) }
        if let asked { seal.add(asked) }
        if let identity = file.identity { seal.add(identity) }
        // Always four bytes in the file, never three or five by chance.
        return Int64(Int32(truncatingIfNeeded: seal.value ^ seal.value >> 32))
    }
}

/// Writes the changes of one session within one transaction; a folder that was looked up stays valid until its end.
private struct ValidatorWriter: ~Copyable {
    private let session: StoredSession
    private let findFolder: Statement
    private let addFolder: Statement
    private let upsert: Statement
    private let delete: Statement
    /// The last folder used: neighbours mostly lie in one.
    private var last: (path: Substring, folder: StoredFolder)?

    init(_ database: borrowing Database, _ session: StoredSession) throws(StoreError) {
        let find = try database.prepare("SELECT id, source, shape FROM folders WHERE session = ? AND path = ?")
        let add = try database.prepare(
            "INSERT INTO folders (session, path, source, shape) VALUES (?, ?, ?, ?) RETURNING id")
        let upsert = try database.prepare(
            """
            INSERT OR REPLACE INTO validators (folder, name, url, etag, lastModified, shape, size, modified, seal, file,
                boot, checksum, asked, identity)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let delete = try database.prepare("DELETE FROM validators WHERE folder = ? AND name = ?")
        find.bind(1, session.id)
        add.bind(1, session.id)
        self.session = session
        findFolder = find
        addFolder = add
        self.upsert = upsert
        self.delete = delete
    }

    mutating func put(_ kept: KeptValidators, at place: DestinationPlace) throws(StoreError) {
        let folder = try folder(of: place, kept)
        last = (place.folder, folder)
        upsert.bind(1, folder.id)
        upsert.bind(2, place.name)
        upsert.bind(3, folder.abridged(kept.url, place.name))
        upsert.bind(4, kept.etag)
        upsert.bind(5, kept.lastModified)
        upsert.bind(6, kept.shape == folder.shape ? nil : kept.shape)
        upsert.bind(7, kept.file.size)
        upsert.bind(8, kept.file.modifiedNanoseconds)
        upsert.bind(9, kept.seal(session, place))
        upsert.bind(10, kept.name)
        upsert.bind(11, kept.boot)
        upsert.bind(12, kept.checksum?.record)
        upsert.bind(13, kept.asked)
        upsert.bind(14, kept.file.identity)
        try upsert.run()
    }

    mutating func remove(_ place: DestinationPlace) throws(StoreError) {
        guard let folder = try known(place.folder) else { return }
        delete.bind(1, folder.id)
        delete.bind(2, place.name)
        try delete.run()
    }

    private func known(_ path: Substring) throws(StoreError) -> StoredFolder? {
        if let last, last.path.utf8.elementsEqual(path.utf8) { return last.folder }
        defer { findFolder.reset() }
        findFolder.bind(2, path)
        guard try findFolder.step(), let id = findFolder.integer(0) else { return nil }
        return StoredFolder(id: id, source: findFolder.text(1) ?? "", shape: findFolder.integer(2) ?? 0)
    }

    private func folder(of place: DestinationPlace, _ kept: KeptValidators) throws(StoreError) -> StoredFolder {
        if let known = try known(place.folder) { return known }
        defer { addFolder.reset() }
        let source = StoredFolder.source(of: kept.url, place.name)
        addFolder.bind(2, place.folder)
        addFolder.bind(3, source)
        addFolder.bind(4, kept.shape)
        let id = try addFolder.step() ? addFolder.integer(0) ?? 0 : 0
        return StoredFolder(id: id, source: source, shape: kept.shape)
    }
}

/// A lookup of validators, with a statement that is prepared once for many calls.
struct ValidatorQuery: ~Copyable {
    private let statement: Statement
    private let store: Store

    init(_ store: Store) throws(StoreError) {
        self.store = store
        statement = try store.database.prepare(
            """
            SELECT source, folders.shape, url, etag, lastModified, validators.shape, size, modified, seal, file, boot,
                checksum, asked, identity, sum
            FROM folders JOIN validators ON folder = id WHERE session = ? AND path = ? AND validators.name = ?
            """)
    }

    /// Returns the validators of the destination; `nil` for a row whose seal is broken: its file is fetched, and the
    /// row written anew.
    func find(_ session: StoredSession, _ destination: String) throws(StoreError) -> KeptValidators? {
        // Also ends the reading, without which the log of changes could never be taken into the file.
        defer { statement.reset() }
        let place = DestinationPlace(destination)
        let found = try store.read { () throws(StoreError) -> (kept: KeptValidators, seal: Int64?, sum: Int64?)? in
            statement.bind(1, session.id)
            statement.bind(2, place.folder)
            statement.bind(3, place.name)
            guard try statement.step() else { return nil }
            return (statement.keptValidators(place.name), statement.integer(8), statement.integer(14))
        }
        guard let found else { return nil }
        guard found.kept.seal(session, place, sum: found.sum) == found.seal else {
            store.suspect()
            return nil
        }
        return found.kept
    }
}

extension Statement {
    fileprivate func keptValidators(_ name: Substring) -> KeptValidators {
        KeptValidators(
            url: text(2) ?? (text(0) ?? "") + name, etag: text(3), lastModified: text(4),
            shape: integer(5) ?? integer(1) ?? 0,
            file: FileStamp(size: integer(6) ?? 0, modifiedNanoseconds: integer(7) ?? 0, identity: integer(13)),
            name: text(9),
            checksum: blob(11).flatMap { Checksum(record: $0) }, boot: integer(10), asked: text(12))
    }
}

extension Checksum {
    /// The checksum as one value of a row: the algorithm's number, then the digest.
    fileprivate var record: [UInt8]? {
        Coded.digests.list.firstIndex(of: algorithm).map { [UInt8($0)] + bytes }
    }

    fileprivate init?(record: [UInt8]) {
        let known = Coded.digests.list
        guard let number = record.first, number < known.count, record.count == known[Int(number)].byteCount + 1
        else { return nil }
        self.init(algorithm: known[Int(number)], bytes: Array(record.dropFirst()))
    }
}
