import Diagnostics
import JobLoader
import Testing
import TransferModel

/// What a job may not do that is confined to `/job`.
@Suite struct JobRoomTests {
    private func look(
        _ text: String, folder: String = "/job", resolved: String = "/real/job", variables: Set<String> = [],
        environment: [String: String] = [:], files: [String: String] = [:], file: String = "/job/jobs.yaml"
    ) -> LoadResult {
        var options = LoadOptions()
        options.room = JobRoom(folder: folder, resolved: resolved, variables: variables)
        return load(text, file: file, environment: environment, files: files, options: options)
    }

    /// A job, its lines after `url` of one task or whole, and the place of what is refused.
    private static let doors: [(String, String)] = [
        ("tasks: [{ id: a, url: https://a.test/x, to: /etc/cron.d/x }]", "1:45"),
        ("tasks: [{ id: a, url: https://a.test/x, to: ../x }]", "1:45"),
        (
            "tasks: [{ id: a, url: https://a.test/x, to: \"/etc/${tasks.b.n}\" }, "
                + "{ id: b, url: https://a.test/y, capture: { n: { header: N } } }]", "1:45"
        ),
        ("tasks: [{ id: a, url: \"file:///etc/passwd\", to: x }]", "1:23"),
        ("tasks: [{ id: a, url: https://a.test/x, body: { file: /etc/passwd } }]", "1:55"),
        ("tasks: [{ id: a, url: https://a.test/x, body: { multipart: [{ name: f, file: /etc/passwd }] } }]", "1:78"),
        ("tasks: [{ id: a, url: https://a.test/x, body: { stream: { command: [cat, x] } } }]", "1:68"),
        ("tasks: [{ id: a, url: https://a.test/x, to: x, onFinish: [sh, -c, id] }]", "1:58"),
        ("onFinish: [id]\ntasks: [{ id: a, url: https://a.test/x, to: x }]", "1:11"),
        (
            "sessions: { s: { protocols: [{ scheme: own, command: [./own] }] } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x }]", "1:54"
        ),
        (
            "sessions: { s: { credentials: [{ host: a.test, helper: [store] }] } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x }]", "1:56"
        ),
        (
            "sessions: { s: { credentials: [{ host: a.test, netrc: true }] } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x }]", "1:32"
        ),
        (
            "sessions: { s: { credentials: [{ host: a.test, method: negotiate, user: u, password: p }] } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x }]", "1:32"
        ),
        ("sessions: { s: { unixSocket: /run/docker.sock } }\ntasks: [{ id: a, url: https://a.test/x, to: x }]", "1:30"),
        ("sessions: { s: { unixSocket: own.sock } }\ntasks: [{ id: a, url: https://a.test/x, to: x }]", "1:30"),
        (
            "sessions: { s: { configuration: background, identifier: x.y } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x }]", "1:18"
        ),
        (
            "sessions: { s: { tls: { trust: { ca: /etc/own.pem } } } }\ntasks: [{ id: a, url: https://a.test/x, to: x }]",
            "1:38"
        ),
        (
            "sessions: { s: { cache: { path: /var/cache/x } } }\ntasks: [{ id: a, url: https://a.test/x, to: x }]",
            "1:33"
        ),
        ("report: /tmp/report.json\ntasks: [{ id: a, url: https://a.test/x, to: x }]", "1:9"),
        ("report: { junit: ../junit.xml }\ntasks: [{ id: a, url: https://a.test/x, to: x }]", "1:18"),
        (
            "groups: { g: { to: /srv/www, publish: atomic } }\ntasks: [{ id: a, url: https://a.test/x, to: x, group: g }]",
            "1:20"
        ),
        (
            "tasks: [{ id: \"a-${l}\", forEach: { l: { lines: /etc/hosts } }, url: https://a.test/x, to: \"${l.index}\" }]",
            "1:48"
        ),
        ("tasks: [{ id: a, url: http://127.0.0.1/x, to: x }]", "1:23"),
        ("tasks: [{ id: a, url: \"http://[::ffff:169.254.169.254]/x\", to: x }]", "1:23"),
        (
            "sessions: { s: { connectTo: { a.test: \"10.0.0.1:80\" } } }\ntasks: [{ id: a, url: http://a.test/x, to: x }]",
            "1:39"
        ),
        ("tasks: [{ id: a, url: \"https://a.test/${env.HOME}\", to: x }]", "1:39"),
        ("tasks: [{ id: a, url: https://a.test/x, to: x, headers: { A: \"${secret.TOKEN}\" } }]", "1:63"),
        (
            "secrets: { T: { file: /run/secrets/t } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x, headers: { A: \"${secret.T}\" } }]", "1:23"
        ),
        (
            "secrets: { T: { env: TOKEN } }\n"
                + "tasks: [{ id: a, url: https://a.test/x, to: x, headers: { A: \"${secret.T}\" } }]", "2:63"
        ),
    ]

    @Test(arguments: doors) func eachDoorIsShut(_ job: String, _ place: String) {
        let files = [
            "/etc/hosts": "a", "/etc/own.pem": "a", "/run/secrets/t": "value", "/etc/passwd": "root", "/job/x": "",
        ]
        let environment = ["HOME": "/root", "TOKEN": "s3cr3t-of-mine"]
        let found = look(job, environment: environment, files: files)
        let refused = found.summary.filter { $0.hasSuffix(" confined") }
        #expect(refused.contains("\(place) confined") && found.job == nil, "\(found.summary) \(found.messages)")
        #expect(!found.messages.contains("s3cr3t-of-mine") && !found.messages.contains("/root"))
        // The same job is none of anybody's business where it is trusted.
        let trusted = load(job, environment: environment, files: files)
        #expect(!trusted.summary.contains { $0.hasSuffix("confined") })
    }

    @Test func whatIsInTheFolder_isLeftAlone() {
        let job = """
            report: /here/../job/report.json
            secrets: { T: { file: secrets/t } }
            sessions: { s: { cookies: { file: cookies.txt, save: true }, cache: { path: cache } } }
            groups: { g: { to: out/./tree } }
            tasks:
              - { id: a, url: https://a.test/x, to: /real/job/x }
              - { id: b, url: https://a.test/y, to: y, group: g }
              - { id: c, url: https://a.test/z, body: { file: in/../z }, headers: { A: "${secret.T}", B: "${env.CI}" } }
              - { id: d, needs: [b], url: "https://a.test/${tasks.e.n}", to: "n/${tasks.e.n}" }
              - { id: e, url: https://a.test/n, capture: { n: { header: N } } }
            """
        let found = look(job, variables: ["CI"], environment: ["CI": "true"], files: ["/job/secrets/t": "value"])
        #expect(found.summary.filter { !$0.contains("warning") }.isEmpty, "\(found.messages)")
        #expect(found.job != nil)
    }

    /// A folder beside it whose name only begins alike is another one, and so is the job's own where the room is elsewhere.
    @Test func theFolderIsMeant_notTheTextOfItsPath() {
        let beside = look("tasks: [{ id: a, url: https://a.test/x, to: /jobs/x }]")
        #expect(beside.summary == ["1:45 confined"])
        let own = look("tasks: [{ id: a, url: https://a.test/x, to: x }]", folder: "/out", resolved: "/out")
        #expect(own.summary == ["1:45 confined"])
        #expect(own.messages.contains("`/job/x` is not in `/out`, to which this job is confined"))
    }

    @Test func secretOfTheOperatorsFile_isNoVariable() {
        var options = LoadOptions(secretsFile: "/op/secrets")
        options.room = JobRoom(folder: "/job", resolved: "/job")
        let text = "tasks: [{ id: a, url: https://a.test/x, to: x, headers: { A: \"${secret.TOKEN}\" } }]"
        let given = load(
            text, environment: ["TOKEN": "other"], files: ["/op/secrets": "TOKEN=value\n"], options: options)
        #expect(given.job != nil && given.job?.secrets.map(\.value) == ["value"], "\(given.messages)")
        let allowed = look(text, variables: ["TOKEN"], environment: ["TOKEN": "value"])
        #expect(allowed.job?.secrets.map(\.value) == ["value"], "\(allowed.messages)")
    }

    /// A declared secret that nothing uses is looked for all the same, so that output with it is masked.
    @Test func variableOfAnUnusedSecret_isNotReadEither() {
        let text = "secrets: { T: { env: TOKEN } }\ntasks: [{ id: a, url: https://a.test/x, to: x }]"
        #expect(load(text, environment: ["TOKEN": "value-of-it"]).job?.secrets.count == 1)
        #expect(look(text, environment: ["TOKEN": "value-of-it"]).job?.secrets.isEmpty == true)
    }

    /// A template's tasks are made in the run, of what a server said.
    @Test func tasksOfATemplate_areHeldToTheRoom() throws {
        let text = """
            tasks:
              - { id: list, url: https://a.test/l, capture: { names: { json: "$[*]", all: true } } }
              - { id: "a-${n.index}", forEach: { n: { captured: tasks.list.names } }, url: "file://${raw:n}", to: x }
            """
        let found = look(text)
        // What the text says leads anywhere: the path is refused where it is opened.
        #expect(found.summary.allSatisfy { !$0.hasSuffix("confined") }, "\(found.messages)")
    }

    @Test func portsOfAllThatIsNamed_areKnown() {
        let text = """
            sessions:
              default: { proxy: "http://proxy.test:3128", connectTo: { "a.test:443": "127.0.0.1:8443" } }
            tasks:
              - { id: a, url: https://a.test/x, to: x }
              - { id: b, url: "http://b.test:8080/x", to: y }
            """
        let access = look(text).access
        #expect(access?.ports == [443, 3128, 8443, 8080] && access?.needsAnyPort == false)
        #expect(look("tasks: [{ id: a, url: \"ftp://a.test/x\", to: x }]").access?.needsAnyPort == true)
    }
}
