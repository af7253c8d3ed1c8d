import Diagnostics
import JobLoader
import Testing
import TransferModel

/// `redirects.keepHeaders` and `redact` as a job writes them.
@Suite struct CredentialKeyTests {
    @Test func keptHeaders_areReadInLowerCase_bySessionAndTask() throws {
        let result = load(
            """
            sessions: { default: { redirects: { keepHeaders: [X-One] } } }
            tasks:
              - { id: a, url: "https://h.test/a", to: a }
              - { id: b, url: "https://h.test/b", to: b, redirects: { keepHeaders: [X-TWO] } }
            """)
        let job = try #require(result.job, "\(result.messages)")
        #expect(job.tasks.map(\.options.values.policies.redirects.keepHeaders) == [["x-one"], ["x-two"]])
    }

    @Test(arguments: ["Authorization", "COOKIE"]) func credentialsAmongKeptHeaders_areRefused(_ name: String) {
        let result = load(task("redirects: { keepHeaders: [X-Own, \(name)] }"))
        #expect(result.summary == ["5:39 invalid-value"])
        #expect(result.messages.contains("`keepHeaders` cannot name `\(name)`"))
    }

    @Test func noHeaderName_isRefused() {
        #expect(load(task("redirects: { keepHeaders: [\"a b\"] }")).summary == ["5:32 invalid-header"])
        #expect(load(task(head: "redact: { headers: [\"a:\"] }\n")).summary == ["1:21 invalid-header"])
    }

    @Test func redact_addsNames() throws {
        let result = load(task(head: "redact: { headers: [X-Shop], query: [code] }\n"))
        let job = try #require(result.job, "\(result.messages)")
        #expect(job.credentialNames.isHeader("X-Shop") && job.credentialNames.isHeader("Cookie"))
        #expect(job.redactor.redacted("/?code=1&token=2&page=3") as String == "/?code=***&token=***&page=3")
    }

    /// A message, its hint and the line that it is about.
    @Test func diagnostics_showNoCredentials() {
        let text = """
            redact: { query: [code] }
            tasks:
              - id: a
                url: "ht tp://h.test/f?code=sesame1&token=sesame2"
                headers: { X-Api-Key: sesame3, Bad Name: sesame4 }
                to: a
            """
        let found = load(text).diagnostics.sorted()
        #expect(found.count == 2)
        let shown =
            DiagnosticRenderer.text(found, color: false) + DiagnosticRenderer.github(found)
            + String(decoding: DiagnosticRenderer.json(found), as: UTF8.self)
        for value in ["sesame1", "sesame2", "sesame3"] { #expect(!shown.contains(value), "\(shown)") }
        #expect(shown.contains("sesame4") && shown.contains("X-Api-Key: *******, Bad Name"), "\(shown)")
    }
}
