/// Every section of the table, in the order of the reference.
enum Catalog {
    static let task = SectionDocument(
        name: "task", title: "`tasks`",
        introduction: "A list of maps, each one transfer. The column *for* says which types of task know a key.",
        keys: TaskTable.shared.rows.map(\.document), rules: [.atMostOne(["url", "urls"])])

    static let defaults = SectionDocument(
        name: "defaults", title: "`defaults`",
        introduction: "Any task key but `id`. A default that does not fit a task's type is left out.",
        keys: task.keys.filter { $0.name.description != "id" }, rules: [])

    static let sections: [SectionDocument] = [
        Sections.job.document, Sections.secret.document, Sections.limits.document, Sections.hostLimit.document,
        Sections.group.document, Sections.report.document,
        Sections.session.document, Sections.requestRate.document, Sections.tls.document, Sections.trust.document,
        Sections.clientCertificate.document, Sections.http.document, Sections.cache.document,
        Sections.cacheRule.document, Sections.cookies.document, Sections.cookie.document, Sections.proxy.document,
        Sections.ownProtocol.document, Sections.window.document, Sections.bandwidthHours.document,
        Sections.minimumRate.document,
        task, defaults, Sections.forEachSource.document, Sections.fromTask.document, Sections.body.document,
        Sections.stream.document, Sections.part.document, Sections.expect.document, Sections.expectBody.document,
        Sections.capture.document, Sections.onResponse.document, Sections.checksum.document,
        Sections.allowFailure.document,
        Sections.retry.document, Sections.backoff.document, Sections.retryAfter.document,
        Sections.redirects.document, Sections.rewrite.document, Sections.credential.document,
        Sections.challenge.document,
    ]
}
