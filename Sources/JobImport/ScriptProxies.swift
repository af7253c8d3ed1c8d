/// The proxies that a script exports, `export http_proxy=…`, for the transfers after it.
struct ScriptProxies: Sendable {
    private var fields: [YAMLField] = []
    private var bypass: [YAMLNode] = []
    /// A variable whose proxy no session can say; `nil` without.
    private(set) var lost: String?

    /// Notes a variable. Returns `false` where it is none of these, or one that the programs do not read.
    mutating func take(_ name: String, _ value: ShellWord, isExported: Bool, _ job: ImportedJob) -> Bool {
        let key = name.lowercased()
        // curl reads no `HTTP_PROXY`.
        guard key.hasSuffix("_proxy"), name != "HTTP_PROXY", isExported else { return false }
        let scheme = String(key.dropLast(6))
        let text = value.unknown == nil ? job.filled(value.text) : ""
        guard let plain = JobText.plain(text), value.unknown == nil, URLText(plain).user == nil else {
            lost = name
            return true
        }
        if scheme == "no" {
            let hosts = plain.split { $0 == "," || $0 == " " }.map { $0.hasPrefix(".") ? $0.dropFirst() : $0 }
            bypass = hosts.flatMap { [.text(String($0)), .text("*.\($0)")] }
            if plain == "*" { fields = [] }
            return true
        }
        fields.removeAll { $0.key == scheme }
        guard !plain.isEmpty else { return true }
        let url = URLText(plain.contains("://") ? plain : "http://\(plain)").text
        fields.append(YAMLField(scheme, .text(url.hasSuffix("/") ? String(url.dropLast()) : url)))
        return true
    }

    /// Notes the variables that `export NAME` or `unset NAME` gives to the programs, or takes from them.
    mutating func change(_ names: [String]) {
        if let name = names.first(where: { $0.lowercased().hasSuffix("_proxy") }) { lost = name }
    }

    /// What a session says of them; `nil` where there are none.
    var setting: YAMLNode? {
        if fields.isEmpty { return nil }
        return .map(bypass.isEmpty ? fields : fields + [YAMLField("bypass", .list(bypass))])
    }
}
