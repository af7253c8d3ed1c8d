import TextFormats
package import TransferModel

/// The size and validators of a file or cached response here, for comparing it with what its server has.
package struct StandingFile: Hashable, Sendable {
    /// Length in bytes.
    package var size: Int64
    /// The `ETag` that it came with.
    package var etag: String?
    /// The `Last-Modified` that it came with, or the file's own time.
    package var lastModified: String?

    package init(size: Int64, etag: String?, lastModified: String?) {
        (self.size, self.etag, self.lastModified) = (size, etag, lastModified)
    }

    /// A file without recorded validators: its time may be the server's.
    package init(_ stamp: FileStamp) {
        self.init(
            size: stamp.size, etag: nil,
            lastModified: HTTPDate.format(WallTime(nanoseconds: stamp.modifiedNanoseconds)))
    }

    /// Whether the server has another version; `nil` where that cannot be told.
    func differs(from word: ServerAnswer) -> Bool? {
        if let etag { return word.etag.map { Self.opaque($0) != Self.opaque(etag) } }
        if let length = word.length, length != size { return true }
        guard let own = lastModified.flatMap({ HTTPDate.parse($0) }),
            let told = word.lastModified.flatMap({ HTTPDate.parse($0) })
        else { return nil }
        return own != told
    }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}

extension TaskOutlook {
    /// Returns the outlook with what the server said.
    package func knowing(_ word: ServerAnswer) -> TaskOutlook {
        guard case .answered = word.result else { return self }
        var outlook = self
        if action == .revalidate || action == .validateCache, word.isChanged == true {
            outlook.action = .fetch
            outlook.why = nil
            (outlook.size, outlook.sizeSource) = (word.length, word.length == nil ? nil : .server)
        } else if asksServer, action != .revalidate, action != .validateCache, let length = word.length {
            (outlook.size, outlook.sizeSource) = (length, .server)
        }
        return outlook
    }
}
