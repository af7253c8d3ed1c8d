import TransferModel
import YAMLTree

/// Reads `credentials`, and reports what their kinds exclude.
struct CredentialReader {
    let reader: Reader

    func credentials(_ node: NodeID) -> [Credential]? {
        reader.elements(node, .list(.object("credential"))) { element in
            var draft = CredentialDraft()
            Sections.credential.decode(element, into: &draft, reader)
            guard reader.tree.kind(element) == .mapping, let source = source(of: draft, element) else {
                reader.lacksCredential = true
                return nil
            }
            check(draft, element)
            var credential = Credential(source: source)
            credential.host = draft.host
            credential.realm = draft.realm
            credential.method = draft.method ?? (draft.token == nil ? .any : .bearer)
            credential.isForProxy = draft.proxy
            credential.preemptive = draft.preemptive
            credential.maximumFailures = draft.maximumFailures
            credential.persistence = draft.persistence
            credential.endpoint = draft.endpoint
            if case .oauth2 = source {
                (credential.method, credential.preemptive, credential.persistence) = (.bearer, true, .none)
            }
            if let endpoint = draft.endpoint, draft.host == nil {
                credential.host = HostPattern("\(endpoint.host):\(endpoint.port)")
            }
            return credential
        }
    }

    /// Reports values that cannot be sent: they would end their header's line, or become another user name.
    private func check(_ draft: CredentialDraft, _ node: NodeID) {
        let texts = [
            ("user", draft.user), ("password", draft.password), ("token", draft.token),
            ("accessKey", draft.accessKey), ("secretKey", draft.secretKey), ("sessionToken", draft.sessionToken),
            ("region", draft.region.map { SecretText($0) }), ("service", draft.service.map { SecretText($0) }),
        ]
        for (name, text) in texts {
            guard let text, text.revealed.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { continue }
            reader.error("invalid-value", "`\(name)` holds a control character", at: reader.beginning(node))
        }
        if draft.method == .basic, draft.user?.revealed.utf8.contains(UInt8(ascii: ":")) == true {
            reader.error(
                "invalid-value", "a `user` with a colon would be another one in `method: basic`",
                at: reader.beginning(node))
        }
    }

    private func source(of draft: CredentialDraft, _ node: NodeID) -> Credential.Source? {
        if draft.method == .negotiate { reader.record(.read, "the user's Kerberos tickets", node) }
        if draft.method == .awsSigV4 { return signature(draft, node) }
        if draft.hasSigningKeys {
            refuse(
                node,
                "`accessKey`, `secretKey`, `sessionToken`, `region`, `service` and `endpoint` are for `method: awsSigV4`"
            )
            return nil
        }
        var sources: [Credential.Source] = []
        if let password = draft.password, let user = draft.user {
            sources.append(.password(user: user, password: password))
        }
        if let token = draft.token { sources.append(.token(token)) }
        if let helper = draft.helper { sources.append(.helper(helper)) }
        if draft.netrc {
            sources.append(.netrc)
            reader.record(.read, "the user's .netrc", node)
        }
        if let oauth2 = draft.oauth2 {
            guard let client = OAuth2Reader(reader: reader).client(oauth2, of: draft, node) else { return nil }
            sources.append(.oauth2(client))
        }
        if sources.count == 1 {
            refuseHalves(draft, node)
            refuseUnusable(draft, node)
            return sources[0]
        }
        let hint = "give it `user` and `password`, or one of `token`, `helper`, `netrc: true` and `oauth2`"
        if sources.isEmpty {
            // A key that is present but could not be read was reported already.
            let written = writtenKeys(node)
            if !written.isDisjoint(with: ["token", "helper", "netrc", "oauth2"])
                || written.isSuperset(of: ["user", "password"])
            {
                return nil
            }
            reader.error("missing-key", "a credential must say what to show", hint: hint, at: reader.beginning(node))
        } else {
            refuse(node, "a credential has one source", hint: hint)
        }
        return nil
    }

    private func refuse(_ node: NodeID, _ message: String, hint: String? = nil) {
        reader.error("conflicting-keys", message, hint: hint, at: reader.beginning(node))
    }

    /// Reports a user name without password, or the reverse, beside another source, where it has no effect.
    private func refuseHalves(_ draft: CredentialDraft, _ node: NodeID) {
        let half: (name: String, other: String)
        switch (draft.user != nil, draft.password != nil) {
        case (true, false): half = ("user", "password")
        case (false, true): half = ("password", "user")
        case (true, true), (false, false): return
        }
        refuse(
            node, "`\(half.name)` goes with `\(half.other)`, and this credential has another source",
            hint: "leave it out")
    }

    /// Reports values that the credential's method cannot send, and those that cannot be sent before a challenge.
    private func refuseUnusable(_ draft: CredentialDraft, _ node: NodeID) {
        if draft.preemptive, draft.realm != nil {
            refuse(
                node, "`preemptive` and `realm` exclude each other",
                hint: "which realm it is a server only says when it asks")
        }
        if draft.preemptive, draft.method == .digest {
            refuse(
                node, "`preemptive` and `method: digest` exclude each other",
                hint: "a digest is of what the server says when it asks")
        }
        guard let method = draft.method, method != .any else { return }
        if draft.token != nil, method != .bearer {
            refuse(node, "a `token` is shown by `method: bearer` alone, not by `\(method.rawValue)`")
        } else if draft.password != nil, method == .bearer {
            refuse(node, "`method: bearer` shows a `token`, no `user` and `password`")
        }
    }

    /// Returns the keys that have a value; `netrc: false` counts as none.
    func writtenKeys(_ node: NodeID) -> Set<String> {
        let entries = reader.tree.entries(node).filter { key, value in
            !reader.tree.isNull(value) && !(reader.tree.text(key, is: "netrc") && reader.tree.text(value) == "false")
        }
        return Set(entries.map { reader.tree.text($0.0) })
    }

    /// Returns the URL of an object store.
    func endpoint(_ node: NodeID) -> ResourceURL? {
        guard let url = reader.url(node) else { return nil }
        guard url.isHTTP, url.query == nil, url.userInformation == nil else {
            return reader.error(
                "invalid-value", "`endpoint` is an http or https URL without user and query",
                hint: "such as `https://s3.example.org`", node)
        }
        return url
    }

    private func signature(_ draft: CredentialDraft, _ node: NodeID) -> Credential.Source? {
        guard let access = draft.accessKey, let secret = draft.secretKey, let region = draft.region,
            let service = draft.service
        else {
            let written = writtenKeys(node)
            if !written.isSuperset(of: ["accessKey", "secretKey", "region", "service"]) {
                reader.error(
                    "missing-key", "`method: awsSigV4` needs `accessKey`, `secretKey`, `region` and `service`",
                    at: reader.beginning(node))
            }
            return nil
        }
        if draft.hasAnswer || draft.proxy {
            refuse(
                node,
                "`method: awsSigV4` signs each request to its servers; it goes with no `realm`, no `proxy` and nothing "
                    + "else to show")
            return nil
        }
        if let endpoint = draft.endpoint {
            if service != "s3" {
                refuse(
                    node, "`endpoint` is where `to: s3://…` goes, and this key is for `\(service)`",
                    hint: "`service: s3`")
            } else if let host = draft.host, !host.matches(endpoint.origin) {
                refuse(
                    node, "the key is for `\(host)` alone, and its `endpoint` is at `\(endpoint.host)`",
                    hint: "leave `host` out")
            }
        }
        let ofChallenges = ["preemptive", "maximumFailures", "persistence"]
        if let name = ofChallenges.first(where: writtenKeys(node).contains) {
            refuse(
                node, "`\(name)` is about servers that ask, and `method: awsSigV4` signs unasked", hint: "leave it out")
        }
        return .aws(
            accessKey: access, secretKey: secret, sessionToken: draft.sessionToken, region: region, service: service)
    }
}
