import TransferModel

/// What a session learned of who it is where: a credential that was let in goes out at once from then on.
///
/// Nothing in it is sent that the task's own list of credentials does not give for that space: the book only knows that,
/// and how, it is let in there.
package struct CredentialBook: Sendable {
    struct Entry: Sendable {
        let space: ProtectionSpace
        /// Of which credential of the job; `nil` for what an earlier run left.
        var credential: Credential?
        /// As whom the URL asked to go where others are asked who that is: somebody else's is another entry.
        var asked: String?
        var secret: ShownSecret
        /// Folders below which the space is known to be; of a proxy or a connection all of it.
        var folders: [String]
        /// The live nonce of a Digest.
        var digest: DigestState?
    }
    private struct Place: Hashable {
        let origin: Origin
        let isProxy: Bool
        init(origin: Origin, isProxy: Bool) { (self.origin, self.isProxy) = (origin, isProxy) }
        init(_ space: ProtectionSpace) { self.init(origin: space.origin, isProxy: space.isProxy) }
    }
    private var shelves: [Place: [Entry]] = [:]
    private var changes: [CredentialChange] = []
    package static let maximumPerOrigin = 64

    package init() {}

    package var isEmpty: Bool { shelves.isEmpty }

    var hasChanges: Bool { !changes.isEmpty }

    /// What the store is to be told, since this was last asked.
    package mutating func takeChanges() -> [CredentialChange] {
        defer { changes = [] }
        return changes
    }

    // MARK: What is there

    /// What covers the path, the nearest folder first.
    func entries(for path: String, at origin: Origin, isProxy: Bool) -> [Entry] {
        guard !shelves.isEmpty, let shelf = shelves[Place(origin: origin, isProxy: isProxy)] else { return [] }
        let near = shelf.compactMap { entry in Self.nearest(entry.folders, path).map { (entry, $0) } }
        return near.sorted { $0.1 > $1.1 }.map(\.0)
    }

    /// How much of the path the nearest folder covers.
    private static func nearest(_ folders: [String], _ path: String) -> Int? {
        folders.filter { path.utf8.starts(with: $0.utf8) }.map(\.utf8.count).max()
    }

    /// The folder that a path is in: what lies deeper is of the same space (RFC 7617, section 2.2).
    static func folder(of path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// The next answer of a live Digest; `nil` when it was forgotten meanwhile.
    mutating func digest(
        _ space: ProtectionSpace, of credential: Credential, asked: String?, for request: DigestedRequest,
        clientNonce: String
    ) -> SecretText? {
        let place = Place(space)
        guard let index = index(space, credential, asked), let secret = shelves[place]?[index].secret else {
            return nil
        }
        return shelves[place]?[index].digest?.authorization(secret, for: request, clientNonce: clientNonce)
    }

    /// A server named the nonce it wants next.
    mutating func take(
        authenticationInfo text: String, _ space: ProtectionSpace, of credential: Credential, asked: String?
    ) {
        guard let index = index(space, credential, asked) else { return }
        shelves[Place(space)]?[index].digest?.take(authenticationInfo: text)
    }

    private func index(_ space: ProtectionSpace, _ credential: Credential, _ asked: String?) -> Int? {
        shelves[Place(space)]?.firstIndex {
            $0.space == space && $0.credential == credential && $0.asked == asked
        }
    }

    // MARK: What is learned

    /// It was let in.
    mutating func learn(
        _ space: ProtectionSpace, _ secret: ShownSecret, of credential: Credential, asked: String?,
        folders: [String], digest: DigestState?
    ) {
        guard credential.persistence != .none else { return }
        let place = Place(space)
        var shelf = shelves[place] ?? []
        let index = shelf.firstIndex { entry in
            entry.space == space && entry.asked == asked
                && (entry.credential == credential || entry.credential == nil && entry.secret.isSame(as: secret))
        }
        let old = index.map { shelf.remove(at: $0) }
        var entry = Entry(
            space: space, credential: credential, asked: asked, secret: secret, folders: [], digest: digest)
        let isSame = old?.secret.isSame(as: secret) == true
        // Another password may open another part of the house.
        entry.folders = Self.adding(folders, to: isSame ? old?.folders ?? [] : [])
        if shelf.count >= Self.maximumPerOrigin { shelf.removeFirst() }
        shelf.append(entry)
        shelves[place] = shelf
        // The store does not know for whom one was asked.
        if credential.persistence == .permanent, asked == nil, !isSame || old?.folders != entry.folders {
            changes.append(.kept(StoredCredential(entry)))
        }
    }

    /// A folder that lies in another is known with that.
    private static func adding(_ folders: [String], to known: [String]) -> [String] {
        var known = known
        for folder in folders where !known.contains(where: { folder.utf8.starts(with: $0.utf8) }) {
            known.removeAll { $0.utf8.starts(with: folder.utf8) }
            if known.count < maximumPerOrigin { known.append(folder) }
        }
        return known
    }

    /// It was refused: it is not shown again, and not kept.
    mutating func forget(_ space: ProtectionSpace, _ secret: ShownSecret) {
        let place = Place(space)
        guard let index = shelves[place]?.firstIndex(where: { $0.space == space && $0.secret.isSame(as: secret) }),
            let entry = shelves[place]?.remove(at: index)
        else { return }
        if shelves[place]?.isEmpty == true { shelves[place] = nil }
        if entry.credential == nil || entry.credential?.persistence == .permanent {
            changes.append(.removed(StoredCredential(entry)))
        }
    }

    /// With what earlier runs left.
    package mutating func take(stored: [StoredCredential]) {
        for one in stored {
            guard let entry = one.entry else { continue }
            let place = Place(entry.space)
            guard !(shelves[place] ?? []).contains(where: { $0.space == entry.space }),
                (shelves[place] ?? []).count < Self.maximumPerOrigin
            else { continue }
            shelves[place, default: []].append(entry)
        }
    }
}

package enum CredentialChange: Hashable, Sendable {
    case kept(StoredCredential)
    case removed(StoredCredential)
}

/// A credential as a store keeps it: in the clear, in a private file.
package struct StoredCredential: Hashable, Sendable {
    package let space: ProtectionSpace
    /// Empty for a token.
    package let user: String
    package let secret: String
    /// With the last slash of each.
    package let folders: [String]

    package init(space: ProtectionSpace, user: String, secret: String, folders: [String]) {
        self.space = space
        self.user = user
        self.secret = secret
        self.folders = folders
    }

    fileprivate init(_ entry: CredentialBook.Entry) {
        switch entry.secret {
        case .password(let user, let password):
            self.init(
                space: entry.space, user: user.revealed, secret: password.revealed, folders: entry.folders)
        case .token(let token):
            self.init(space: entry.space, user: "", secret: token.revealed, folders: entry.folders)
        }
    }

    /// Of a store nothing is believed that this room would not have put there.
    fileprivate var entry: CredentialBook.Entry? {
        let secret: ShownSecret =
            space.method == .bearer
            ? .token(SecretText(pieces: [.secret(name: "token", value: secret, hosts: nil)]))
            : .found(user: user, password: self.secret)
        guard secret.isShowable(by: space.method), !folders.isEmpty, folders.allSatisfy({ $0.hasPrefix("/") }) else {
            return nil
        }
        return CredentialBook.Entry(space: space, credential: nil, secret: secret, folders: folders, digest: nil)
    }
}

extension StoredCredential: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(space.method.stored) at \(space.origin)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
