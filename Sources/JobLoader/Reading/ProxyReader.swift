import TransferModel
import YAMLTree

/// Reads `proxy`, and the proxies of the environment.
struct ProxyReader {
    let reader: Reader

    func proxy(_ node: NodeID, into proxy: inout ProxyConfiguration) {
        if reader.tree.isWord(node, "none") { return proxy = .none }
        guard reader.tree.kind(node) == .mapping else {
            guard reader.tree.kind(node) == .scalar else {
                return reader.wrongType(node, .either([.choice(["none"]), .url, .object("proxy")]))
            }
            if let url = proxyURL(node) { proxy = .url(url) }
            return
        }
        var draft = Sections.ProxyDraft()
        if case .byScheme(let http, let https, let ftp, let all, let bypass) = proxy {
            draft = Sections.ProxyDraft(http: http, https: https, ftp: ftp, all: all, bypass: bypass)
        }
        Sections.proxy.decode(node, into: &draft, reader)
        proxy = .byScheme(http: draft.http, https: draft.https, ftp: draft.ftp, all: draft.all, bypass: draft.bypass)
    }

    private func proxy(from names: [String]) -> ProxyServer? {
        guard let (name, value) = variable(names) else { return nil }
        guard let proxy = try? ProxyServer.parse(value, fromEnvironment: true) else {
            reader.problems.error(
                "invalid-url", "the environment's `\(name)` is no proxy's URL",
                hint: "such as `http://proxy.example.org:3128`; a session with `proxy: none` needs none", at: nil,
                in: reader.source)
            return nil
        }
        reader.names.secrets.learn(proxy.secrets)
        reader.access?.connects(to: proxy.origin.port)
        return proxy
    }

    func proxyURL(_ node: NodeID) -> ProxyServer? {
        guard let text = reader.urlText(node) else { return nil }
        if reader.missingValues == .tolerated, MissingValue.stands(in: text.revealed) { return nil }
        guard let proxy = try? ProxyServer.parse(text.revealed) else {
            let schemes = ProxyServer.Kind.allCases.map { "\($0.rawValue)://" }.joined(separator: ", ")
            return reader.error(
                "invalid-url", "`\(reader.key)` must be a proxy's URL",
                hint: "one of \(schemes), then `user:password@` if it asks for them, host and port", node)
        }
        if let name = text.secretBarred(from: proxy.origin) {
            return reader.error(
                "secret-elsewhere", "the secret `\(name)` may not be sent to `\(text.barredPlace(proxy.origin))`",
                hint: "its `hosts` say where it may go", node)
        }
        reader.names.secrets.learn(proxy.secrets)
        reader.recordHost(proxy.origin, node)
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
                let value = try reader.resources.environment(name)?.trimmingBlanks() ?? ""
                if !value.isEmpty { return (name, value) }
            } catch {
                reader.problems.error(
                    "invalid-value", "the environment's `\(name)` is not UTF-8 text",
                    hint: "a session with `proxy: none` needs none", at: nil, in: reader.source)
                return nil
            }
        }
        return nil
    }

    func bypasses(_ node: NodeID) -> [String]? {
        reader.elements(node, .list(.text)) { element in
            guard let text = reader.text(element) else { return nil }
            guard HostPattern(text) != nil || isRange(text) else {
                return reader.error(
                    "invalid-value", "`\(Reader.short(text))` is neither a host pattern nor a CIDR range", element)
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
