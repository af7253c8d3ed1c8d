/// Reads Metalink 4 (RFC 5854): files with their places, hashes and sizes.
struct Metalink {
    private struct File {
        let line: Int
        let name: String
        var size: String?
        var description: String?
        var places: [(url: String, priority: Int)] = []
        var checksum: String?
        var dropped: [String] = []
    }

    private let name: String
    private var files: [File] = []
    private var text = ""
    private var attributes: [String: String] = [:]
    private var path: [String] = []
    private var fileIsOpen: Bool { path.contains("file") }

    static func add(_ text: String, file: String, to job: inout ImportedJob) {
        var reader = Metalink(name: file)
        do throws(XMLScanner.Problem) {
            try reader.read(text)
        } catch {
            job.lose(ImportPlace(file: file, line: error.line), "no XML that can be read: \(error.message)")
        }
        if reader.isOld {
            job.lose(ImportPlace(file: file, line: 1), "Metalink 3 is another format: version 4 is read")
        }
        for file in reader.files { reader.add(file, to: &job) }
    }

    private var isOld = false

    private init(name: String) { self.name = name }

    private mutating func read(_ text: String) throws(XMLScanner.Problem) {
        var scanner = XMLScanner(text)
        while let event = try scanner.next() {
            switch event {
            case .start(let name, let attributes, let line): begin(name, attributes, line)
            case .end(let name): end(name)
            case .text(let piece): if self.text.utf8.count < 1 << 20 { self.text += piece }
            }
        }
    }

    private mutating func begin(_ name: String, _ attributes: [String: String], _ line: Int) {
        if path.isEmpty, name == "metalink", attributes["version"] == "3.0" { isOld = true }
        path.append(name)
        text = ""
        self.attributes = attributes
        guard path == ["metalink", "file"] else { return }
        files.append(File(line: line, name: attributes["name"] ?? ""))
    }

    private mutating func end(_ name: String) {
        defer {
            if !path.isEmpty { path.removeLast() }
            text = ""
        }
        guard !files.isEmpty, path.starts(with: ["metalink", "file"]) else { return }
        let last = files.count - 1
        let value = text.trimmed
        switch path.dropFirst(2) {
        case ["size"]: files[last].size = value
        case ["description"]: files[last].description = value
        case ["url"]: files[last].places.append((value, attributes["priority"].flatMap { Int($0) } ?? 999_999))
        case ["hash"]: take(hash: value, attributes["type"] ?? "", &files[last])
        case ["pieces"]: files[last].dropped.append("the hashes of pieces: the hash of the whole file proves it")
        case ["metaurl"]: files[last].dropped.append("a `metaurl`, such as a torrent")
        case ["signature"]: files[last].dropped.append("a signature")
        default: break
        }
    }

    /// Keeps the strongest hash.
    private func take(hash: String, _ type: String, _ file: inout File) {
        guard let checksum = ForeignChecksum.text(type, hash) else {
            file.dropped.append("a hash of the type `\(type.prefix(20))`")
            return
        }
        let known = file.checksum.map { ForeignChecksum.strength($0) } ?? -1
        if ForeignChecksum.strength(checksum) > known { file.checksum = checksum }
    }

    // MARK: Tasks

    private func add(_ file: File, to job: inout ImportedJob) {
        let place = ImportPlace(file: name, line: file.line)
        guard let path = Self.safe(file.name) else {
            return job.lose(place, "a file whose name leads out of the folder was left out")
        }
        let ordered = file.places.enumerated().sorted {
            ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
        }
        let locations = ordered.map { URLText(JobText.literal($0.element.url)) }.filter { location in
            if location.isKnown, location.isWellFormed, !location.authority.isEmpty, location.user == nil {
                return true
            }
            job.lose(place, "a place of `\(path)` that is no http, https or ftp URL without a password was left out")
            return false
        }
        guard let first = locations.first else {
            return job.lose(place, "`\(path)` has no place that can be asked: it was left out")
        }
        var task = ImportedTask(place: place, name: path, url: first.text)
        task.mirrors = locations.dropFirst().map(\.text)
        task.set("to", .text(JobText.literal(path)))
        if let checksum = file.checksum { task.set("checksum", .text(checksum)) }
        if let size = file.size {
            if size.utf8.count <= 15, !size.isEmpty, size.utf8.allSatisfy(\.isASCIIDigit) {
                task.set("expect", .map(["size": .plain(size)]))
            } else {
                job.lose(&task, "a size that is no number was left out")
            }
        }
        if let description = file.description, !description.isEmpty {
            task.set("description", .text(JobText.literal(description)))
        }
        var told = Set<String>()
        for what in file.dropped where told.insert(what).inserted { job.lose(&task, "left out: \(what)") }
        job.add(task)
    }

    /// A relative path without `..`, as RFC 5854 wants it.
    private static func safe(_ name: String) -> String? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isSafe =
            !name.isEmpty && parts.allSatisfy { !$0.isEmpty && $0 != ".." && $0 != "." } && !name.contains("\0")
        return isSafe ? name : nil
    }
}
