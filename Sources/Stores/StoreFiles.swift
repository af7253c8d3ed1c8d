import Glibc
import SystemIO
import TransferModel

/// A store's folder, and the names in it. Everything goes by the folder's descriptor but SQLite, which wants a path.
struct StoreFiles: ~Copyable {
    private let path: String
    private let folder: Descriptor

    private static let database = "store.sqlite"
    /// Held while the store is opened, never while it is used.
    private static let lock = "store.lock"
    /// Left by who met damage: the next to open checks every page.
    private static let suspicion = "store.suspect"

    var database: String { "\(path)/\(Self.database)" }

    static func isThere(folder: String) -> Bool { (try? FileFacts.of("\(folder)/\(database)")) != nil }

    /// Makes the folder when it is missing; refuses one that somebody else owns or may write to.
    init(_ path: String) throws(StoreError) {
        self.path = path
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.make(path)
        } catch {
            throw StoreError(error, "the state folder")
        }
    }

    /// What is there already must be ours alone; what is missing is no problem.
    static func checkPrivate(_ path: String) throws(StoreError) {
        do throws(PrivacyProblem) {
            let folder = try PrivateFolder.open(path)
            try PrivateFolder.look(at: database, in: folder, at: path)
        } catch {
            if !error.isMissing { throw StoreError(error, error.path == path ? "the state folder" : "the store") }
        }
    }

    /// Makes the database's file when it is missing, and says whether it did.
    func prepareDatabase() throws(StoreError) -> Bool {
        do throws(PrivacyProblem) {
            return try PrivateFolder.makeFile(Self.database, in: folder, at: path)
        } catch {
            throw StoreError(error, "the store")
        }
    }

    /// The name of a file that was just made is on the disk too. SQLite does that for files that it makes itself.
    func flushNames() { try? folder.sync() }

    var mayWriteDatabase: Bool { folder.mayWrite(Self.database) }

    var isSuspect: Bool { exists(Self.suspicion) }
    func suspect() { _ = try? folder.open(Self.suspicion, O_CREAT | O_WRONLY, mode: 0o600) }
    func trust() { try? folder.unlink(Self.suspicion) }

    private func exists(_ name: String) -> Bool { (try? folder.facts(of: name)) != nil }

    /// Between processes; given up when the descriptor is closed, however that comes about.
    func takeLock(patience: TimeSpan) throws(StoreError) -> Descriptor {
        let name = "\(path)/\(Self.lock)"
        let file: Descriptor
        do throws(PrivacyProblem) {
            file = try PrivateFolder.file(Self.lock, in: folder, at: path)
        } catch {
            throw StoreError(error, "the store's lock")
        }
        let deadline = Clocks.instant() + patience
        while true {
            do throws(SystemError) {
                if try file.tryLock() { return file }
            } catch {
                throw StoreError(.other, "cannot lock \(name): \(error.reason)")
            }
            guard Clocks.instant() < deadline else {
                throw StoreError(.busy, "another process has held \(name) for \(Int(patience.seconds)) seconds")
            }
            usleep(5000)
        }
    }

    /// Gives the file and its journals the first free name of a row, so that it can still be opened there.
    func putAside(_ reason: String) throws(StoreError) -> Quarantine {
        var number = 1
        while exists("\(Self.database).quarantined-\(number)") { number += 1 }
        let name = "\(Self.database).quarantined-\(number)"
        do throws(SystemError) {
            // The journals first: should we die in between, SQLite must not find them beside a new file.
            for suffix in ["-wal", "-shm", "-journal"] where exists(Self.database + suffix) {
                try folder.rename(Self.database + suffix, to: name + suffix)
            }
            try folder.rename(Self.database, to: name)
        } catch {
            throw StoreError(.other, "cannot put aside \(database): \(error.reason)")
        }
        trust()
        return Quarantine(path: "\(path)/\(name)", reason: reason)
    }
}

extension StoreError {
    init(_ problem: PrivacyProblem, _ what: String) {
        let kind: Kind =
            switch problem.kind {
            case .belongsToAnother, .othersMayWrite: .notPrivate
            case .wrongKind: what == "the store" ? .notPrivate : .other
            case .system(let error): error.errno == ENOSPC || error.errno == EDQUOT ? .diskFull : .other
            }
        self.init(kind, "\(what) \(problem)")
    }
}
