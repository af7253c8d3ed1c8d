import Diagnostics
import TransferModel

/// Looks up secrets: in `--secrets-file`, then `$CREDENTIALS_DIRECTORY/NAME`, then where the job declares them or in
/// the environment. Each is fetched on first use; an unused one may be missing.
final class SecretStore {
    struct Declaration {
        var environment: String?
        var file: String?
        var hosts: [HostPattern]?
    }

    private static let sizeLimit = 1 << 20
    private var declarations: [String: Declaration] = [:]
    private var values: [String: SecretText] = [:]
    private var broken: Set<String> = []
    /// The values of `--secrets-file`, by name.
    var fromFile: [String: String] = [:]
    /// Whether `--secrets-file` could not be read, so that any secret may be missing for that.
    var lacksFile = false
    /// The room of a job that is not trusted: no secret comes from a variable that is not for it.
    var room: JobRoom?
    /// An operator's rules, under which the job is read.
    var held: HeldReading?
    let resources: Resources
    let missingValues: MissingValues
    private(set) var known: [KnownSecret] = []

    init(resources: Resources, missingValues: MissingValues = .refused) {
        self.resources = resources
        self.missingValues = missingValues
    }

    func declare(_ name: String, _ declaration: Declaration) { declarations[name] = declaration }
    /// The files in which the job declares secrets.
    var files: [(name: String, path: String)] {
        declarations.sorted { $0.key < $1.key }.compactMap { name, declaration in declaration.file.map { (name, $0) } }
    }
    /// Whether the secret cannot be read, which was reported.
    func isBroken(_ name: String) -> Bool { lacksFile || broken.contains(name) }

    func value(_ name: String, _ reader: Reader, at span: SourceSpan) -> SecretText? {
        if let value = values[name] { return value }
        guard !broken.contains(name), let text = fetch(name, reader, at: span) else { return nil }
        let hosts = declarations[name]?.hosts
        let secret = SecretText(pieces: [.secret(name: name, value: text, hosts: hosts)])
        values[name] = secret
        if !text.isEmpty { known.append(KnownSecret(name: name, value: text, hosts: hosts)) }
        return secret
    }

    /// Adds secrets that have no name of their own, such as a password in a proxy's URL.
    func learn(_ secrets: [KnownSecret]) { known += secrets.filter { !known.contains($0) } }

    func declares(_ name: String) -> Bool { declarations[name] != nil }

    /// Returns the secret with a placeholder for its value, bound to the hosts that it is declared for.
    func placeholder(_ name: String) -> SecretText {
        SecretText(pieces: [.secret(name: name, value: MissingValue.placeholder, hosts: declarations[name]?.hosts)])
    }

    func hint(_ name: String) -> String {
        let declaration = declarations[name]
        if let path = declaration?.file { return "it is declared to come from the file `\(path)`, which is not there" }
        if let variable = declaration?.environment {
            return "it is declared to come from the environment's `\(variable)`, which is not set"
        }
        // A declared one is spelled right, however close another is.
        if declaration != nil {
            return "set `\(name)` in the environment, or write it into --secrets-file or $CREDENTIALS_DIRECTORY/\(name)"
        }
        let near = closest(name).map { "did you mean `${secret.\($0)}`? " } ?? ""
        return near
            + "a secret comes from --secrets-file, $CREDENTIALS_DIRECTORY/\(name) or the environment's `\(name)`"
    }

    private func closest(_ name: String) -> String? {
        Spelling.closest(to: name, among: (Array(declarations.keys) + Array(fromFile.keys)).sorted())
    }

    /// Fetches the secrets that the job does not use: a command may read them by itself, so output that contains one
    /// must be masked, too. One that cannot be read is ignored, and so is a short one, which would match many texts by
    /// chance.
    func learnUnused() {
        for name in Set(declarations.keys).union(fromFile.keys).sorted() where values[name] == nil {
            guard case .success(let text?) = find(name), text.utf8.count >= Self.shortestUnused else { continue }
            learn([KnownSecret(name: name, value: text, hosts: declarations[name]?.hosts)])
        }
    }
    private static let shortestUnused = 4

    private func fetch(_ name: String, _ reader: Reader, at span: SourceSpan) -> String? {
        switch find(name) {
        case .success(let text):
            if text?.isEmpty == true {
                reader.warning(
                    "empty-secret", "the secret `\(name)` is empty",
                    hint: "a CI service gives an empty one to a run that may not have it", at: span)
            }
            return text
        case .failure(let problem):
            broken.insert(name)
            if let refusal = problem.refusal {
                reader.refuse(refusal, at: span)
                return nil
            }
            return reader.error("unreadable-secret", "the secret `\(name)` cannot be read: \(problem.reason)", at: span)
        }
    }

    private struct Unreadable: Error {
        let reason: String
        /// Why the place where it would be found is refused.
        var refusal: AccessRefusal?
    }

    /// Looks for a secret in each place; the result is `nil` if none has it.
    private func find(_ name: String) -> Result<String?, Unreadable> {
        if let text = fromFile[name] { return .success(text) }
        let folder = variable("CREDENTIALS_DIRECTORY")
        if case .failure = folder { return folder }
        if case .success(let folder?) = folder, !folder.isEmpty,
            let found = read(Paths.absolute(name, in: folder), mayBeMissing: true)
        {
            return found
        }
        let declaration = declarations[name]
        if let path = declaration?.file {
            return read(path, mayBeMissing: missingValues == .tolerated) ?? .success(nil)
        }
        let place = declaration?.environment ?? name
        if let room, !room.allows(variable: place) {
            return .failure(Unreadable(reason: "", refusal: room.refusal(ofVariable: place)))
        }
        return variable(place)
    }

    private func variable(_ name: String) -> Result<String?, Unreadable> {
        do throws(NotText) {
            return .success(try resources.environment(name))
        } catch {
            return .failure(Unreadable(reason: "the environment's `\(name)` is not UTF-8 text"))
        }
    }

    private func read(_ path: String, mayBeMissing: Bool) -> Result<String?, Unreadable>? {
        switch resources.readFile(path, Self.sizeLimit) {
        case .success(let bytes):
            let text = Self.decode(bytes)
            return text.map { .success($0) } ?? .failure(Unreadable(reason: "\(path): not UTF-8 text"))
        case .failure(.notFound) where mayBeMissing: return nil
        case .failure(let problem): return .failure(Unreadable(reason: "\(path): \(problem.words)"))
        }
    }

    /// Returns the secret of a file. One line break at its end comes from an editor and is no part of the secret.
    private static func decode(_ bytes: [UInt8]) -> String? {
        var bytes = bytes
        if bytes.last == 0x0A {
            bytes.removeLast()
            if bytes.last == 0x0D { bytes.removeLast() }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
