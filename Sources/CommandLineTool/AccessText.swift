import Diagnostics
import JobLoader
import TextFormats
import TransferModel

/// Formats what a job may do for `check`: abridged for people, complete for `--explain-access`, and as JSON.
struct AccessText {
    /// Path of the job file, as typed.
    let file: String
    let access: JobAccess

    /// Names of a kind that the abridged form shows, at most.
    private static let named = 3

    private struct Heading {
        let kind: JobAccess.Kind
        /// ``run 1 command``, ``run 2 commands``
        let one: String
        let many: String
        let member: StaticString
    }

    private static let headings = [
        Heading(kind: .command, one: "run 1 command", many: "run % commands", member: "commands"),
        Heading(
            kind: .read, one: "read 1 file outside its folder", many: "read % files outside its folder",
            member: "reads"),
        Heading(
            kind: .write, one: "write 1 place outside its folder", many: "write % places outside its folder",
            member: "writes"),
        Heading(
            kind: .remove, one: "remove what it does not name in 1 folder",
            many: "remove what it does not name in % folders", member: "removes"),
        Heading(
            kind: .environment, one: "read 1 variable of the environment", many: "read % variables of the environment",
            member: "environment"),
        Heading(kind: .secret, one: "use 1 secret", many: "use % secrets", member: "secrets"),
        Heading(kind: .key, one: "trust 1 signing key", many: "trust % signing keys", member: "keys"),
        Heading(
            kind: .socket, one: "ask the service at 1 Unix socket", many: "ask the services at % Unix sockets",
            member: "sockets"),
        Heading(
            kind: .background, one: "go on in 1 background session when the command has ended",
            many: "go on in % background sessions when the command has ended", member: "background"),
        Heading(kind: .host, one: "ask 1 host", many: "ask % hosts", member: "hosts"),
    ]

    /// Returns one line for a job that does nothing unusual, else one line for each kind of access.
    func folded() -> String {
        let name = Visible.text(file)
        guard !access.isOrdinary else {
            let hosts = access.names(.host)
            let asks = hosts.isEmpty ? "asks no host" : "asks \(Self.list(hosts))\(redirects)"
            let keys = access.names(.key)
            let trusts = keys.isEmpty ? "" : ", and trusts the minisign key \(Self.list(keys))"
            return
                "\(name) runs no command, keeps to its folder, uses no secret\(keys.isEmpty ? ", and" : ",") \(asks)\(trusts)\n"
        }
        var text = "\(name) may\n"
        for heading in Self.headings {
            let names = access.names(heading.kind)
            guard !names.isEmpty else { continue }
            text += "  \(title(heading, names.count)): \(Self.list(names))"
            text += (heading.kind == .host ? redirects : "") + "\n"
        }
        return text + "  `--explain-access` says where each of them is written\n"
    }

    /// Returns every access with the line of the job that states it.
    func whole() -> String {
        var text = "\(Visible.text(file)) may\n"
        for heading in Self.headings {
            let entries = access.entries.filter { $0.kind == heading.kind }
            guard !entries.isEmpty else { continue }
            text += "  \(title(heading, access.names(heading.kind).count))\(heading.kind == .host ? redirects : "")\n"
            for entry in entries {
                let place = "\(Visible.text(file)):\(entry.line): \(Visible.text(entry.owner))"
                let refused = entry.refusal.map { "refused by \(Self.rule($0)): " } ?? ""
                text += "    \(refused)\(Visible.text(entry.what))  (\(place))\n"
            }
            if let more = access.unlisted[heading.kind] { text += "    and \(more) more\n" }
        }
        return (access.entries.isEmpty ? folded() : text) + policyLines
    }

    /// The rule that refuses something, with its place if it has one.
    private static func rule(_ refusal: AccessRefusal) -> String {
        "the rule `\(refusal.rule)`" + (refusal.place.map { " of the policy \(Visible.text($0))" } ?? "")
    }

    /// What a policy refuses beside accesses, and what it changed.
    private var policyLines: String {
        var text = ""
        for refused in access.refused {
            let place = "\(Visible.text(file)):\(refused.line)"
            text += "  refused by \(Self.rule(refused.refusal)): \(Visible.text(refused.refusal.message))  (\(place))\n"
        }
        if !access.notes.isEmpty { text += "  held by a policy to\n" }
        for note in access.notes { text += "    \(Visible.text(note.what))  (\(Visible.text(note.place)))\n" }
        return text
    }

    func write(to json: inout JSONWriter) {
        json.member("file", file)
        for heading in Self.headings {
            json.objects(heading.member, access.entries.filter { $0.kind == heading.kind }) { json, entry in
                json.member("what", entry.what)
                json.member("line", Int(entry.line))
                json.member("owner", entry.owner)
                if let refusal = entry.refusal { Self.write(refusal, to: &json) }
            }
        }
        if !access.notes.isEmpty {
            json.objects("policy", access.notes) { json, note in
                json.member("what", note.what)
                json.member("rule", note.place)
            }
        }
        if !access.refused.isEmpty {
            json.objects("refused", access.refused) { json, refused in
                json.member("what", refused.refusal.message)
                json.member("line", Int(refused.line))
                Self.write(refused.refusal, to: &json)
            }
        }
        json.member("unlisted", access.unlisted.values.reduce(0, +))
        json.member("mayBeRedirected", access.mayBeRedirected)
    }

    private static func write(_ refusal: AccessRefusal, to json: inout JSONWriter) {
        json.member("refused", refusal.rule)
        if let place = refusal.place { json.member("policy", place) }
    }

    private var redirects: String {
        access.mayBeRedirected ? " (redirects may lead elsewhere)" : ""
    }

    private func title(_ heading: Heading, _ count: Int) -> String {
        let count = count + (access.unlisted[heading.kind] ?? 0)
        guard count != 1 else { return heading.one }
        return heading.many.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "\(count)")
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.prefix(names.count == named + 1 ? named + 1 : named).map { Visible.text(short($0)) }
        let rest = names.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
    }

    private static func short(_ text: String) -> String {
        text.unicodeScalars.count <= 80
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(77))) + "..."
    }
}
