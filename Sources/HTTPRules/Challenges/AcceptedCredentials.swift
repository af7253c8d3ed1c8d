import TransferModel

/// The credentials that servers accepted in a session: each is sent with later requests without waiting for a
/// challenge.
///
/// It only says that a credential is accepted for a space, and how. A credential is sent only when the task's own
/// list gives it for that space.
package struct AcceptedCredentials: Sendable {
    /// An accepted credential.
    struct Entry: Sendable {
        let space: ProtectionSpace
        /// The job's credential; `nil` when an earlier run stored the entry.
        var credential: Credential?
        /// User named by the URL, for credentials that are looked up by user: another user's is another entry.
        var asked: String?
        var secret: ShownSecret
        /// Folders below which the space is known to extend; `/` for a proxy or a connection.
        var folders: [String]
        /// State of a live Digest nonce, else `nil`.
        var digest: DigestState?
    }
    /// An origin or proxy, by which entries are grouped.
    private struct Place: Hashable {
        let origin: Origin
        let isProxy: Bool
        init(origin: Origin, isProxy: Bool) { (self.origin, self.isProxy) = (origin, isProxy) }
        init(_ space: ProtectionSpace) { self.init(origin: space.origin, isProxy: space.isProxy) }
    }
    private var entriesByPlace: [Place: [Entry]] = [:]
    private var changes: [CredentialChange] = []
    /// Entries of one origin, and folders of one entry, at most.
    package static let maximumPerOrigin = 64

    package init() {}

    /// Whether there are no entries.
    package var isEmpty: Bool { entriesByPlace.isEmpty }

    var hasChanges: Bool { !changes.isEmpty }

    /// Returns the changes for the store since the last call.
    package mutating func takeChanges() -> [CredentialChange] {
        defer { changes = [] }
        return changes
    }

    // MARK: Lookup

    /// Returns the entries that cover the path, the nearest folder first.
    func entries(for path: String, at origin: Origin, isProxy: Bool) -> [Entry] {
        guard !entriesByPlace.isEmpty, let list = entriesByPlace[Place(origin: origin, isProxy: isProxy)] else {
            return []
        }
        let near = list.compactMap { entry in Self.nearest(entry.folders, path).map { (entry, $0) } }
        return near.sorted { $0.1 > $1.1 }.map(\.0)
    }

    /// Length in bytes of the nearest folder that contains the path; `nil` without one.
    private static func nearest(_ folders: [String], _ path: String) -> Int? {
        folders.filter { path.utf8.starts(with: $0.utf8) }.map(\.utf8.count).max()
    }

    /// The folder that contains a path; deeper paths belong to the same space (RFC 7617, section 2.2).
    static func folder(of path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// Returns the next answer of a live Digest; `nil` when its entry was forgotten meanwhile.
    mutating func digest(
        _ space: ProtectionSpace, of credential: Credential, asked: String?, for request: DigestedRequest,
        clientNonce: String
    ) -> SecretText? {
        let place = Place(space)
        guard let index = index(space, credential, asked), let secret = entriesByPlace[place]?[index].secret else {
            return nil
        }
        return entriesByPlace[place]?[index].digest?.authorization(secret, for: request, clientNonce: clientNonce)
    }

    /// Takes over the nonce that the server wants next.
    mutating func take(
        authenticationInfo text: String, _ space: ProtectionSpace, of credential: Credential, asked: String?
    ) {
        guard let index = index(space, credential, asked) else { return }
        entriesByPlace[Place(space)]?[index].digest?.take(authenticationInfo: text)
    }

    private func index(_ space: ProtectionSpace, _ credential: Credential, _ asked: String?) -> Int? {
        entriesByPlace[Place(space)]?.firstIndex {
            $0.space == space && $0.credential == credential && $0.asked == asked
        }
    }

    // MARK: What is learned

    /// Adds a credential that the server accepted, or extends its entry.
    mutating func learn(
        _ space: ProtectionSpace, _ secret: ShownSecret, of credential: Credential, asked: String?,
        folders: [String], digest: DigestState?
    ) {
        guard credential.persistence != .none else { return }
        let place = Place(space)
        var list = entriesByPlace[place] ?? []
        let index = list.firstIndex { entry in
            entry.space == space && entry.asked == asked
                && (entry.credential == credential || entry.credential == nil && entry.secret.isSame(as: secret))
        }
        let old = index.map { list.remove(at: $0) }
        var entry = Entry(
            space: space, credential: credential, asked: asked, secret: secret, folders: [], digest: digest)
        let isSame = old?.secret.isSame(as: secret) == true
        // Another password may be valid for other folders.
        entry.folders = Self.adding(folders, to: isSame ? old?.folders ?? [] : [])
        if list.count >= Self.maximumPerOrigin { list.removeFirst() }
        list.append(entry)
        entriesByPlace[place] = list
        // The store does not record for which user a credential was looked up.
        if credential.persistence == .permanent, asked == nil, !isSame || old?.folders != entry.folders {
            changes.append(.kept(StoredCredential(entry)))
        }
    }

    /// Returns the known folders with others added, without folders that lie in another one.
    private static func adding(_ folders: [String], to known: [String]) -> [String] {
        var known = known
        for folder in folders where !known.contains(where: { folder.utf8.starts(with: $0.utf8) }) {
            known.removeAll { $0.utf8.starts(with: folder.utf8) }
            if known.count < maximumPerOrigin { known.append(folder) }
        }
        return known
    }

    /// Removes a credential that the server refused, so that it is neither sent again nor stored.
    mutating func forget(_ space: ProtectionSpace, _ secret: ShownSecret) {
        let place = Place(space)
        guard
            let index = entriesByPlace[place]?.firstIndex(where: { $0.space == space && $0.secret.isSame(as: secret) }),
            let entry = entriesByPlace[place]?.remove(at: index)
        else { return }
        if entriesByPlace[place]?.isEmpty == true { entriesByPlace[place] = nil }
        if entry.credential == nil || entry.credential?.persistence == .permanent {
            changes.append(.removed(StoredCredential(entry)))
        }
    }

    /// Adds the credentials that earlier runs stored.
    package mutating func take(stored: [StoredCredential]) {
        for one in stored {
            guard let entry = one.entry else { continue }
            let place = Place(entry.space)
            guard !(entriesByPlace[place] ?? []).contains(where: { $0.space == entry.space }),
                (entriesByPlace[place] ?? []).count < Self.maximumPerOrigin
            else { continue }
            entriesByPlace[place, default: []].append(entry)
        }
    }
}

/// A change that the store records.
package enum CredentialChange: Hashable, Sendable {
    /// Store the credential, in place of an earlier one for the same space.
    case kept(StoredCredential)
    /// Delete the credential.
    case removed(StoredCredential)
}

/// A credential as a store keeps it: unencrypted, in a private file.
package struct StoredCredential: Hashable, Sendable {
    /// The space in which the server accepted the credential.
    package let space: ProtectionSpace
    /// User name; empty for a token.
    package let user: String
    /// The password or token.
    package let secret: String
    /// Paths of the folders in which the credential counts, each with its last slash.
    package let folders: [String]

    package init(space: ProtectionSpace, user: String, secret: String, folders: [String]) {
        self.space = space
        self.user = user
        self.secret = secret
        self.folders = folders
    }

    fileprivate init(_ entry: AcceptedCredentials.Entry) {
        switch entry.secret {
        case .password(let user, let password):
            self.init(
                space: entry.space, user: user.revealed, secret: password.revealed, folders: entry.folders)
        case .token(let token):
            self.init(space: entry.space, user: "", secret: token.revealed, folders: entry.folders)
        }
    }

    /// The entry, or `nil` for a stored credential that this program would not have stored.
    fileprivate var entry: AcceptedCredentials.Entry? {
        let secret: ShownSecret =
            space.method == .bearer
            ? .token(SecretText(pieces: [.secret(name: "token", value: secret, hosts: nil)]))
            : .found(user: user, password: self.secret)
        guard secret.isShowable(by: space.method), !folders.isEmpty, folders.allSatisfy({ $0.hasPrefix("/") }) else {
            return nil
        }
        return AcceptedCredentials.Entry(space: space, credential: nil, secret: secret, folders: folders, digest: nil)
    }
}

extension StoredCredential: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(space.method.stored) at \(space.origin)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
