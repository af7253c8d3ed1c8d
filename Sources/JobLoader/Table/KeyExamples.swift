/// One correct line for each key whose value is a map or a list, by the key's name: messages about a value of another type
/// show it.
enum KeyExamples {
    static let lines: [String: String] = {
        var lines: [String: String] = [:]
        for line in all { lines[String(line.prefix { $0 != ":" })] = line }
        return lines
    }()

    private static let all = job + session + task + nested

    private static let job = [
        #"variables: { release: "12.7" }"#,
        "secrets: { TOKEN: { env: CI_TOKEN } }",
        "sessions: { api: { retry: { attempts: 3 } } }",
        "defaults: { retry: { attempts: 3 } }",
        "tasks: [{ id: a, url: https://example.org/a, to: a }]",
        "limits: { maximumConcurrentTasks: 16 }",
        "groups: { site: { to: public } }",
        "report: { json: out/report.json }",
        "redact: { headers: [X-Shop-Key], query: [code] }",
        "onFinish: [./publish.sh, nightly]",
    ]

    private static let session = [
        "headers: { Accept: application/json }",
        "cache: { diskCapacity: 1GiB }",
        "cookies: { accept: never }",
        #"credentials: [{ host: example.org, user: me, password: "${secret.PASSWORD}" }]"#,
        "challenges: [{ method: basic, do: use }]",
        #"tls: { minimum: "1.3" }"#,
        "proxy: { https: http://proxy.example.org:3128 }",
        #"http: { version: "1.1" }"#,
        "redirects: { follow: sameHost }",
        "retry: { attempts: 3 }",
        "protocols: [{ scheme: depot, command: [./depot] }]",
        #"window: { from: "22:00", to: "06:00" }"#,
        "minimumRate: { rate: 1kB/s, over: 30s }",
        #"tracing: { propagateTo: ["*.example.org"] }"#,
        "addresses: { deny: [private, loopback, linkLocal, metadata] }",
        #"connectTo: { "example.org:443": "127.0.0.1:8443" }"#,
    ]

    private static let task = [
        "urls: [https://a.example.org/f, https://b.example.org/f]",
        "query: { page: 2 }",
        "needs: [first, second]",
        "body: { json: { name: nightly } }",
        "allowFailure: { status: [404] }",
        "next: { link: next }",
        "expect: { status: 200 }",
        "capture: { token: { json: $.token } }",
        "onResponse: [{ status: 404, do: cancel }]",
        "labels: { team: web }",
    ]

    private static let nested = [
        "stopWhen: { failed: 80%, atLeast: 20 }",
        "trust: { ca: company.pem }",
        #"clientCertificates: [{ host: example.org, certificate: me.p12 }]"#,
        #"propagateTo: ["*.example.org"]"#,
        "backoff: { initial: 1s, maximum: 30s }",
        "retryAfter: { maximum: 10m }",
        "form: { name: nightly }",
        "multipart: [{ name: file, file: a.txt }]",
        "stream: { command: [./make] }",
        "command: [./make, all]",
        "helper: [git, credential, fill]",
        #"oauth2: { tokenURL: https://login.example.org/token, clientID: me, clientSecret: "${secret.CLIENT}" }"#,
        "deny: [private, 203.0.113.0/24]",
        "allow: [10.1.0.0/16]",
        "allowHosts: [example.org]",
        "keepHeaders: [X-Request-Id]",
        "days: [monday, friday]",
    ]
}
