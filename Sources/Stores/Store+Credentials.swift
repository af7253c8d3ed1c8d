import HTTPRules
import TransferModel

// Credentials with `persistence: permanent`, in the clear: the file is its user's alone, as `.netrc` is.

extension Store {
    func readCredentials(_ session: StoredSession, _ kept: inout SessionState.Kept) throws(StoreError) {
        let query = try database.prepare(
            """
            SELECT scheme, host, port, isProxy, method, hasRealm, realm, user, secret, folders
            FROM credentials WHERE session = ?
            """)
        query.bind(1, session.id)
        while try query.step() {
            // A method that this version does not know was written by another version.
            guard let method = AuthenticationMethod(stored: query.text(4) ?? ""),
                let port = query.integer(2).flatMap({ UInt16(exactly: $0) })
            else { continue }
            let origin = Origin(scheme: query.text(0) ?? "", host: query.text(1) ?? "", port: port)
            let space = ProtectionSpace(
                origin: origin, realm: query.integer(5) == 1 ? query.text(6) ?? "" : nil, method: method,
                isProxy: query.integer(3) == 1)
            let folders = (query.text(9) ?? "").split(separator: "\n").map(String.init)
            kept.credentials.append(
                StoredCredential(space: space, user: query.text(7) ?? "", secret: query.text(8) ?? "", folders: folders)
            )
        }
    }
}

struct CredentialWriter: ~Copyable {
    private let put: Statement
    private let remove: Statement

    init(_ database: borrowing Database, _ session: StoredSession) throws(StoreError) {
        let put = try database.prepare(
            """
            INSERT OR REPLACE INTO credentials (session, scheme, host, port, isProxy, method, hasRealm, realm, user,
                secret, folders)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        let remove = try database.prepare(
            """
            DELETE FROM credentials WHERE session = ? AND scheme = ? AND host = ? AND port = ? AND isProxy = ?
                AND method = ? AND hasRealm = ? AND realm = ? AND user = ? AND secret = ?
            """)
        put.bind(1, session.id)
        remove.bind(1, session.id)
        self.put = put
        self.remove = remove
    }

    func write(_ change: CredentialChange) throws(StoreError) {
        switch change {
        case .kept(let credential):
            bind(credential, to: put)
            put.bind(11, credential.folders.joined(separator: "\n"))
            try put.run()
        case .removed(let credential):
            bind(credential, to: remove)
            try remove.run()
        }
    }

    private func bind(_ credential: StoredCredential, to statement: borrowing Statement) {
        let space = credential.space
        statement.bind(2, space.origin.scheme)
        statement.bind(3, space.origin.host)
        statement.bind(4, Int64(space.origin.port))
        statement.bind(5, space.isProxy ? 1 : 0)
        statement.bind(6, space.method.stored)
        statement.bind(7, space.realm == nil ? 0 : 1)
        statement.bind(8, space.realm ?? "")
        statement.bind(9, credential.user)
        statement.bind(10, credential.secret)
    }
}
