import Diagnostics
import TransferModel
import YAMLTree

/// The checks that need only the task itself.
extension TaskLoader {
    /// Reports keys in a task of a type that they are not for. A default that does not fit is left out silently.
    func checkKeys(_ draft: TaskDraft) {
        let misplaced = written.present & ~table.rows(for: draft.type)
        guard misplaced != 0, draft.head.type != nil || !written.has(table.type) else { return }
        for row in Bits(misplaced) {
            let document = table.rows[row].document
            // Where the type is what other keys say, the task may be meant to be of another.
            let isMeant = written.has(table.type) ? "" : "; write `type` where the task is one of these"
            reader.error(
                "not-for-type", "`\(document.name)` is not for \(draft.type.rawValue) tasks",
                hint: "it is for: \(document.types.words)\(isMeant)", at: reader.tree.span(written.key(row)))
        }
    }

    func checkOptions(_ draft: TaskDraft, _ task: inout TaskSpecification) {
        let options = task.options
        checkBody(draft, options)
        recordReads(options.values.body, UInt32(tasks.count))
        if written.has(table.cellular), options.values.policies.allowsCellularAccess,
            !sessions.configurations[Int(draft.session.raw)].taskDefaults.allowsCellularAccess
        {
            reader.warning(
                "cannot-loosen", "a task cannot loosen `allowsCellularAccess: false` of its session",
                hint: "it has no effect",
                at: reader.tree.span(written.value(table.cellular)))
            var changed = options.values
            changed.policies.allowsCellularAccess = false
            task.options = TaskOptions(changed)
        }
        if options.values.next != nil { checkPages(draft, task) }
        if draft.type == .upload, written.has(table.existing) { checkExistingUpload(options.values, task) }
        if draft.type == .download, options.values.existing == .skip, !options.values.captures.isEmpty {
            reader.error(
                "conflicting-keys", "`existing: skip` and `capture` exclude each other",
                hint: "a file that is kept without a request leaves no answer to capture from",
                at: reader.beginning(draft.node))
        }
        if draft.type == .download, options.values.resume == .adopt { checkAdoption(options.values, draft) }
        if let size = options.values.expect.size, let least = options.values.expect.minimumSize, size < least {
            reader.error(
                "conflicting-keys", "`expect` wants \(size) bytes and no fewer than \(least)",
                hint: "leave `size` or `minimumSize` out", at: reader.beginning(draft.node))
        }
        let expected = max(options.values.expect.size ?? 0, options.values.expect.minimumSize ?? 0)
        if let most = options.values.maximumSize, most < expected {
            reader.error(
                "conflicting-keys", "`expect` wants \(expected) bytes, and `maximumSize` allows \(most)",
                hint: "raise `maximumSize`", at: reader.beginning(draft.node))
        }
        if draft.type == .download, options.values.method == "HEAD" {
            reader.error(
                "conflicting-keys", "a HEAD brings no content to make a file of",
                hint: "leave `method` out, or leave `to` out and look at the headers", at: reader.beginning(draft.node))
        }
        if draft.head.mirrors.count > 1 {
            var changed = task.options.values
            changed.mirrors = draft.head.mirrors.map { withQuery($0, draft.head) }
            task.options = TaskOptions(changed)
        }
    }

    /// Checks the body. Takes the options rather than their values, which are large to copy for each task.
    private func checkBody(_ draft: TaskDraft, _ options: TaskOptions) {
        guard let body = options.values.body else {
            let isWritten =
                written.has(table.body) || defaults.written.has(table.body) && written.nulls & bit(table.body) == 0
            if draft.type == .upload, !isWritten {
                reader.error("missing-key", "an upload needs a `body`", at: reader.beginning(draft.node))
            } else if draft.type != .upload, written.has(table.contentType),
                !isWritten || written.nulls & bit(table.body) != 0
            {
                reader.warning(
                    "no-effect", "`contentType` is the type of a `body`, and this task has none", hint: "leave it out",
                    at: reader.tree.span(written.key(table.contentType)))
            }
            return
        }
        let place = written.has(table.body) ? reader.tree.span(written.key(table.body)) : reader.beginning(draft.node)
        if options.values.method == "HEAD" {
            reader.error(
                "body-with-head", "a HEAD request has no body", hint: "leave `method` or `body` out", at: place)
        }
        if draft.type == .download, body.readsFiles {
            reader.error(
                "body-file", "a download does not send files",
                hint: "write the body into the job, let a `stream` command read the file, or make it an upload",
                at: place)
        }
        if body.isStream, options.values.resumable {
            reader.warning(
                "no-effect", "`resumable` has no effect on a `stream`: what a command writes cannot be asked for again",
                hint: "write it into a file first", at: place)
        }
        checkMultipart(body, options.values, at: place)
        checkStandardInput(body, at: place)
    }

    /// Reports a type with parameters for a `multipart` body: transfer-run chooses the boundary, because it must not
    /// occur in the parts.
    private func checkMultipart(_ body: RequestBody, _ values: TaskOptions.Values, at place: SourceSpan) {
        guard case .multipart = body else { return }
        var types = values.headers.filter { $0.isNamed("content-type") }.map(\.value)
        if let type = values.contentType { types.append(type) }
        for type in types where !RequestBody.isMultipart(type: type.redacted) && !isMissing(type) {
            reader.error(
                "invalid-value", "the type of a `multipart` body is a `multipart/…` without parameters",
                hint: "leave it out for `multipart/form-data`; the boundary is added", at: place)
        }
    }

    private func isMissing(_ text: SecretText) -> Bool {
        reader.missingValues == .tolerated && MissingValue.stands(in: text.revealed)
    }

    private func checkStandardInput(_ body: RequestBody, at place: SourceSpan) {
        guard case .stream(let command, _) = body, command.count == 1, command[0].plain == "-" else { return }
        if reader.source.name == "-" {
            reader.error(
                "standard-input", "standard input is the job file already",
                hint: "give the job as a file", at: place)
        } else if checks.inputReader != nil {
            reader.error(
                "standard-input", "two tasks send standard input, and there is one of it",
                hint: "write it into a file first", at: place)
        }
        checks.inputReader = UInt32(tasks.count)
    }

    func recordReads(_ body: RequestBody?, _ number: UInt32) {
        guard let body else { return }
        let node = written.has(table.body) ? written.value(table.body) : defaults.written.value(table.body)
        func record(_ path: SecretText) {
            guard let plain = path.plain else { return }
            checks.reads.append(.init(task: number, path: plain, node: node))
        }
        switch body {
        case .file(let path): record(path)
        case .multipart(let parts):
            for case .file(let path) in parts.map(\.content) { record(path) }
        case .data, .base64, .json, .form, .stream: break
        }
    }

    func checkBackground(_ draft: TaskDraft, _ task: TaskSpecification) {
        let values = task.options.values
        if values.policies.redirects.follow != .always, written.has(table.redirects) {
            reader.error(
                "background-restriction", "a background session always follows redirects",
                hint: "leave `follow` out", written.value(table.redirects))
        }
        if let body = values.body, case .file = body {
        } else if values.body != nil {
            let place = written.has(table.body) ? written.value(table.body) : draft.node
            reader.error(
                "background-restriction", "in a background session a body comes from a file",
                hint: "\(draft.type == .upload ? "write" : "make it an upload with") `body: { file: … }`",
                at: reader.beginning(place))
        }
        if defaults.refusesToWait, !written.has(table.waits), written.nulls & bit(table.waits) == 0 {
            defaults.refusesToWait = false
            warnOfWaiting(defaults.written.value(table.waits))
        }
    }

    func warnOfWaiting(_ value: NodeID) {
        reader.warning(
            "no-effect", "`waitsForConnectivity: false` has no effect in a background session",
            hint: "it always waits", at: reader.tree.span(value))
    }

    /// Reports `resume: adopt` beside keys that exclude it.
    private func checkAdoption(_ values: TaskOptions.Values, _ draft: TaskDraft) {
        let place = reader.beginning(written.has(table.resume) ? written.value(table.resume) : draft.node)
        switch values.existing {
        case .revalidate, .replace: break
        case .skip, .fail:
            let what = values.existing == .skip ? "keeps" : "refuses"
            reader.error(
                "conflicting-keys", "`resume: adopt` and `existing: \(values.existing.rawValue)` exclude each other",
                hint: "`\(values.existing.rawValue)` \(what) the file that `adopt` goes on with", at: place)
        }
        if values.decompress != .no {
            reader.error(
                "conflicting-keys", "`resume: adopt` and `decompress` exclude each other",
                hint: "what is unpacked on its way cannot be continued: leave one of them out", at: place)
        }
    }

    /// Checks an upload's `existing`.
    private func checkExistingUpload(_ values: TaskOptions.Values, _ task: TaskSpecification) {
        let node = written.value(table.existing)
        switch values.existing {
        case .replace: break
        case .revalidate:
            guard checkAskingUpload(values, node) else { return }
            if case .file? = values.body {
                checkKeptUpload(task, node)
            } else if values.body != nil {
                reader.error(
                    "conflicting-keys", "`existing: revalidate` of an upload is for `body: { file: … }`",
                    hint: "only a file can be known again; `skip` asks whether anything is there", node)
            }
        case .fail:
            reader.error(
                "conflicting-keys", "an upload knows no `existing: fail`",
                hint:
                    "`skip` leaves alone what is there; `If-None-Match: \"*\"` under `headers` lets the server refuse",
                node)
        case .skip: _ = checkAskingUpload(values, node)
        }
    }

    /// Checks an upload that asks the server first whether it is needed; returns whether it is allowed.
    private func checkAskingUpload(_ values: TaskOptions.Values, _ node: NodeID) -> Bool {
        let word = "`existing: \(values.existing.rawValue)`"
        if (values.method ?? "POST") != "PUT" {
            reader.error(
                "conflicting-keys", "\(word) of an upload is for `method: PUT`",
                hint: "what another method makes is not what a HEAD of the URL finds", node)
            return false
        }
        guard !values.captures.isEmpty else { return true }
        reader.error(
            "conflicting-keys", "\(word) and `capture` exclude each other",
            hint: "an upload that is not sent brings no answer to capture from", node)
        return false
    }

    /// Checks whether a record of the sent file can be kept for the next run.
    private func checkKeptUpload(_ task: TaskSpecification, _ node: NodeID) {
        if let url = task.location.url, !url.isHTTP {
            reader.error(
                "conflicting-keys", "`existing: revalidate` of an upload is for http and https",
                hint: "other servers cannot be asked what they have: leave `existing` out", node)
        } else if sessions.configurations[Int(task.session.raw)].kind == .ephemeral {
            reader.warning(
                "no-effect", "`existing: revalidate` of an upload has no effect in an ephemeral session",
                hint: "it keeps nothing of what was sent: each run sends the file",
                at: reader.tree.span(node))
        }
    }
}
