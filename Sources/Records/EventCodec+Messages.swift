import TransferModel

// Requests and answers: how an attempt begins, and what happens before its end.

extension RecordWriter {
    mutating func put(_ record: AttemptStart) {
        put(record.number)
        put(record.url)
        // Omitted when empty, as in the first format.
        if !record.bodyFiles.isEmpty { put(record.bodyFiles) { $0.put($1) } }
    }

    private mutating func put(_ mark: BodyFileMark) {
        put(mark.boot)
        put(mark.device)
        put(mark.inode)
        put(mark.size)
        put(mark.modifiedNanoseconds)
        put(mark.changedNanoseconds)
    }

    mutating func put(_ record: ChallengeRecord) {
        put(record.method)
        put(record.host)
        put(record.realm)
        put(record.level)
        put(record.disposition)
        put(record.previousFailureCount)
    }

    mutating func put(_ record: RedirectRecord) {
        put(record.status)
        put(record.from)
        put(record.to)
        put(record.method)
        put(record.action, Coded.redirectActions)
        put(record.stripped) { $0.put($1) }
    }

    mutating func put(_ record: ResponseRecord) {
        put(record.status) { $0.put($1) }
        put(record.url)
        put(record.method)
        put(record.mimeType)
        put(record.charset)
        put(record.expectedLength)
        put(record.suggestedFilename)
        put(record.contentEncoding)
        put(record.headers)
    }

    /// Only the bytes are recorded: splitting them again gives the same lines.
    mutating func put(_ headers: HeaderBlock) { put(headers.bytes) }

    mutating func put(_ record: PageRecord) {
        put(record.number)
        put(record.url)
        put(record.status) { $0.put($1) }
        put(record.file) { $0.put($1) }
        put(record.body) { $0.put($1) }
        put(record.isCut)
    }

    mutating func put(_ record: FileRecord) {
        put(record.path)
        put(record.bytes)
        put(record.checksum) { $0.put($1) }
        put(record.changed)
        put(record.lengthUnverified)
        // Its identity is not recorded here: the store records it when the file is published.
        put(record.stamp) {
            $0.put($1.size)
            $0.put($1.modifiedNanoseconds)
        }
        // The short sum that earlier versions made of a file.
        put(Int64?.none)
    }

    private mutating func put(_ checksum: Checksum) {
        put(checksum.algorithm, Coded.digests)
        put(checksum.bytes)
    }

    mutating func put(_ error: TransferError) {
        // By name: errors are rare, and there are many codes.
        put(error.name.rawValue)
        put(error.message)
        put(error.curl) { $0.put(Int64($1)) }
        put(error.errno) { $0.put(Int64($1)) }
        put(error.reason) { $0.put($1, Coded.objections) }
    }
}

extension RecordReader {
    mutating func attemptStart(hasFiles: Bool) throws(RecordProblem) -> AttemptStart {
        AttemptStart(
            number: try int(), url: try text(),
            bodyFiles: hasFiles ? try list { (reader) throws(RecordProblem) in try reader.bodyFileMark() } : [])
    }

    private mutating func bodyFileMark() throws(RecordProblem) -> BodyFileMark {
        BodyFileMark(
            boot: try int64(), device: try unsigned(), inode: try unsigned(), size: try int64(),
            modifiedNanoseconds: try int64(), changedNanoseconds: try int64())
    }

    mutating func challengeRecord() throws(RecordProblem) -> ChallengeRecord {
        ChallengeRecord(
            method: try text(), host: try text(), realm: try optionalText(), level: try text(),
            disposition: try text(), previousFailureCount: try int())
    }

    mutating func redirectRecord() throws(RecordProblem) -> RedirectRecord {
        RedirectRecord(
            status: try int(), from: try text(), to: try text(), method: try text(),
            action: try one(of: Coded.redirectActions), stripped: try texts())
    }

    private mutating func texts() throws(RecordProblem) -> [String] {
        try list { (reader) throws(RecordProblem) in try reader.text() }
    }

    mutating func responseRecord() throws(RecordProblem) -> ResponseRecord {
        ResponseRecord(
            status: try optional { (reader) throws(RecordProblem) in try reader.int() }, url: try text(),
            method: try text(), mimeType: try optionalText(), charset: try optionalText(),
            expectedLength: try optionalInt64(), suggestedFilename: try optionalText(),
            contentEncoding: try optionalText(), headers: try headers())
    }

    mutating func headers() throws(RecordProblem) -> HeaderBlock { HeaderBlock(raw: try blob()) }

    mutating func pageRecord() throws(RecordProblem) -> PageRecord {
        PageRecord(
            number: try int(), url: try text(),
            status: try optional { (reader) throws(RecordProblem) in try reader.int() },
            file: try optional { (reader) throws(RecordProblem) in try reader.fileRecord() },
            body: try optional { (reader) throws(RecordProblem) in try reader.blob() }, isCut: try flag())
    }

    mutating func fileRecord() throws(RecordProblem) -> FileRecord {
        let record = FileRecord(
            path: try text(), bytes: try int64(),
            checksum: try optional { (reader) throws(RecordProblem) in try reader.checksum() }, changed: try flag(),
            lengthUnverified: try flag(),
            stamp: try optional { (reader) throws(RecordProblem) in
                FileStamp(size: try reader.int64(), modifiedNanoseconds: try reader.int64())
            })
        _ = try optionalInt64()
        return record
    }

    private mutating func checksum() throws(RecordProblem) -> Checksum {
        Checksum(algorithm: try one(of: Coded.digests), bytes: try blob())
    }

    mutating func transferError() throws(RecordProblem) -> TransferError {
        let word = try text()
        guard let name = ErrorName(rawValue: word) else { throw problem(.unknown, "there is no error of that name") }
        return TransferError(
            name, try text(), curl: try optionalCode(), errno: try optionalCode(),
            reason: try optional { (reader) throws(RecordProblem) in try reader.one(of: Coded.objections) })
    }

    private mutating func optionalCode() throws(RecordProblem) -> Int32? {
        guard let number = try optionalInt64() else { return nil }
        guard let code = Int32(exactly: number) else { throw problem(.malformed, "the number is too large") }
        return code
    }
}
