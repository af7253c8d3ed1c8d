import Diagnostics
import TransferModel
import YAMLTree

/// Tasks whose `to` is an object of a store: `to: s3://bucket/key`.
extension TaskLoader {
    /// Returns whether the task is a download that becomes an object.
    func namesObject(_ draft: TaskDraft) -> Bool {
        draft.type == .download && meansObject(draft)
    }

    /// Returns whether `to` is the name of an object, whatever the task's type.
    func meansObject(_ draft: TaskDraft) -> Bool {
        if let to = draft.head.to { return ObjectPlace.isMeant(by: to) }
        guard case .literal(let start)? = draft.head.awaitedTo?.pieces.first else { return false }
        return ObjectPlace.isMeant(by: start)
    }

    /// Reads where the object goes and who signs for it, and makes the task's options those of fetching its file.
    func readObject(_ draft: TaskDraft, _ task: inout TaskSpecification) {
        let place = (written.has(table.to) ? written : defaults.written).value(table.to)
        var values = task.options.values
        checkObject(draft, values)
        guard let name = objectName(draft, place) else { return }
        let signers = values.policies.credentials.filter { $0.objectStore != nil }
        guard let store = signers.first?.objectStore else { return reportUnsigned(name, place) }
        if let object = try? ObjectName(name.redacted), let url = try? store.url(of: object) {
            reader.recordHost(url, place)
            if case .at(let endpoint) = store, endpoint.lastPathComponent == object.bucket {
                reader.error(
                    "invalid-value", "the credential's `endpoint` names the bucket `\(object.bucket)` already",
                    hint: "leave it out there: the bucket follows from `to`", place)
            }
        }
        let ofStore = values.headers.filter { $0.name.lowercased().hasPrefix("x-amz-") }
        values.object = ObjectPlace(
            name: name, store: store, existing: values.existing,
            credentials: signers.filter { $0.objectStore == store }, headers: ofStore)
        // What is fetched becomes no file that could be there already.
        if values.existing != .replace { values.ownExisting = .revalidate }
        values.mode = nil
        values.headers.removeAll { $0.name.lowercased().hasPrefix("x-amz-") }
        // A key without a host is for the servers that the task names: here that is the store.
        values.policies.credentials.removeAll { $0.objectStore != nil && $0.host == nil }
        task.options = TaskOptions(values)
    }

    /// Returns the URL by which a task fetches an object from the store that its session has a key for.
    func plainURL(ofObject url: ResourceURL, _ draft: TaskDraft) -> String? {
        let credentials = sessions.configurations[Int(draft.session.raw)].taskDefaults.credentials
        guard ObjectPlace.isMeant(by: url.text), let store = credentials.lazy.compactMap(\.objectStore).first,
            let object = try? ObjectName(PercentEncoding.decode(url.text) ?? url.text)
        else { return nil }
        return (try? store.url(of: object))?.text
    }

    /// Reports that no credential signs for an object; one that could not be read was reported already.
    private func reportUnsigned(_ name: SecretText, _ place: NodeID) {
        guard !reader.lacksCredential else { return }
        let other = sessions.configurations.first { session in
            session.taskDefaults.credentials.contains { $0.objectStore != nil }
        }
        reader.error(
            "missing-key", "no credential of this task signs for `\(Reader.short(name.redacted))`",
            hint: other.map { "the session `\($0.name)` has one: `session: \($0.name)`" }
                ?? "`credentials: [{ method: awsSigV4, accessKey: …, secretKey: …, region: …, service: s3 }]`", place)
    }

    private func objectName(_ draft: TaskDraft, _ place: NodeID) -> SecretText? {
        let name = draft.head.to.map { SecretText($0) } ?? draft.head.awaitedTo
        guard let name else { return nil }
        do throws(ObjectName.Problem) {
            // What is captured may be any part of a key, but not of a bucket's name.
            if name.awaitsCapture {
                guard case .literal(let start)? = name.pieces.first else { return nil }
                let known = start.dropFirst("s3://".count).contains("/")
                _ = try ObjectName(known ? start + "x" : start)
            } else {
                _ = try ObjectName(name.redacted)
            }
        } catch {
            return reader.error(
                "invalid-value", "`\(Reader.short(name.redacted))` \(error.message)", hint: error.hint, place)
        }
        return name
    }

    /// Reports keys that mean nothing for an object.
    private func checkObject(_ draft: TaskDraft, _ values: TaskOptions.Values) {
        let conflicts: [(Bool, Int, String, String)] = [
            (draft.head.group != nil, table.group, "group", "a group is a folder of this machine"),
            (written.has(table.mode), table.mode, "mode", "an object has no mode"),
            (
                values.onResponse.contains { $0.action == .download }, table.to, "onResponse: do: download",
                "a rule's file is one of this machine"
            ),
            (values.next != nil, table.next, "next", "give each page to a task of its own, or write files"),
            (
                values.resume == .adopt, table.resume, "resume: adopt",
                "what another program put there is not on this machine"
            ),
            (
                values.existing == .skip && values.checksum != nil, table.checksum, "existing: skip` and `checksum",
                "`existing: revalidate` puts what the store does not have in this version"
            ),
        ]
        for (isSet, row, name, hint) in conflicts where isSet {
            reader.error(
                "conflicting-keys", "`to: s3://…` and `\(name)` exclude each other", hint: hint,
                at: written.has(row) ? reader.tree.span(written.key(row)) : reader.beginning(draft.node))
        }
    }
}
