import Diagnostics

/// Names from other tools that people write in job files.
enum ForeignKeys {
    /// Returns a hint about an unknown key: a likely misspelling, another tool's name, or the place that the key
    /// belongs in; else `nil`.
    static func hint(_ name: String, known: [String]) -> String? {
        if let advice = advice[name] ?? advice(name, known) { return advice }
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
        if let meant = meant[name], known.contains(meant) { return meant }
        return Spelling.closest(to: name, among: known)
    }

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

    /// Returns a hint about a name that means something else in another place.
    private static func advice(_ name: String, _ known: [String]) -> String? {
        switch name {
        case "json", "file": known.contains("needs") ? "write `body: { \(name): … }`" : nil
        case _ where name.hasPrefix("x-") && known.contains("tasks"):
            "set the anchor (`&name`) where its value is first used; what all tasks share stands in `defaults`"
        default: nil
        }
    }

    /// Hints about names whose meaning is a value of another key rather than a key.
    private static let advice: [String: String] = {
        let trust =
            "write `tls: { trust: { policy: insecure } }` into the session to check no certificate; "
            + "better, `trust: { ca: FILE }` names an authority of your own"
        let names = [
            "insecure", "verify", "verifySSL", "verify_ssl", "verifyTLS", "sslVerify", "ssl_verify", "skipVerify",
            "insecureSkipVerify", "rejectUnauthorized", "validateCerts", "validate_certs", "checkCertificate",
            "check-certificate", "no-check-certificate",
        ]
        let bearer = "write `headers: { Authorization: \"Bearer ${secret.NAME}\" }`"
        let bearers = ["bearer", "bearerToken", "bearer_token", "bearerAuth", "accessToken", "access_token"]
        return Dictionary(
            uniqueKeysWithValues: names.map { ($0, trust) } + bearers.map { ($0, bearer) })
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
        "followRedirects": "redirects",
        "mirrors": "urls",
    ]
}
