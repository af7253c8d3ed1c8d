import Diagnostics
import TransferModel
import YAMLTree

/// Warns where a key of the job lets the cache answer, without the server's word, a task whose answer decides
/// something: other tasks are made of it or use it, or it is checked.
extension TaskChecker {
    /// Comes after the templates were checked, which mark the tasks that others are made of.
    mutating func checkCaching() {
        // A cache that ends with the run holds no answers of earlier ones.
        let persists = sessions.configurations.map { $0.cache.isEnabled && $0.kind != .ephemeral }
        let guesses = sessions.configurations.map(\.cache.guessesLifetime)
        var warned: Set<UInt64> = []
        for number in tasks.indices {
            let session = Int(tasks[number].session.raw)
            guard persists[session], let key = unaskedUse(of: tasks[number].options, guesses: guesses[session]),
                let purpose = purpose(of: tasks[number].options), isAnsweredByCache(tasks[number])
            else { continue }
            let place = place(of: key, tasks[number])
            // The tasks of one `forEach`, of `defaults` or of a session share the key.
            guard warned.insert(UInt64(place.line) << 32 | UInt64(place.column)).inserted else { continue }
            warn(of: key, tasks[number].id, purpose, at: place)
        }
    }

    private enum UnaskedUse {
        /// The task's `cachePolicy`, perhaps from `defaults` or its session.
        case policy(CachePolicy)
        /// The session's `cache.guessLifetime`.
        case guess
    }

    /// The key by which a stored answer is used for longer than its server said; `nil` for none.
    private func unaskedUse(of options: TaskOptions, guesses: Bool) -> UnaskedUse? {
        let policy = options.values.policies.cachePolicy
        switch policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return .policy(policy)
        case .reloadIgnoringCacheData: return nil
        case .useProtocolCachePolicy:
            // Such a header says itself how old an answer may be.
            let isSaid = guesses && options.values.headers.contains { $0.isNamed("cache-control") }
            return guesses && !isSaid ? .guess : nil
        }
    }

    /// What a present answer is needed for; `nil` where the task is content with an old one.
    private func purpose(of options: TaskOptions) -> String? {
        if options.values.leavesRows { return "other tasks are made of it" }
        if options.values.next != nil { return "it names the next page" }
        if !options.values.captures.isEmpty { return "values are captured from it" }
        return options.values.expect.asksNothing ? nil : "`expect` would judge it"
    }

    private func isAnsweredByCache(_ task: TaskSpecification) -> Bool {
        task.type != .upload && task.effectiveMethod == "GET" && task.options.values.body == nil
            && task.location.url?.isHTTP != false
    }

    private mutating func place(of key: UnaskedUse, _ task: TaskSpecification) -> SourceSpan {
        let session = sessions.configurations[Int(task.session.raw)].name
        let found: NodeID? =
            switch key {
            case .policy:
                node(of: task).flatMap { reader.tree.value("cachePolicy", in: $0) }
                    ?? reader.tree.rootValue("defaults").flatMap { reader.tree.value("cachePolicy", in: $0) }
                    ?? reader.tree.sessionValue(["cachePolicy"], of: session)
            case .guess: reader.tree.sessionValue(["cache", "guessLifetime"], of: session)
            }
        return found.map { reader.beginning($0) } ?? place(of: "cachePolicy", task)
    }

    private func warn(of key: UnaskedUse, _ id: String, _ purpose: String, at place: SourceSpan) {
        let task = Reader.short(id)
        switch key {
        case .policy(let policy):
            reader.warning(
                "stale-answer", "`\(policy.rawValue)` lets `\(task)` have an old answer, and \(purpose)",
                hint: "`cachePolicy: useProtocolCachePolicy` asks the server once its answer's lifetime is over",
                at: place)
        case .guess:
            reader.warning(
                "stale-answer", "`guessLifetime` lets `\(task)` have an old answer, and \(purpose)",
                hint: "leave it out, or write `cachePolicy: reloadIgnoringCacheData` into the task", at: place)
        }
    }
}

extension YAMLTree {
    /// Returns the value at a path of keys in a session, or in the one that it extends.
    fileprivate func sessionValue(_ path: [StaticString], of session: String) -> NodeID? {
        guard let all = rootValue("sessions"), kind(all) == .mapping else { return nil }
        var name = session
        var seen: Set<String> = []
        while seen.insert(name).inserted {
            guard let own = entries(all).first(where: { text($0.key) == name })?.value else { return nil }
            let found = path.reduce(NodeID?.some(own)) { node, key in node.flatMap { value(key, in: $0) } }
            if let found { return found }
            guard let base = value("extends", in: own) else { return nil }
            name = text(base)
        }
        return nil
    }
}
