import TextFormats
import TransferModel
import YAMLTree

/// Reads `checksum` with its `signature`.
struct ChecksumReader {
    let reader: Reader

    func checksum(_ node: NodeID) -> ChecksumSource? {
        guard reader.tree.kind(node) == .mapping else {
            guard let text = reader.secretText(node, Sections.checksumShape, captures: true) else { return nil }
            if text.awaitsCapture, !text.isSecret { return .awaited(text) }
            return reader.plain(text, node).flatMap { literalChecksum($0, node) }.map { .literal($0) }
        }
        var draft = Sections.ChecksumDraft()
        Sections.checksum.decode(node, into: &draft, reader)
        if draft.algorithm == .xxh3, let named = reader.named(node).first(where: { $0.name == "algorithm" }) {
            reader.unknownWord("xxh3", named.value, DigestAlgorithm.allCases.map(\.rawValue))
        }
        guard let from = draft.from else { return nil }
        var listed = ListedChecksum(algorithm: draft.algorithm, entry: draft.entry)
        let proof = draft.signature.flatMap { signature in
            signature.key.map { ListProof(key: $0, url: signature.url, node: signature.node) }
        }
        // A signature that cannot be read was reported, and the job does not run.
        if from.text.contains("://") {
            guard let url = reader.parseURL(SecretText(from.text), from.node) else { return nil }
            listed.signature = proof.map { signature($0, of: url) }
            return .url(url, listed)
        }
        reader.checksumTasks.append(ChecksumTask(text: from.text, node: from.node, proof: proof))
        // The task is resolved once all are read; until then the index is that of its name in `checksumTasks`.
        let name = TaskIndex(raw: UInt32(reader.checksumTasks.count - 1))
        return .task(name, listed)
    }

    /// Names the algorithm of a digest without one, where its length tells it.
    private static func hint(ofDigits text: String) -> String? {
        guard text.utf8.count % 2 == 0, text.utf8.allSatisfy({ PercentEncoding.hexValue($0) != nil }),
            let algorithm = DigestAlgorithm.allCases.first(where: { $0.byteCount * 2 == text.utf8.count })
        else { return nil }
        return "\(text.utf8.count) hex digits are most likely a \(algorithm.rawValue): "
            + "write `\(algorithm.rawValue):\(text.prefix(8))…`"
    }

    private func literalChecksum(_ text: String, _ node: NodeID) -> Checksum? {
        let known = DigestAlgorithm.allCases.map(\.rawValue)
        guard let colon = text.firstIndex(of: ":") else {
            let hint =
                "it begins with \(Shape.oneOf(known.map { "\($0):" })); a file of checksums is named by "
                + "`checksum: { from: … }`"
            return reader.invalid(node, Sections.checksumShape, text, hint: Self.hint(ofDigits: text) ?? hint)
        }
        guard let algorithm = DigestAlgorithm.allCases.first(where: { $0.rawValue == text[..<colon] }) else {
            let name = String(text[..<colon])
            return reader.error(
                "invalid-value", "`\(Reader.short(name))` is no checksum algorithm",
                hint: reader.closest(name, known).map { "did you mean `\($0)`?" } ?? "known: \(Shape.oneOf(known))",
                node)
        }
        let digits = String(text[text.index(after: colon)...])
        guard let bytes = ValueText.hex(digits) else {
            return reader.error(
                "invalid-value", "a checksum is written in hex digits, not `\(Reader.short(digits))`", node)
        }
        guard bytes.count == algorithm.byteCount else {
            return reader.error(
                "invalid-value",
                "a \(algorithm.rawValue) checksum has \(algorithm.byteCount * 2) hex digits, this one has \(digits.utf8.count)",
                node)
        }
        return Checksum(algorithm: algorithm, bytes: bytes)
    }

    private static var keyHint: String {
        "or write the key itself: the \(MinisignKey.textLength) characters that begin with `RW`"
    }

    private static var longestKeyFile: Int { 16 << 10 }

    /// Returns the signature that a checksum file at `file` must have.
    func signature(_ proof: ListProof, of file: ResourceURL) -> RequiredSignature {
        let url = proof.url ?? RequiredSignature.usualPlace(of: file)
        if proof.url == nil { reader.recordHost(url, proof.node) }
        return RequiredSignature(key: proof.key, url: url)
    }

    /// Reads the text of a minisign public key, or the file that holds one.
    func minisignKey(_ node: NodeID) -> MinisignKey? {
        guard let text = reader.text(node, .text, place: .word) else { return nil }
        let key = MinisignKey(base64: text) ?? keyFile(text, node)
        if let key { reader.record(.key, "\(key)", node) }
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
            return reader.error("invalid-value", "`\(Reader.short(text))` is no minisign public key: \(why)", node)
        }
        guard let path = reader.absolutePath(text, node) else { return nil }
        if let known = reader.minisignKeys[path] { return known }
        reader.recordFile(.read, path, node)
        switch reader.resources.readFile(path, Self.longestKeyFile) {
        case .success(let bytes):
            guard let key = MinisignKey(file: bytes) else {
                return reader.error(
                    "invalid-value", "`\(Reader.short(text))` holds no minisign public key",
                    hint: "it is the file that `minisign -G` writes as `minisign.pub`", node)
            }
            reader.minisignKeys[path] = key
            return key
        case .failure(.notFound) where reader.missingValues == .tolerated:
            reader.warning(
                "missing-value", "the key file `\(Reader.short(text))` is not here, and a run needs it",
                hint: Self.keyHint, at: reader.tree.span(node))
        case .failure(let problem):
            reader.error(
                "unreadable-file", "the key file `\(Reader.short(text))`: \(problem.words)",
                hint: problem == .notFound ? Self.keyHint : nil, node)
        }
        return nil
    }
}

/// A task that `checksum: { from: … }` names.
struct ChecksumTask: Hashable {
    let text: String
    let node: NodeID
    /// How that file proves itself; `nil` if it need not.
    let proof: ListProof?
}

/// The `signature` of a `checksum`, while it is read.
struct ListProof: Hashable {
    let key: MinisignKey
    /// Where the signature is; `nil` for the usual place.
    let url: ResourceURL?
    let node: NodeID
}
