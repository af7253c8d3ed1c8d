internal import CSQLite
import Glibc
import SystemIO
import TransferModel

/// One connection to an SQLite file. Belongs to one thread at a time.
@safe struct Database: ~Copyable {
    private let handle: OpaquePointer
    /// `the store /state/store.sqlite`: as sentences about it begin.
    let title: String

    /// Opens a file that exists. It reads nothing yet: damage shows at the first statement.
    init(path: String, title: String) throws(StoreError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe StoreError(sqlite: code, opened, title)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = opened
        self.title = title
        unsafe sqlite3_busy_timeout(handle, Int32(tr_sqlite_patience))
        // Statements in the file itself must have no effects: the file may have been exchanged.
        unsafe tr_sqlite_set_flag(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        unsafe tr_sqlite_set_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        setKeepsJournal(true)
    }

    /// Opens a file only to read it. `isStill`: no log lies beside it, so that SQLite need not make the files that
    /// readers share with writers.
    init(toRead path: String, isStill: Bool, title: String) throws(StoreError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let name = "file:\(PercentEncoding.encode(path, keepingSlash: true))?\(isStill ? "immutable=1" : "mode=ro")"
        let code = unsafe sqlite3_open_v2(name, &opened, flags, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe StoreError(sqlite: code, opened, title)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = opened
        self.title = title
        unsafe sqlite3_busy_timeout(handle, Int32(tr_sqlite_patience))
        unsafe tr_sqlite_set_flag(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        setKeepsJournal(true)
    }

    /// Whether closing leaves the write-ahead log alone instead of moving it into the file. True at first: a damaged
    /// file must be put aside exactly as it was found.
    func setKeepsJournal(_ keeps: Bool) {
        unsafe tr_sqlite_set_flag(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0)
    }

    deinit { unsafe sqlite3_close_v2(handle) }

    /// Runs statements whose rows, if any, are not needed.
    func execute(_ sql: String) throws(StoreError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw failure(code) }
    }

    func prepare(_ sql: StaticString) throws(StoreError) -> Statement {
        try unsafe Statement(handle, sql.description, title)
    }

    /// Returns the single value that a PRAGMA gives.
    func pragma(_ name: String) throws(StoreError) -> String {
        let statement = try unsafe Statement(handle, "PRAGMA \(name)", title)
        return try statement.step() ? statement.text(0) ?? "" : ""
    }

    func number(_ sql: StaticString) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) ?? 0 : 0
    }

    var changes: Int { Int(unsafe sqlite3_changes(handle)) }
    /// Whether the file cannot be written; known once a page was read.
    var isReadOnly: Bool { unsafe sqlite3_db_readonly(handle, "main") == 1 }
    /// Whether the open file has another name by now, or none.
    var hasMoved: Bool {
        var moved: Int32 = 0
        return unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
    }
    /// Makes a commit that finds this many pages of log, or more, take them into the file and empty the log, unless
    /// other connections read.
    func boundLog(pages: Int) { unsafe tr_sqlite_bound_log(handle, Int32(pages)) }
    /// Does that now.
    func emptyLog() { unsafe tr_sqlite_empty_log(handle) }
    var lastInserted: Int64 { unsafe sqlite3_last_insert_rowid(handle) }
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    private func failure(_ code: Int32) -> StoreError { unsafe StoreError(sqlite: code, handle, title) }
}

extension StoreError {
    /// An error from an SQLite code, whose low byte is its family.
    fileprivate init(sqlite code: Int32, _ database: OpaquePointer?, _ title: String) {
        let words = unsafe String(cString: database == nil ? sqlite3_errstr(code) : sqlite3_errmsg(database))
        // Messages about a schema have line breaks.
        let message = words.split(whereSeparator: \.isNewline).joined(separator: " ")
        let kind: Kind =
            switch code & 0xFF {
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
            // The only `SQLITE_ERROR` that is about the file: its header names a format that no SQLite has.
            case SQLITE_ERROR where message == "unsupported file format": .damaged
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL: .diskFull
            // A full disk has no code of its own for the file that readers share.
            case SQLITE_IOERR where unsafe [ENOSPC, EDQUOT].contains(sqlite3_system_errno(database)): .diskFull
            // Of the files beside the database SQLite does not keep why they could not be opened.
            case SQLITE_CANTOPEN where DescriptorLimit.shortage != nil: .processLimit
            case SQLITE_CANTOPEN where unsafe [EMFILE, ENFILE].contains(sqlite3_system_errno(database)): .processLimit
            default: .other
            }
        let reason = kind == .processLimit ? SystemError(call: "open", errno: EMFILE).reason : message
        self.init(kind, "\(title): \(reason) (SQLite \(code))")
    }
}

/// One prepared statement: bind, step, read, reset.
@safe struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    private let title: String

    fileprivate init(_ database: OpaquePointer, _ sql: String, _ title: String) throws(StoreError) {
        var prepared: OpaquePointer?
        let code = unsafe sqlite3_prepare_v2(database, sql, -1, &prepared, nil)
        guard code == SQLITE_OK, let prepared = unsafe prepared else {
            throw unsafe StoreError(sqlite: code, database, title)
        }
        self.title = title
        unsafe handle = prepared
        unsafe self.database = unsafe database
    }

    deinit { unsafe sqlite3_finalize(handle) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { unsafe sqlite3_bind_int64(handle, index, value) } else { bindNull(index) }
    }

    func bind(_ index: Int32, _ value: String?) {
        guard let value else { return bindNull(index) }
        bind(index, value[...])
    }

    func bind(_ index: Int32, _ value: Substring) {
        var value = value
        // An empty buffer may have no address, which SQLite would take for NULL.
        if value.isEmpty {
            _ = unsafe tr_sqlite_bind_text(handle, index, "", 0)
            return
        }
        value.withUTF8 { utf8 in
            _ = unsafe utf8.withMemoryRebound(to: CChar.self) {
                unsafe tr_sqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
            }
        }
    }

    func bind(_ index: Int32, _ value: [UInt8]?) {
        guard let value else { return bindNull(index) }
        _ = unsafe value.withUnsafeBytes {
            unsafe $0.isEmpty
                ? sqlite3_bind_zeroblob(handle, index, 0)
                : tr_sqlite_bind_blob(handle, index, $0.baseAddress, Int32($0.count))
        }
    }

    private func bindNull(_ index: Int32) { unsafe sqlite3_bind_null(handle, index) }

    /// True when there is a row to read.
    func step() throws(StoreError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            throw unsafe StoreError(sqlite: code, database, title)
        }
        return false
    }

    /// Runs it to its end and makes it ready for other values.
    func run() throws(StoreError) {
        while try step() {}
        reset()
    }

    func reset() {
        unsafe sqlite3_reset(handle)
    }

    func integer(_ column: Int32) -> Int64? {
        isNull(column) ? nil : unsafe sqlite3_column_int64(handle, column)
    }

    func text(_ column: Int32) -> String? {
        guard !isNull(column), let start = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }
}
