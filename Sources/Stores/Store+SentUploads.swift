package import HTTPRules
package import TransferModel

// What was sent to which URL, and what its server said of it. A URL has one content: only the session that sent to it
// last knows it.

extension Store {
    /// Whether any session recorded an upload that a server accepted whole.
    func hasSentUploads() throws(StoreError) -> Bool {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT 1 FROM sentUploads LIMIT 1")
            return try query.step()
        }
    }

    /// Returns what the session sent to the URL; `nil` if another session sent to it since, or if the row's seal is
    /// broken.
    package func sentUpload(_ session: StoredSession, url: String) throws(StoreError) -> SentUpload? {
        let found = try read { () throws(StoreError) -> (sent: SentUpload, seal: Int64?)? in
            let query = try database.prepare(
                """
                SELECT path, boot, device, inode, size, modified, changed, read, digest, shape, etag, lastModified,
                    answered, asked, seal
                FROM sentUploads WHERE url = ? AND session = ?
                """)
            query.bind(1, url)
            query.bind(2, session.id)
            return try query.step() ? (query.sentUpload, query.integer(14)) : nil
        }
        guard let found else { return nil }
        guard found.sent.seal(session, url) == found.seal else {
            suspect()
            return nil
        }
        return found.sent
    }

    /// Records what was sent to the URL. `nil`: the URL's content is not known any more, to any session.
    package func keep(
        _ sent: SentUpload?, of session: StoredSession?, url: String, now: WallTime
    ) throws(StoreError) {
        try batch { () throws(StoreError) in
            guard let sent, let session else {
                let delete = try database.prepare("DELETE FROM sentUploads WHERE url = ?")
                delete.bind(1, url)
                return try delete.run()
            }
            try noteLateUse(of: session, now: now)
            let upsert = try database.prepare(
                """
                INSERT OR REPLACE INTO sentUploads (path, boot, device, inode, size, modified, changed, read, digest, shape,
                    etag, lastModified, answered, asked, seal, session, url)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            upsert.bind(sent)
            upsert.bind(15, sent.seal(session, url))
            upsert.bind(16, session.id)
            upsert.bind(17, url)
            try upsert.run()
        }
    }
}

extension SentUpload {
    /// Returns a checksum over every value of the row, as for validators.
    fileprivate func seal(_ session: StoredSession, _ url: String) -> Int64 {
        var seal = Fingerprint()
        seal.add(session.id)
        for text in [url, path] { seal.add(text) }
        for text in [etag, lastModified, asked] { seal.add(text ?? "\0") }
        for number in numbers { seal.add(number) }
        seal.add(digest)
        seal.add(answeredAt?.nanoseconds ?? -1)
        return seal.value
    }

    fileprivate var numbers: [Int64] {
        [
            file.boot, Int64(bitPattern: file.device), Int64(bitPattern: file.inode), file.size,
            file.modifiedNanoseconds, file.changedNanoseconds, readAt.nanoseconds, shape,
        ]
    }
}

extension Statement {
    fileprivate func bind(_ sent: SentUpload) {
        bind(1, sent.path)
        for (place, number) in sent.numbers.dropLast().enumerated() { bind(Int32(place) + 2, number) }
        bind(9, sent.digest)
        bind(10, sent.shape)
        bind(11, sent.etag)
        bind(12, sent.lastModified)
        bind(13, sent.answeredAt?.nanoseconds)
        bind(14, sent.asked)
    }

    fileprivate var sentUpload: SentUpload {
        let file = BodyFileMark(
            boot: integer(1) ?? 0, device: UInt64(bitPattern: integer(2) ?? 0),
            inode: UInt64(bitPattern: integer(3) ?? 0), size: integer(4) ?? 0, modifiedNanoseconds: integer(5) ?? 0,
            changedNanoseconds: integer(6) ?? 0)
        return SentUpload(
            path: text(0) ?? "", file: file, readAt: WallTime(nanoseconds: integer(7) ?? 0), digest: blob(8) ?? [],
            shape: integer(9) ?? 0, etag: text(10), lastModified: text(11),
            answeredAt: integer(12).map { WallTime(nanoseconds: $0) }, asked: text(13))
    }
}
