internal import TransferModel

/// Tells names that promise another file than a web page: `release.tgz`, but not `index.html`, `list.php` or `latest`.
enum UnlikelyPage {
    /// Extensions of pages, and of programs that make pages.
    private static let pages: Set<String> = [
        "html", "htm", "xhtml", "xht", "shtml", "mhtml", "php", "php3", "php4", "php5", "phtml", "asp", "aspx", "ashx",
        "jsp", "jspx", "jsf", "do", "action", "cgi", "pl", "py", "rb", "cfm", "dll", "exe", "fcgi", "nsf", "xml",
    ]

    /// Returns the file's name where that, or else the name in the URL, has the extension of another kind of file.
    static func name(_ destination: String?, _ url: String?) -> String? {
        let file = destination.flatMap { lastPart($0) }
        let asked = url.flatMap { lastPart(String(path(of: $0))) }
        for name in [file, asked].compactMap(\.self) {
            guard let suffix = suffix(of: name) else { continue }
            return pages.contains(suffix) ? nil : name
        }
        return nil
    }

    private static func path(of url: String) -> Substring {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let path = rest.prefix { $0 != "?" && $0 != "#" }
        return path.firstIndex(of: "/").map { path[$0...] } ?? ""
    }

    private static func lastPart(_ path: String) -> String? {
        let part = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        return part.isEmpty ? nil : String(part)
    }

    /// The extension in lower case: up to eight letters and digits, at least one of them a letter (`1.2` has none).
    private static func suffix(of name: String) -> String? {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last, (1...8).contains(last.utf8.count), !parts[0].isEmpty,
            last.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) }),
            last.utf8.contains(where: { $0 > 0x39 })
        else { return nil }
        return last.lowercased()
    }
}
