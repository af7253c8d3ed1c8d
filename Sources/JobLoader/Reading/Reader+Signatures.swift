import TextFormats
import TransferModel
import YAMLTree

/// Reads the `signature` of a `checksum`.
extension Reader {
    private static var keyHint: String {
        "or write the key itself: the \(MinisignKey.textLength) characters that begin with `RW`"
    }
    private static var longestKeyFile: Int { 16 << 10 }

    /// Returns the signature that a checksum file at `file` must have.
    func signature(_ proof: ListProof, of file: ResourceURL) -> RequiredSignature {
        let url = proof.url ?? RequiredSignature.usualPlace(of: file)
        if proof.url == nil { noteHost(url, proof.node) }
        return RequiredSignature(key: proof.key, url: url)
    }

    /// Reads the text of a minisign public key, or the file that holds one.
    func minisignKey(_ node: NodeID) -> MinisignKey? {
        guard let text = text(node, .text, place: .word) else { return nil }
        let key = MinisignKey(base64: text) ?? keyFile(text, node)
        if let key { note(.key, "\(key)", node) }
        return key
    }

    private func keyFile(_ text: String, _ node: NodeID) -> MinisignKey? {
        // Paths seldom look like that, and a key that lacks a character is reported as a key.
        let isKeyLike = text.hasPrefix("RW") && text.utf8.count > 40 && !text.utf8.contains(UInt8(ascii: "."))
        guard !isKeyLike else {
            let count = text.utf8.count
            let why =
                count == MinisignKey.textLength
                ? "a character of it is wrong" : "it has \(count) characters, not \(MinisignKey.textLength)"
            error("invalid-value", "`\(Self.short(text))` is no minisign public key: \(why)", node)
            return nil
        }
        guard let path = absolutePath(text, node) else { return nil }
        if let known = minisignKeys[path] { return known }
        noteFile(.read, path, node)
        switch resources.readFile(path, Self.longestKeyFile) {
        case .success(let bytes):
            guard let key = MinisignKey(file: bytes) else {
                error(
                    "invalid-value", "`\(Self.short(text))` holds no minisign public key",
                    hint: "it is the file that `minisign -G` writes as `minisign.pub`", node)
                return nil
            }
            minisignKeys[path] = key
            return key
        case .failure(.notFound) where missingValues == .tolerated:
            warning(
                "missing-value", "the key file `\(Self.short(text))` is not here, and a run needs it",
                hint: Self.keyHint, at: tree.span(node))
        case .failure(let problem):
            error(
                "unreadable-file", "the key file `\(Self.short(text))`: \(problem.words)",
                hint: problem == .notFound ? Self.keyHint : nil, node)
        }
        return nil
    }
}
