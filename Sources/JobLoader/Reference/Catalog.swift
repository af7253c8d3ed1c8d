/// Every section of the table, in the order of the reference.
enum Catalog {
    static let task = SectionDocument(
        name: "task", title: "`tasks`",
        introduction: "A list of maps, each one transfer. The column *for* says which types of task know a key.",
        keys: TaskTable.shared.rows.map(\.document), rules: taskRules + valueRules)

    static let defaults = SectionDocument(
        name: "defaults", title: "`defaults`",
        introduction: "Any task key but `id`. A default that does not fit a task's type is left out.",
        keys: task.keys.filter { $0.name.description != "id" }, rules: valueRules)

    /// Rules that hold for a task whatever `defaults` contain.
    private static let taskRules: [SectionDocument.Rule] =
        [.atMostOne(["url", "urls"])]
        + types.flatMap { rules(of: $0.set, where: .isOne("type", of: [$0.word])) }
        + [
            .when(.has("body"), .differs("method", from: ["HEAD"])),
            .when(
                .all([.isOne("type", of: ["download"]), .isOne("existing", of: ["skip"])]), .hollow("capture")),
            .when(
                .all([.isOne("type", of: ["upload"]), .isOne("existing", of: ["skip", "revalidate"])]),
                .hollow("capture")),
            .when(.all([.isOne("type", of: ["upload"]), .has("to")]), .excludes(["group"])),
            .when(
                .all([.isOne("type", of: ["upload"]), .has("to")]),
                .differs("existing", from: ["skip", "revalidate"])),
            .when(.isOne("to", of: ["-"]), .excludes(["group", "mode", "next"])),
            .when(.has("next"), .excludes(["checksum", "group", "onResponse"])),
            .when(.isOne("to", of: ["-"]), .differs("existing", from: ["skip", "replace", "fail"])),
        ]

    /// Rules that hold for a default as for a task's own value.
    private static let valueRules: [SectionDocument.Rule] = [
        .always(.differs("method", from: SchemaWords.wrongMethods)),
        .always(.filled(["urls", "onFinish"])), .always(.named(["capture"], pattern: Names.pattern)),
        .always(.matches("to", pattern: "^(?!(?:.*/)?\\.{1,2}$)")),
    ]

    private static let types: [(word: String, set: TypeSet)] = [
        ("data", .data), ("download", .download), ("upload", .upload),
    ]

    /// Returns rules that exclude the keys that a task of this type cannot have.
    private static func rules(
        of type: TypeSet, where condition: SectionDocument.Condition
    ) -> [SectionDocument.Rule] {
        let others = TaskTable.shared.rows.map(\.document).filter { !$0.types.contains(type) }
        var rules: [SectionDocument.Rule] = [.when(condition, .excludes(others.map(\.name.description)))]
        if type == .download { rules.append(.when(condition, .differs("method", from: ["HEAD"]))) }
        return rules
    }

    /// Rules that tasks must fulfil themselves if `defaults` have none of `keys`.
    struct TaskRules {
        let name: String
        let keys: [String]
        let rules: [SectionDocument.Rule]
    }

    static let undefaulted: [TaskRules] = [
        TaskRules(name: "taskWithPlace", keys: ["url", "urls"], rules: [.when(.lacks("urls"), .needs(["url"]))]),
        TaskRules(
            name: "taskOfImpliedType", keys: ["type", "to", "body"],
            rules: rules(of: .download, where: .all([.lacks("type"), .has("to")]))
                + rules(of: .upload, where: .all([.lacks("type"), .lacks("to"), .has("body")]))
                + rules(of: .data, where: .all([.lacks("type"), .lacks("to"), .lacks("body")]))),
        TaskRules(
            name: "taskWithDestination", keys: ["to"], rules: [.when(.isOne("type", of: ["download"]), .needs(["to"]))]),
        TaskRules(
            name: "taskWithBody", keys: ["body"], rules: [.when(.isOne("type", of: ["upload"]), .needs(["body"]))]),
    ]

    /// Rules for a job with several sessions, none of them called `default`.
    static let taskWithSession = TaskRules(
        name: "taskWithSession", keys: ["session"], rules: [.always(.needs(["session"]))])

    static let sections: [SectionDocument] = [
        Sections.job.document, Sections.secret.document, Sections.redact.document, Sections.limits.document,
        Sections.stopWhen.document, Sections.hostLimit.document,
        Sections.group.document, Sections.report.document,
        Sections.session.document, Sections.connectionRange.document, Sections.requestRate.document,
        Sections.tls.document, Sections.trust.document,
        Sections.clientCertificate.document, Sections.tracing.document, Sections.addresses.document,
        Sections.http.document, Sections.cache.document,
        Sections.cacheRule.document, Sections.cookies.document, Sections.cookie.document, Sections.proxy.document,
        Sections.ownProtocol.document, Sections.window.document, Sections.bandwidthHours.document,
        Sections.minimumRate.document,
        task, defaults, Sections.forEachSource.document, Sections.listOfTask.document, Sections.jsonList.document,
        Sections.xmlList.document, Sections.linkList.document, Sections.body.document,
        Sections.stream.document, Sections.part.document, Sections.expect.document, Sections.expectBody.document,
        Sections.capture.document, Sections.next.document, Sections.nextUntil.document, Sections.onResponse.document,
        Sections.checksum.document,
        Sections.signature.document,
        Sections.allowFailure.document,
        Sections.retry.document, Sections.backoff.document, Sections.retryAfter.document,
        Sections.redirects.document, Sections.rewrite.document, Sections.credential.document,
        Sections.oauth2.document, Sections.assertion.document, Sections.challenge.document,
    ]
}
