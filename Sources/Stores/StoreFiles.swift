import Glibc
import SystemIO
import TransferModel

/// The folder of a database, and the file names in it. All access goes through the folder's descriptor except SQLite's,
/// which needs a path.
struct StoreFiles: ~Copyable {
    let path: String
    let folder: Descriptor
    /// `store`, as in `store.sqlite`.
    let name: String

    private static func database(_ name: String) -> String { "\(name).sqlite" }
    private var file: String { Self.database(name) }
    /// Held while the database is opened, never while it is used.
    private var lock: String { "\(name).lock" }
    /// Left by a process that met damage: the next opening checks every page.
    private var suspicion: String { "\(name).suspect" }

    var database: String { "\(path)/\(file)" }
    /// Name of the database at the beginning of sentences.
    var title: String { "the \(name) \(database)" }

    static func isThere(folder: String, _ name: String) -> Bool {
        (try? FileFacts.of("\(folder)/\(database(name))")) != nil
    }

    /// Distinguishes the file from another of the same name.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    static func identity(folder: String, _ name: String) -> Identity? {
        (try? FileFacts.of("\(folder)/\(database(name))")).map { Identity(device: $0.device, inode: $0.inode) }
    }

    static func mayBeThere(folder: String, _ name: String) -> Bool {
        do throws(SystemError) {
            _ = try FileFacts.of("\(folder)/\(database(name))")
            return true
        } catch {
            return error.errno != ENOENT && error.errno != ENOTDIR
        }
    }

    private static func aside(_ file: String, _ number: Int) -> String { "\(file).quarantined-\(number)" }

    /// Path of the newest file that was put aside and is still there.
    static func putAside(folder: String, _ name: String) -> String? {
        (1...).lazy.map { "\(folder)/\(aside(database(name), $0))" }
            .prefix { (try? FileFacts.of($0)) != nil }.reduce(nil) { $1 }
    }

    /// Creates the folder when it is missing; refuses one that another user owns or may write to.
    init(_ path: String, _ name: String) throws(StoreError) {
        self.path = path
        self.name = name
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.make(path)
        } catch {
            throw StoreError(error, "the state folder")
        }
    }

    /// Throws if an existing folder or file is not private to this user; a missing one is no problem.
    static func checkPrivate(_ path: String, _ name: String) throws(StoreError) {
        do throws(PrivacyProblem) {
            let folder = try PrivateFolder.open(path)
            try PrivateFolder.look(at: database(name), in: folder, at: path)
        } catch {
            if !error.isMissing {
                let isFolder = error.path == path
                throw StoreError(error, isFolder ? "the state folder" : "the \(name)", isFile: !isFolder)
            }
        }
    }

    /// Creates the database's file when it is missing, and returns whether it did.
    func prepareDatabase() throws(StoreError) -> Bool {
        do throws(PrivacyProblem) {
            return try PrivateFolder.makeFile(file, in: folder, at: path)
        } catch {
            throw StoreError(error, "the \(name)", isFile: true)
        }
    }

    /// Writes the name of a newly created file to the disk. SQLite does that for files that it creates itself.
    func flushNames() { try? folder.sync() }

    var mayWriteDatabase: Bool { folder.mayWrite(file) }

    /// Whether a log of changes lies beside the file that are not in it yet.
    var hasLog: Bool { ((try? folder.facts(of: file + "-wal"))?.size ?? 0) > 0 }

    var isSuspect: Bool { exists(suspicion) }
    func suspect() { _ = try? folder.open(suspicion, O_CREAT | O_WRONLY, mode: 0o600) }
    func trust() { try? folder.unlink(suspicion) }

    private func exists(_ name: String) -> Bool { (try? folder.facts(of: name)) != nil }

    /// Locks the opening against other processes, until the returned descriptor is closed in whatever way.
    func takeLock(patience: TimeSpan) throws(StoreError) -> Descriptor {
        let full = "\(path)/\(lock)"
        let file: Descriptor
        do throws(PrivacyProblem) {
            file = try PrivateFolder.file(lock, in: folder, at: path)
        } catch {
            throw StoreError(error, "the \(name)'s lock")
        }
        let deadline = Clocks.instant() + patience
        while true {
            do throws(SystemError) {
                if try file.tryLock() { return file }
            } catch {
                throw StoreError(.other, "cannot lock \(full): \(error.reason)")
            }
            guard Clocks.instant() < deadline else {
                throw StoreError(.busy, "another process has held \(full) for \(Int(patience.seconds)) seconds")
            }
            usleep(5000)
        }
    }

    /// Renames the file and its journals to the first free name of a series, so that it can still be opened there.
    func putAside(_ reason: String) throws(StoreError) -> Quarantine {
        var number = 1
        while exists(Self.aside(file, number)) { number += 1 }
        let aside = Self.aside(file, number)
        do throws(SystemError) {
            // The journals first: should we die in between, SQLite must not find them beside a new file.
            for suffix in ["-wal", "-shm", "-journal"] where exists(file + suffix) {
                try folder.rename(file + suffix, to: aside + suffix)
            }
            try folder.rename(file, to: aside)
        } catch {
            throw StoreError(.other, "cannot put aside \(database): \(error.reason)")
        }
        trust()
        return Quarantine(path: "\(path)/\(aside)", reason: reason)
    }
}

extension StoreError {
    /// `isFile`: the database itself, which must be a plain file to be ours.
    init(_ problem: PrivacyProblem, _ what: String, isFile: Bool = false) {
        let kind: Kind =
            switch problem.kind {
            case .belongsToAnother, .othersMayWrite, .sharedRuntime: .notPrivate
            case .wrongKind: isFile ? .notPrivate : .other
            case .system(let error): Self.kind(of: error)
            }
        self.init(kind, "\(what) \(problem)")
    }
}
