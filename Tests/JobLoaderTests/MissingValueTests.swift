import Diagnostics
import JobLoader
import Testing
import TransferModel

/// A load of the job as `check` does it.
private func look(_ text: String, environment: [String: String] = [:], files: [String: String] = [:]) -> LoadResult {
    let source = SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8))
    return JobLoader.load(
        source, options: LoadOptions(), resources: world(environment: environment, files: files),
        missingValues: .tolerated, notesAccess: true)
}

/// Values that the machine of a check need not have.
struct MissingValueTests {
    @Test func missingSecret_inACheck_isAWarningAtItsPlace() {
        let text = task("headers: { Authorization: \"Bearer ${secret.TOKEN}\" }", head: "secrets: { TOKEN: {} }\n")
        let found = look(text)
        #expect(found.summary == ["6:39 warning missing-value"])
        #expect(found.job != nil)
        #expect(found.messages.contains("`secret.TOKEN` has no value here, and a run needs one"))
        #expect(load(text).summary == ["6:39 missing-value"])
    }

    /// It may be what is meant, and is often what a fork's pull request gets.
    /// However close the name of another secret is.
    @Test func aDeclaredSecretWithoutAValue_isNotTakenForAMisspelling() {
        let text = task("headers: { A: \"${secret.S1}\", B: \"${secret.S3}\" }", head: "secrets: { S1: {}, S2: {} }\n")
        let found = load(text).messages.split(separator: "\n")
        let how = "set `S1` in the environment, or write it into --secrets-file or $CREDENTIALS_DIRECTORY/S1"
        #expect(found.first == "the secret `S1` has no value (\(how))")
        #expect(found.last?.contains("did you mean `${secret.S1}`?") == true, "\(found)")
    }

    @Test func emptySecret_isAWarning() {
        let text = task("headers: { Authorization: \"Bearer ${secret.TOKEN}\" }", head: "secrets: { TOKEN: {} }\n")
        for found in [look(text, environment: ["TOKEN": ""]), load(text, environment: ["TOKEN": ""])] {
            #expect(found.summary == ["6:39 warning empty-secret"] && found.job != nil)
        }
    }

    @Test func missingVariable_inACheck_isAWarningAndNothingMore() {
        for url in ["${env.SITE}/a", "https://${env.HOST}/a", "https://x.org:${env.PORT}/a", "${env.ALL}"] {
            let found = look("tasks: [{ id: a, url: \"\(url)\", to: a }]\n")
            #expect(found.summary.count == 1 && found.summary[0].hasSuffix("warning missing-value"), "\(url)")
        }
    }

    /// What a `forEach` makes has ids of a known form: another name is unknown in a check as in a run.
    @Test(arguments: ["{ captured: tasks.login.ids }", "{ captured: tasks.login.token }", "\"${env.LIST}\""])
    func aForEachHidesNoUnknownTask(list: String) {
        let text = """
            tasks:
              - { id: login, url: https://a.test/l, capture: { ids: { json: "$[*]", all: true } } }
              - { id: "b-${x}", forEach: { x: \(list) }, url: "https://a.test/${x}", to: "b/${x.index}" }
              - { id: c, url: "https://a.test/c?${tasks.lgin.token}", to: c, needs: [gone, "b-1"] }
            """
        let found = look(text).messages
        #expect(found.contains("unknown name `tasks.lgin.token`: there is no task `lgin`"), "\(found)")
        #expect(found.contains("there is no task `gone`") && !found.contains("`b-1`"), "\(found)")
    }

    /// Each is a value of a kind that a placeholder would not be.
    @Test(arguments: [
        "timeoutForRequest: \"${env.T}\"", "priority: \"${env.T}\"", "to: \"${env.T}\"", "to: \"out/${env.T}/x\"",
        "checksum: \"${env.T}\"", "mode: \"${env.T}\"", "earliestBegin: \"${env.T}\"", "segments: \"${env.T}\"",
        "session: \"${env.T}\"", "type: \"${env.T}\"", "needs: [\"${env.T}\"]", "headers: { X: \"${env.T}\" }",
        "expect: { status: \"${env.T}\", mimeType: \"${env.T}\" }", "query: { q: \"${env.T}\" }",
        "bandwidth: \"${env.T}\"", "existing: \"${env.T}\"", "description: \"${secret.T}x${env.T:?say it}\"",
        "credentials: [{ host: example.org, user: \"${env.T}\", password: \"${secret.T}\" }]",
    ])
    func missingValue_ofAnyKind_bringsNoOtherError(lines: String) {
        let to = lines.hasPrefix("to:") ? "" : "\n    to: a"
        let text = "tasks:\n  - id: a\n    url: https://example.org/a\(to)\n    \(lines)\n"
        let found = look(text)
        let others = found.summary.filter { !$0.hasSuffix("warning missing-value") }
        #expect(others.filter { !$0.contains("secret-not-allowed") }.isEmpty, "\(others)")
        #expect(found.summary != others)
    }

    @Test func missingValueInAnID_leavesNeedsAlone() {
        let found = look(
            """
            tasks:
              - { id: "a-${env.N}", url: https://example.org/a }
              - { id: b, url: https://example.org/b, needs: ["a-*", a-1] }
            """)
        #expect(found.summary == ["2:14 warning missing-value"])
    }

    @Test func restOfTheJob_isCheckedAroundAMissingValue() {
        let found = look(
            """
            secrets: { T: { hosts: [api.example.org] } }
            tasks:
              - { id: a, url: "https://example.org/${secret.T}", headers: { Host: x }, nope: 1 }
              - { id: b, url: https://example.org/b, method: HEAD, body: { data: "${env.X}" } }
            """)
        #expect(
            found.summary == [
                "3:19 secret-elsewhere", "3:40 warning missing-value", "3:65 reserved-header", "3:76 unknown-key",
                "4:56 body-with-head", "4:71 warning missing-value",
            ])
    }

    @Test func missingFileOfASecret_isAWarning() {
        let text = task("headers: { X: \"${secret.T}\" }", head: "secrets: { T: { file: t.txt } }\n")
        #expect(look(text).summary == ["6:20 warning missing-value"])
        #expect(load(text).summary == ["6:20 unreadable-secret"])
        #expect(look(text, files: ["/job/t.txt": "x"]).summary.isEmpty)
    }
}

/// What a job may do.
struct JobAccessTests {
    private static let job = """
        version: 1
        variables: { home: "${env.HOME}" }
        secrets: { TOKEN: { hosts: [api.example.org] } }
        groups: { site: { to: site, extraneous: remove } }
        report: /var/report.json
        sessions:
          main:
            tls: { trust: { ca: /etc/ca.pem } }
            proxy: http://proxy.example.org:3128
            protocols: [{ scheme: own, command: [sh, -c, "echo it's"] }]
        tasks:
          - { id: "a-${n}", forEach: { n: 1..3 }, url: "https://example.org/${n}", to: "${home}/${n}" }
          - id: up
            type: upload
            url: https://api.example.org:8443/x
            headers: { Authorization: "${secret.TOKEN}" }
            body: { file: ../other/x }
          - { id: in, url: https://example.org/y, group: site, to: y }
          - { id: next, needs: [up], url: "https://${tasks.up.host}/", to: own/y }
        """

    @Test func whatAJobMayDo_isListedWithItsPlaceAndOwner() throws {
        let found = look(Self.job, environment: ["HOME": "/home/me", "TOKEN": "s3cret"])
        let access = try #require(found.access)
        let lines = access.entries.map { "\($0.kind) \($0.line) \($0.owner): \($0.what)" }.sorted()
        #expect(
            lines == [
                "command 10 session `main`: sh -c 'echo it'\\''s'",
                "environment 2 `variables`: HOME",
                "host 12 task `a-${n}`: https://example.org",
                "host 15 task `up`: https://api.example.org:8443",
                "host 19 task `next`: whatever `https://${tasks.up.host}/` names",
                "host 9 session `main`: http://proxy.example.org:3128",
                "read 17 task `up`: /other/x",
                "read 8 session `main`: /etc/ca.pem",
                "remove 4 the job: /job/site",
                "secret 16 task `up`: TOKEN",
                "write 12 task `a-${n}`: /home/me/1",
                "write 12 task `a-${n}`: /home/me/2",
                "write 12 task `a-${n}`: /home/me/3",
                "write 5 the job: /var/report.json",
            ])
        #expect(access.mayBeRedirected && !access.isOrdinary)
    }

    @Test func ordinaryJob_asksItsHosts_andKeepsToItsFolder() throws {
        let found = look(task("redirects: { follow: sameHost }"))
        let access = try #require(found.access)
        #expect(access.isOrdinary && !access.mayBeRedirected)
        #expect(access.names(.host) == ["https://example.org"])
    }

    @Test func manyThings_areBounded() throws {
        let text = "tasks: [{ id: \"a${n}\", forEach: { n: 1..10050 }, url: \"https://h${n}.example.org/\" }]\n"
        let access = try #require(look(text).access)
        #expect(access.entries.count == JobAccess.limit)
        #expect(access.unlisted[.host] == 50)
    }
}
