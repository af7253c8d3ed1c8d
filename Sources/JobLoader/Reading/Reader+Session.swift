import TransferModel
import YAMLTree

/// Reads values that sessions have and nothing else.
extension Reader {
    func identifier(_ node: NodeID) -> String? {
        guard let text = text(node) else { return nil }
        guard TaskName.isWellFormed(text), text.utf8.count <= 200 else {
            error(
                "invalid-value", "`\(Self.short(text))` is no identifier",
                hint: "letters, digits, `.`, `_` and `-`, at most 200 of them", node)
            return nil
        }
        return text
    }

    func pins(_ node: NodeID) -> [String]? {
        guard expectList(node, .list(Sections.pinShape)) else { return nil }
        return tree.children(node).compactMap { element in
            guard let text = text(element, Sections.pinShape) else { return nil }
            guard text.hasPrefix("sha256//"), decodeBase64(String(text.dropFirst(8)))?.count == 32 else {
                invalid(
                    element, Sections.pinShape, text, hint: "`sha256//` and the SHA-256 of the public key in base64")
                return nil
            }
            return text
        }
    }

    func requestRate(_ node: NodeID) -> RequestRate? {
        guard tree.kind(node) == .mapping else {
            return number(node, 0.001...1_000_000).map { RequestRate(perSecond: $0) }
        }
        var rate = RequestRate(perSecond: 1)
        Sections.requestRate.decode(node, into: &rate, self)
        return rate
    }

    func minimumRate(_ node: NodeID) -> MinimumRate? {
        guard tree.kind(node) == .mapping else {
            wrongType(node, .object("minimumRate"))
            return nil
        }
        var floor = MinimumRate.blank
        Sections.minimumRate.decode(node, into: &floor, self)
        return floor.rate > 0 && floor.over > .zero ? floor : nil
    }

    /// Reads one rate, or a list of rates with their hours.
    func bandwidth(_ node: NodeID) -> Bandwidth? {
        guard tree.kind(node) == .sequence else { return rate(node).map { .steady($0) } }
        if tree.count(node) == 0 {
            error("invalid-value", "`bandwidth` has no entry", hint: "leave it out where there is no limit", node)
            return nil
        }
        let hours = tree.children(node).compactMap { bandwidthHours($0) }
        return hours.isEmpty ? nil : .byTimeOfDay(hours)
    }

    private func bandwidthHours(_ node: NodeID) -> Bandwidth.Hours? {
        var draft = Sections.BandwidthDraft()
        let known = problems.count
        Sections.bandwidthHours.decode(node, into: &draft, self)
        if problems.count == known, draft.from == draft.to {
            error(
                "empty-window", "these hours end when they begin",
                hint: "for one rate at all times write `bandwidth: 10MiB/s`", at: beginning(node))
        }
        return problems.count == known ? draft.hours : nil
    }

    func window(_ node: NodeID, into window: inout TimeWindow?) {
        var draft = window ?? TimeWindow(from: 0, to: 0)
        let known = problems.count
        Sections.window.decode(node, into: &draft, self)
        if problems.count == known, draft.from == draft.to, tree.kind(node) == .mapping, tree.count(node) > 1 {
            error("empty-window", "a `window` that ends when it begins is never open", at: beginning(node))
        }
        window = draft
    }

    func days(_ node: NodeID) -> Set<Int>? {
        guard expectList(node, .list(.choice(Sections.dayNames))) else { return nil }
        if tree.count(node) == 0 {
            error("empty-window", "a `window` without a day is never open", hint: "leave `days` out for all", node)
            return nil
        }
        return tree.children(node).reduce(into: []) { days, element in
            guard let text = text(element, .choice(Sections.dayNames)) else { return }
            let meant = Sections.dayNames.firstIndex(of: text)
            if let meant { days.insert(meant) } else { unknownWord(text, element, Sections.dayNames) }
        }
    }

    func scheme(_ node: NodeID) -> String? {
        guard let text = text(node) else { return nil }
        let isScheme =
            text.utf8.first.map { (0x61...0x7A).contains($0 | 0x20) } == true
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
            }
        guard isScheme else {
            error(
                "invalid-value", "`\(Self.short(text))` is no scheme",
                hint: "letters, digits, `+`, `-` and `.`; leave `://` out", node)
            return nil
        }
        let lower = text.lowercased()
        if Self.builtInSchemes.contains(lower) {
            error(
                "invalid-value", "`\(lower)` is the session's own and cannot be answered by a command",
                hint: "give it a scheme of your own, and write that in the URLs", node)
            return nil
        }
        return lower
    }

    static let builtInSchemes = ["http", "https", "ftp", "file", "data"]

    // MARK: Proxies

    func proxy(_ node: NodeID, into proxy: inout ProxyConfiguration) {
        if tree.isWord(node, "none") { return proxy = .none }
        guard tree.kind(node) == .mapping else {
            guard tree.kind(node) == .scalar else {
                return wrongType(node, .either([.choice(["none"]), .url, .object("proxy")]))
            }
            if let url = proxyURL(node) { proxy = .url(url) }
            return
        }
        var draft = Sections.ProxyDraft()
        if case .byScheme(let http, let https, let ftp, let all, let bypass) = proxy {
            draft = Sections.ProxyDraft(http: http, https: https, ftp: ftp, all: all, bypass: bypass)
        }
        Sections.proxy.decode(node, into: &draft, self)
        proxy = .byScheme(http: draft.http, https: draft.https, ftp: draft.ftp, all: draft.all, bypass: draft.bypass)
    }

    func proxyURL(_ node: NodeID) -> ProxyServer? {
        guard let text = urlText(node) else { return nil }
        if missingValues == .tolerated, MissingValue.stands(in: text.revealed) { return nil }
        guard let proxy = try? ProxyServer.parse(text.revealed) else {
            let schemes = ProxyServer.Kind.allCases.map { "\($0.rawValue)://" }.joined(separator: ", ")
            error(
                "invalid-url", "`\(key)` must be a proxy's URL",
                hint: "one of \(schemes), then `user:password@` if it asks for them, host and port", node)
            return nil
        }
        if let name = text.secretBarred(from: proxy.origin) {
            error(
                "secret-elsewhere", "the secret `\(name)` may not be sent to `\(text.barredPlace(proxy.origin))`",
                hint: "its `hosts` say where it may go", node)
            return nil
        }
        names.secrets.learn(proxy.secrets)
        noteHost(proxy.origin, node)
        return proxy
    }

    /// Returns the environment's proxies. A faulty variable is reported without its value, which may contain a
    /// password.
    func proxyEnvironment() -> ProxyEnvironment {
        var found = ProxyEnvironment()
        found.http = proxy(from: ProxyEnvironment.httpNames)
        found.https = proxy(from: ProxyEnvironment.httpsNames)
        found.ftp = proxy(from: ProxyEnvironment.ftpNames)
        found.all = proxy(from: ProxyEnvironment.allNames)
        found.bypass = variable(ProxyEnvironment.bypassNames)?.value ?? ""
        return found
    }

    private func variable(_ names: [String]) -> (name: String, value: String)? {
        for name in names {
            do throws(NotText) {
                let value = try resources.environment(name)?.trimmingBlanks() ?? ""
                if !value.isEmpty { return (name, value) }
            } catch {
                problems.error(
                    "invalid-value", "the environment's `\(name)` is not UTF-8 text",
                    hint: "a session with `proxy: none` needs none", at: nil, in: source)
                return nil
            }
        }
        return nil
    }

    private func proxy(from names: [String]) -> ProxyServer? {
        guard let (name, value) = variable(names) else { return nil }
        guard let proxy = try? ProxyServer.parse(value, fromEnvironment: true) else {
            problems.error(
                "invalid-url", "the environment's `\(name)` is no proxy's URL",
                hint: "such as `http://proxy.example.org:3128`; a session with `proxy: none` needs none", at: nil,
                in: source)
            return nil
        }
        self.names.secrets.learn(proxy.secrets)
        return proxy
    }

    func bypasses(_ node: NodeID) -> [String]? {
        guard expectList(node, .list(.text)) else { return nil }
        return tree.children(node).compactMap { element in
            guard let text = text(element) else { return nil }
            guard HostPattern(text) != nil || isRange(text) else {
                error("invalid-value", "`\(Self.short(text))` is neither a host pattern nor a CIDR range", element)
                return nil
            }
            return text
        }
    }

    /// Returns whether the text is a range of addresses such as `10.0.0.0/8` or `fd00::/8`.
    private func isRange(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let bits = Int(parts[1]), bits >= 0 else { return false }
        if parts[0].contains(":") { return bits <= 128 && (try? ResourceURL.parse("http://[\(parts[0])]/")) != nil }
        let isAddress = parts[0].allSatisfy { $0 == "." || ("0"..."9").contains($0) }
        return bits <= 32 && isAddress && HostName.ascii(String(parts[0])) != nil
    }
}
