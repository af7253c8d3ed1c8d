import HTTPRules
import JobImport
import TransferModel

/// Generates a first job file for URLs on the command line. Pure.
enum FirstJob {
    /// Returns the file's text; rejects URLs with a user or password, because others read the file.
    static func text(for urls: [ResourceURL]) throws(UsageError) -> String {
        var tasks: [String] = []
        var taken = (files: Set<String>(), ids: Set<String>())
        let site = commonSite(urls)
        var secrets = URLSecrets()
        for url in urls {
            guard url.userInformation == nil else {
                throw UsageError(
                    "a URL with a user or a password does not belong into a job file",
                    hint:
                        "leave them out, and write `credentials: [{ host: \(url.host), user: me, password: \"${secret.PASSWORD}\" }]` "
                        + "into a session")
            }
            tasks.append(task(url, site, &taken, &secrets))
        }
        let variables = site.map { "variables:\n  site: \(quoted($0))\n" } ?? ""
        return """
            # What to fetch and where to put it. `transfer-run check FILE` looks for mistakes,
            # `transfer-run FILE` runs it, and a second run asks only for what has changed.
            version: 1
            \(variables)\(secrets.text)tasks:
            \(tasks.joined())
            """
    }

    /// The text of the URLs' common origin, where all have the same; `nil` otherwise, and for one URL.
    private static func commonSite(_ urls: [ResourceURL]) -> String? {
        guard urls.count > 1, let first = urls.first, urls.allSatisfy({ $0.hasSameOrigin(as: first) }) else {
            return nil
        }
        return origin(first)
    }

    private static func origin(_ url: ResourceURL) -> String {
        let text = url.text
        guard let scheme = text.firstRange(of: "://") else { return text }
        return String(text[..<(text[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex)])
    }

    private static func task(
        _ url: ResourceURL, _ site: String?, _ taken: inout (files: Set<String>, ids: Set<String>),
        _ secrets: inout URLSecrets
    ) -> String {
        let name = SuggestedFilename.of(.empty, url: url) ?? "download"
        let file = unique(name, &taken.files)
        let id = unique(identifier(file), &taken.ids)
        let text = secrets.hide(escaped(url.text))
        let location = site.map { "${site}" + text.dropFirst($0.count) } ?? text
        return """
              - id: \(quoted(id))
                url: \(quoted(location))
                to: \(quoted("downloads/" + escaped(file)))
                # checksum: sha256:…    (of the file, if its publisher says one: a wrong file then never takes its place)

            """
    }

    private static func unique(_ name: String, _ taken: inout Set<String>) -> String {
        if taken.insert(name).inserted { return name }
        for number in 2... where taken.insert("\(number)-\(name)").inserted { return "\(number)-\(name)" }
        return name
    }

    private static func identifier(_ file: String) -> String {
        let stem = file.split(separator: ".").first.map(String.init) ?? file
        let letters = stem.utf8.map { byte -> UInt8 in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): byte
            default: UInt8(ascii: "-")
            }
        }
        return String(decoding: letters.isEmpty ? Array("download".utf8) : letters, as: UTF8.self)
    }

    /// Escapes `$`, which begins a reference before `{`.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text { result += character == "$" ? "$$" : String(character) }
        return result
    }

    /// The text as a YAML scalar, quoted where needed.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "._-/:$".utf8.contains(byte)
            }
        }
        let beginsPlain = text.utf8.first.map { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) } == true
        if isPlain, beginsPlain, !["true", "false", "null"].contains(text.lowercased()) { return text }
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7F {
                    let hex = String(scalar.value, radix: 16)
                    result += "\\x" + String(repeating: "0", count: 2 - hex.count) + hex
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result + "\""
    }
}
