import Diagnostics

/// Names from other tools that people write in job files.
enum ForeignKeys {
    /// Returns a hint about an unknown key: a likely misspelling, another tool's name, or the place that the key
    /// belongs in; else `nil`.
    static func hint(_ name: String, known: [String]) -> String? {
        if isBody(known) {
            return Spelling.closest(to: name, among: known).map { "did you mean `\($0)`?" }
                ?? "fields stand under their kind of body: `body: { json: { … } }`, or `form`"
        }
        if let advice = advice[name]?.first(where: { $0.isFor(known) }) { return advice.text }
        if name.hasPrefix("x-"), known.contains("tasks") {
            return "set the anchor (`&name`) where its value is first used; what all tasks share stands in `defaults`"
        }
        let meant = meant[name]
        if let meant, known.contains(meant) { return "did you mean `\(meant)`?" }
        if let slip = Spelling.closest(to: name, among: known, lettersOnly: true) { return "did you mean `\(slip)`?" }
        let places = places[name] ?? []
        // A key of many places belongs to none in particular.
        if (1...3).contains(places.count) { return "it belongs in \(listed(places))" }
        if let meant, let places = Self.places[meant], places.count <= 3 {
            return "it is called `\(meant)`, and belongs in \(listed(places))"
        }
        return Spelling.closest(to: name, among: known).map { "did you mean `\($0)`?" }
    }

    /// Returns the key of a place that an unknown one of it probably stands for.
    static func key(meantBy name: String, _ known: [String]) -> String? {
        // What is no kind of body is taken for a field of one.
        if isBody(known) { return Spelling.closest(to: name, among: known) ?? "json" }
        if let meant = meant[name], known.contains(meant) { return meant }
        if let advised = advice[name]?.first(where: { $0.isFor(known) })?.key { return advised }
        return Spelling.closest(to: name, among: known)
    }

    /// Whether the keys are those of `body`.
    private static func isBody(_ known: [String]) -> Bool { known.contains("multipart") }

    /// Titles of the sections that have a key, by the key's name. `defaults` are left out, because they have a task's
    /// keys anyway.
    private static let places: [String: [String]] = {
        var places: [String: [String]] = [:]
        for section in Catalog.sections where section.name != "defaults" {
            for key in section.keys { places[key.name.description, default: []].append(section.title) }
        }
        return places
    }()

    private static func listed(_ places: [String]) -> String {
        let named = places.map { $0 == "Top level" ? "the top level of the file" : $0 }
        guard let last = named.last, named.count > 1 else { return named.first ?? "" }
        return named.dropLast().joined(separator: ", ") + " or " + last
    }

    static let notOffered = [
        "prefersIncrementalDelivery": "a task's data comes as it arrives; there is nothing to choose",
        "multipathServiceType": "multipath transfers are not offered",
        "networkServiceType": "what is sent is marked for no class of service; `priority` orders the tasks of a run",
        "requiresDNSSECValidation": "DNSSEC validation is not offered",
        "dnssec": "DNSSEC validation is not offered",
        "multipath": "multipath transfers are not offered",
    ]

    /// What to write in the place of a name that no single key replaces.
    private struct Advice {
        let text: String
        /// The key that a place must know for the advice to be right there; `nil` where it is right everywhere.
        var key: String?

        func isFor(_ known: [String]) -> Bool { key.map(known.contains) ?? true }
    }

    private static let advice: [String: [Advice]] = {
        var all: [String: [Advice]] = [:]
        func add(_ names: [String], _ text: String, where key: String? = nil) {
            for name in names { all[name, default: []].append(Advice(text: text, key: key)) }
        }
        add(
            [
                "insecure", "verify", "verifySSL", "verify_ssl", "verifyTLS", "sslVerify", "ssl_verify", "skipVerify",
                "insecureSkipVerify", "rejectUnauthorized", "validateCerts", "validate_certs", "checkCertificate",
                "check-certificate", "no-check-certificate",
            ],
            "write `tls: { trust: { policy: insecure } }` into the session to check no certificate; "
                + "better, `trust: { ca: FILE }` names an authority of your own")
        add(
            ["bearer", "bearerToken", "bearer_token", "bearerAuth", "accessToken", "access_token"],
            "write `headers: { Authorization: \"Bearer ${secret.NAME}\" }`")
        add(["token"], "write `headers: { Authorization: \"Bearer ${secret.TOKEN}\" }`", where: "headers")
        add(
            ["auth", "authentication", "basicAuth", "basic_auth", "basic", "login", "user", "username", "password"],
            "write `credentials: [{ user: me, password: \"${secret.PASSWORD}\" }]`", where: "credentials")
        add(
            ["userAgent", "user_agent", "user-agent"], "write `headers: { User-Agent: example/1.0 }`", where: "headers")
        for name in ["json", "file", "data", "form", "multipart"] {
            add([name], "write `body: { \(name): … }`", where: "needs")
        }
        add(
            ["upload", "uploadFile", "upload_file", "upload-file"],
            "an upload is written `method: PUT, body: { file: FILE }`", where: "needs")
        add(
            ["retries", "maxRetries", "max_retries", "retryCount", "tries", "attempts"],
            "write `retry: { attempts: 3 }`; the first attempt counts", where: "retry")
        for name in ["sha256", "sha512", "sha1", "md5"] {
            add([name], "write `checksum: \"\(name):…\"`", where: "checksum")
            add([name], "a checksum of its own is text: `checksum: \"\(name):…\"`", where: "from")
        }
        add(["url", "file"], "did you mean `from`?", where: "from")
        add(
            ["timeout", "timeoutInterval"],
            "`timeoutForRequest` bounds the time without a byte, `timeoutForResource` that of the whole task",
            where: "timeoutForRequest")
        add(
            ["loop", "with_items", "for_each", "for-each", "matrix", "items"],
            "write `forEach: { name: [a, b] }`, and `${name}` where the value belongs", where: "forEach")
        add(
            ["range"],
            "a download that broke off goes on by itself; `headers: { Range: \"bytes=0-99\" }` asks for a part",
            where: "needs")
        add(["range"], "a range is written `forEach: { n: 1..4 }`", where: "captured")
        return all
    }()

    /// This program's key for names of Apple's API, curl and others.
    static let meant = [
        "httpMaximumConnectionsPerHost": "maximumConnectionsPerHost",
        "timeoutIntervalForRequest": "timeoutForRequest",
        "timeoutIntervalForResource": "timeoutForResource",
        "timeoutInterval": "timeoutForRequest",
        "timeout": "timeoutForRequest",
        "httpAdditionalHeaders": "headers",
        "allHTTPHeaderFields": "headers",
        "requestCachePolicy": "cachePolicy",
        "urlCache": "cache",
        "httpCookieAcceptPolicy": "cookies",
        "httpShouldSetCookies": "cookies",
        "tlsMinimumSupportedProtocolVersion": "tls",
        "connectionProxyDictionary": "proxy",
        "protocolClasses": "protocols",
        "resolve": "connectTo",
        "connect-to": "connectTo",
        "ipVersion": "addressFamily",
        "ipresolve": "addressFamily",
        "ipv4": "addressFamily",
        "ipv6": "addressFamily",
        "unix-socket": "unixSocket",
        "socket": "unixSocket",
        "socketPath": "unixSocket",
        "isDiscretionary": "discretionary",
        "earliestBeginDate": "earliestBegin",
        "httpMethod": "method",
        "httpBody": "body",
        "taskDescription": "description",
        "mainDocumentURL": "mainDocument",
        "dependsOn": "needs",
        "depends_on": "needs",
        "if": "when",
        "condition": "when",
        "output": "to",
        "destination": "to",
        "path": "to",
        "uri": "url",
        "params": "query",
        "vars": "variables",
        "env": "variables",
        "jobs": "tasks",
        "retries": "retry",
        "maxRetries": "retry",
        "sha256": "checksum",
        "sha512": "checksum",
        "sha1": "checksum",
        "md5": "checksum",
        "accessKeyId": "accessKey",
        "access_key_id": "accessKey",
        "aws_access_key_id": "accessKey",
        "secretAccessKey": "secretKey",
        "secret_access_key": "secretKey",
        "aws_secret_access_key": "secretKey",
        "session_token": "sessionToken",
        "aws_session_token": "sessionToken",
        "endpointUrl": "endpoint",
        "endpoint_url": "endpoint",
        "endpoint-url": "endpoint",
        "auth": "credentials",
        "authentication": "credentials",
        "basicAuth": "credentials",
        "basic_auth": "credentials",
        "basic": "credentials",
        "login": "credentials",
        "userAgent": "headers",
        "user_agent": "headers",
        "insecure": "tls",
        "verify": "tls",
        "out": "to",
        "dest": "to",
        "filename": "to",
        "parallel": "maximumConcurrentTasks",
        "concurrency": "maximumConcurrentTasks",
        "after": "needs",
        "requires": "needs",
        "require": "needs",
        "name": "id",
        "src": "url",
        "source": "url",
        "link": "url",
        "href": "url",
        "target": "to",
        "dst": "to",
        "saveAs": "to",
        "save_as": "to",
        "outputFile": "to",
        "folder": "to",
        "directory": "to",
        "payload": "body",
        "rate": "bandwidth",
        "limitRate": "bandwidth",
        "limit-rate": "bandwidth",
        "limit_rate": "bandwidth",
        "maxSpeed": "bandwidth",
        "speedLimit": "bandwidth",
        "maxTime": "timeoutForResource",
        "max-time": "timeoutForResource",
        "max_time": "timeoutForResource",
        "overwrite": "existing",
        "force": "existing",
        "continue": "resume",
        "username": "user",
        "delay": "backoff",
        "retryDelay": "backoff",
        "retry_delay": "backoff",
        "loop": "forEach",
        "with_items": "forEach",
        "for_each": "forEach",
        "for-each": "forEach",
        "matrix": "forEach",
        "followRedirects": "redirects",
        "mirrors": "urls",
    ]
}
