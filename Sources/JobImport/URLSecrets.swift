/// Takes secrets out of URLs that are written into a job: in the query, and the token in the path of a Telegram bot.
package struct URLSecrets {
    private var job = ImportedJob()

    package init() {}

    /// The URL with references in the place of its secrets. In it `$$` is a dollar.
    package mutating func hide(_ url: String) -> String { job.hideSecrets(ofURL: url) }

    /// The key `secrets` of the job, with a comment; empty where there are none.
    package var text: String { job.secretText }
}
