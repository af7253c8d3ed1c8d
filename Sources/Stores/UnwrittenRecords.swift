import HTTPRules
import TransferModel

/// Changes to the store's records that a run made and has not written yet.
struct UnwrittenRecords {
    /// Changes to the records of one session.
    struct OfSession {
        var validators: [ValidatorChange] = []
        /// Paths of published files, whose validators in other sessions are outdated.
        var publishedPaths: [String] = []
        var parts: [ResumeChange] = []
        var uploads: [UploadChange] = []
        var states: [SessionState.Change] = []
    }

    private var sessions: [SessionIndex: OfSession] = [:]
    /// The last upload of this run by URL, or that the URL's content is unknown. Not kept by session, since an upload
    /// of one session outdates what another has of the URL.
    var sent: [ExactText: (session: SessionIndex, sent: SentUpload?)] = [:]

    subscript(session: SessionIndex) -> OfSession {
        get { sessions[session] ?? OfSession() }
        _modify { yield &sessions[session, default: OfSession()] }
    }

    /// Writes all changes, inside a batch of the store. `stored`: the sessions that the store has; `owner` makes one
    /// that it has not, or returns `nil` for a session that keeps no records.
    ///
    /// Each kind is written for all sessions before the next kind: a path published by two sessions outdates the
    /// records of both before either adds its new one.
    func write(
        to store: Store, _ stored: [SessionIndex: StoredSession], _ now: WallTime,
        owner: (SessionIndex) throws(StoreError) -> StoredSession?
    ) throws(StoreError) {
        for (session, changes) in sessions where !changes.publishedPaths.isEmpty {
            try store.forgetOthers(than: stored[session], at: changes.publishedPaths)
        }
        for (session, changes) in sessions where !changes.validators.isEmpty {
            if let owner = try owner(session) { try store.change(owner, changes.validators, now: now) }
        }
        for (session, changes) in sessions where !changes.parts.isEmpty {
            if let owner = try owner(session) { try store.change(owner, changes.parts, now: now) }
        }
        if sessions.values.contains(where: { !$0.uploads.isEmpty }) { try store.forgetOldUploads(now: now) }
        for (session, changes) in sessions where !changes.uploads.isEmpty {
            if let owner = try owner(session) { try store.change(owner, changes.uploads, now: now) }
        }
        for (url, news) in sent {
            let owner = try news.sent == nil ? nil : owner(news.session)
            try store.keep(news.sent, of: owner, url: url.text, now: now)
        }
        for (session, changes) in sessions where !changes.states.isEmpty {
            if let owner = try owner(session) { try store.learn(owner, changes.states, now: now) }
        }
    }
}

extension Redactor {
    /// Whether one of the texts contains a secret.
    package func holds(_ texts: [String?]) -> Bool {
        !isEmpty && texts.contains { text in text.map { finds(in: Array($0.utf8)) } ?? false }
    }
}
