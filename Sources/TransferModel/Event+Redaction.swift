// The only way out: the event log redacts every event here before any consumer gets it. Each payload maps all texts
// that it holds; numbers, dates and digests cannot hold a secret's text.

extension Event {
    /// Returns the event with `***` for every secret in it.
    package func redacted(by redactor: Redactor) -> Event {
        if redactor.isEmpty { return self }
        // Without secrets the names are looked for first: nearly no event shows one, and then it stays as it is.
        if let names = redactor.namesAlone, !kind.shows(names) { return self }
        var event = self
        event.kind = kind.redacted(by: redactor)
        return event
    }
}

extension Event.Kind {
    fileprivate func redacted(by redactor: Redactor) -> Event.Kind {
        switch self {
        case .attemptStarted(let record): .attemptStarted(record.redacted(by: redactor))
        case .challenge(let record): .challenge(record.redacted(by: redactor))
        case .redirect(let record): .redirect(record.redacted(by: redactor))
        case .response(let record): .response(record.redacted(by: redactor))
        case .fileFinished(let record): .fileFinished(record.redacted(by: redactor))
        case .pageFinished(let record): .pageFinished(record.redacted(by: redactor))
        case .attemptFinished(let record): .attemptFinished(record.redacted(by: redactor))
        case .taskFinished(let record): .taskFinished(record.redacted(by: redactor))
        case .sessionInvalidated(let record): .sessionInvalidated(record.redacted(by: redactor))
        case .connectionsChanged(let step): .connectionsChanged(step.redacted(by: redactor))
        case .hookFinished(let record): .hookFinished(record.redacted(by: redactor))
        case .groupPublished(let record): .groupPublished(record.redacted(by: redactor))
        case .runFinished(let record): .runFinished(record.redacted(by: redactor))
        case .waiting(let reason, let lacks): .waiting(reason, lacks: redactor.redacted(lacks))
        case .sessionStarted, .taskCreated, .expanded, .taskResumed, .resumedAtOffset, .becameDownload,
            .needNewBodyStream,
            .sentBodyData, .receivedData, .cacheStored, .sessionFinishedEvents:
            self
        }
    }
}

extension AttemptStart {
    fileprivate func redacted(by redactor: Redactor) -> AttemptStart {
        AttemptStart(number: number, url: redactor.redacted(url), bodyFiles: bodyFiles)
    }
}

extension ConnectionStep {
    fileprivate func redacted(by redactor: Redactor) -> ConnectionStep {
        let origin = Origin(scheme: origin.scheme, host: redactor.redacted(origin.host), port: origin.port)
        return ConnectionStep(origin: origin, from: from, to: to, reason: reason)
    }
}

extension GroupRecord {
    fileprivate func redacted(by redactor: Redactor) -> GroupRecord {
        GroupRecord(
            name: name,
            removed: removed.map {
                RemovedFiles(count: $0.count, named: $0.named.map { redactor.redacted(name: $0) })
            })
    }
}

extension PageRecord {
    fileprivate func redacted(by redactor: Redactor) -> PageRecord {
        PageRecord(
            number: number, url: redactor.redacted(url), status: status, file: file?.redacted(by: redactor),
            body: body.map { redactor.redacted(body: $0) }, isCut: isCut)
    }
}

extension ChallengeRecord {
    fileprivate func redacted(by redactor: Redactor) -> ChallengeRecord {
        ChallengeRecord(
            method: redactor.redacted(name: method), host: redactor.redacted(host), realm: redactor.redacted(realm),
            level: redactor.redacted(name: level), disposition: redactor.redacted(name: disposition),
            previousFailureCount: previousFailureCount)
    }
}

extension RedirectRecord {
    fileprivate func redacted(by redactor: Redactor) -> RedirectRecord {
        RedirectRecord(
            status: status, from: redactor.redacted(from), to: redactor.redacted(to),
            method: redactor.redacted(name: method), action: action,
            stripped: stripped.map { redactor.redacted(name: $0) })
    }
}

extension ResponseRecord {
    fileprivate func redacted(by redactor: Redactor) -> ResponseRecord {
        ResponseRecord(
            status: status, url: redactor.redacted(url), method: redactor.redacted(name: method),
            mimeType: redactor.redacted(mimeType), charset: redactor.redacted(charset),
            expectedLength: expectedLength, suggestedFilename: redactedFilename(by: redactor),
            contentEncoding: redactor.redacted(contentEncoding), headers: headers.redacted(by: redactor))
    }

    /// Returns the suggested name, masked as a whole where it is the end of a secret URL: then it is as secret as the
    /// URL, however short it is.
    private func redactedFilename(by redactor: Redactor) -> String? {
        guard let name = suggestedFilename else { return nil }
        let (clean, shown) = (redactor.redacted(name), redactor.redacted(url))
        guard clean == name, shown != url, Self.end(of: shown) != Self.end(of: url) else { return clean }
        let isOfURL =
            headers.first("content-disposition") == nil || (try? ResourceURL.parse(url))?.lastPathComponent == name
        return isOfURL ? "***" : clean
    }

    /// Returns the last component of the path, as it is written.
    private static func end(of url: String) -> Substring? {
        let path = url.prefix { $0 != "?" }
        return path.split(separator: "/").last
    }
}

extension HeaderBlock {
    /// Returns the lines without secrets. The whole block is searched once, which nearly always finds nothing. Bytes
    /// that are no UTF-8 are replaced.
    package func redacted(by redactor: Redactor) -> HeaderBlock {
        if redactor.isEmpty { return self }
        let isText = redactor.namesAlone != nil || String(validating: bytes, as: UTF8.self) != nil
        guard redactor.finds(in: self) || !isText else { return self }
        return HeaderBlock(
            lines.map { line in
                let name = name(line)
                return (redactor.redacted(name: name), redactor.redacted(value(line), ofHeader: name))
            })
    }
}

extension FileRecord {
    fileprivate func redacted(by redactor: Redactor) -> FileRecord {
        FileRecord(
            path: redactor.redacted(path: path), bytes: bytes, checksum: checksum, changed: changed,
            lengthUnverified: lengthUnverified)
    }
}

extension TransferError {
    /// Returns the error with `***` for every secret in its message.
    package func redacted(by redactor: Redactor) -> TransferError {
        var error = self
        error.message = redactor.redacted(message)
        return error
    }
}

extension TransactionMetrics {
    fileprivate func redacted(by redactor: Redactor) -> TransactionMetrics {
        var metrics = self
        metrics.method = redactor.redacted(name: method)
        metrics.url = redactor.redacted(url)
        metrics.networkProtocolName = networkProtocolName.map { redactor.redacted(name: $0) }
        metrics.localAddress = redactor.redacted(localAddress)
        metrics.remoteAddress = redactor.redacted(remoteAddress)
        return metrics
    }
}

extension AttemptRecord {
    fileprivate func redacted(by redactor: Redactor) -> AttemptRecord {
        AttemptRecord(
            number: number, url: redactor.redacted(url), outcome: outcome, resumedFrom: resumedFrom,
            startedOver: redactor.redacted(startedOver),
            startedAt: startedAt, duration: duration, error: error?.redacted(by: redactor), backoff: backoff,
            transactions: transactions.map { $0.redacted(by: redactor) }, retriesUntil: retriesUntil)
    }
}

extension TaskRecord {
    fileprivate func redacted(by redactor: Redactor) -> TaskRecord {
        TaskRecord(
            outcome: outcome, tolerated: tolerated, changed: changed, source: source, waits: waits,
            error: error?.redacted(by: redactor), body: body.map { redactor.redacted(body: $0) },
            lengthUnverified: lengthUnverified, captures: captures.map { $0.redacted(by: redactor) },
            duration: duration, explanation: redactor.redacted(explanation),
            cache: cache.map { CacheRecord(refusal: redactor.redacted($0.refusal)) },
            parts: parts.map {
                AnswerPart(
                    headers: $0.headers.redacted(by: redactor), body: redactor.redacted(body: $0.body), size: $0.size)
            })
    }
}

extension Job.Variable {
    /// Returns the variable with `***` for every secret in it.
    package func redacted(by redactor: Redactor) -> Job.Variable {
        Job.Variable(name: redactor.redacted(name: name), value: value.redacted(by: redactor))
    }
}

extension PlainValue {
    /// Returns the value without secrets; a number that is a secret becomes a string, since `***` is no number.
    package func redacted(by redactor: Redactor) -> PlainValue {
        switch self {
        case .null, .boolean: return self
        case .number(let text):
            let clean = redactor.redacted(text)
            return clean == text ? self : .string(clean)
        case .string(let text): return .string(redactor.redacted(text))
        case .list(let values): return .list(values.map { $0.redacted(by: redactor) })
        case .map(let entries):
            return .map(
                entries.map { Entry(key: redactor.redacted(name: $0.key), value: $0.value.redacted(by: redactor)) })
        }
    }
}

extension SessionRecord {
    fileprivate func redacted(by redactor: Redactor) -> SessionRecord {
        SessionRecord(
            connectionsOpened: connectionsOpened, connectionsReused: connectionsReused,
            hosts: hosts.map { host in
                let origin = Origin(
                    scheme: host.origin.scheme, host: redactor.redacted(host.origin.host), port: host.origin.port)
                return Host(origin: origin, peakConnections: host.peakConnections, tasks: host.tasks)
            })
    }
}

extension RunRecord {
    fileprivate func redacted(by redactor: Redactor) -> RunRecord {
        RunRecord(
            outcome: outcome, exitStatus: exitStatus, duration: duration,
            groups: groups.map { group in
                Group(
                    name: redactor.redacted(name: group.name), published: group.published,
                    error: group.error?.redacted(by: redactor))
            })
    }
}

// MARK: - Names of credentials

extension Event.Kind {
    /// Whether a text of the event shows a value that such a name masks.
    fileprivate func shows(_ names: CredentialNames) -> Bool {
        switch self {
        case .attemptStarted(let record): names.concern(record.url)
        case .redirect(let record): names.concern(record.from) || names.concern(record.to)
        case .response(let record): names.concern(record.headers) || names.concern(record.url)
        case .pageFinished(let record): names.concern(record.url)
        case .attemptFinished(let record): record.shows(names)
        case .taskFinished(let record): record.shows(names)
        case .hookFinished(let record):
            record.trouble.map { names.concern($0) } == true || record.command.contains { names.concern($0) }
        case .challenge(let record): record.realm.map { names.concern($0) } == true
        case .waiting(_, let lacks): lacks.map { names.concern($0) } == true
        case .runFinished(let record): record.groups.contains { $0.error?.shows(names) == true }
        case .fileFinished, .groupPublished, .connectionsChanged, .sessionInvalidated, .sessionStarted, .taskCreated,
            .expanded,
            .taskResumed, .resumedAtOffset, .becameDownload, .needNewBodyStream, .sentBodyData, .receivedData,
            .cacheStored, .sessionFinishedEvents:
            false
        }
    }
}

extension TransferError {
    fileprivate func shows(_ names: CredentialNames) -> Bool { names.concern(message) }
}

extension AttemptRecord {
    fileprivate func shows(_ names: CredentialNames) -> Bool {
        names.concern(url) || error?.shows(names) == true || startedOver.map { names.concern($0) } == true
            || transactions.contains { names.concern($0.url) }
    }
}

extension TaskRecord {
    fileprivate func shows(_ names: CredentialNames) -> Bool {
        error?.shows(names) == true || explanation.map { names.concern($0) } == true
            || cache?.refusal.map { names.concern($0) } == true || captures.contains { $0.value.shows(names) }
            || parts.contains { names.concern($0.headers) }
    }
}

extension PlainValue {
    fileprivate func shows(_ names: CredentialNames) -> Bool {
        switch self {
        case .null, .boolean, .number: false
        case .string(let text): names.concern(text)
        case .list(let values): values.contains { $0.shows(names) }
        case .map(let entries): entries.contains { $0.value.shows(names) }
        }
    }
}
