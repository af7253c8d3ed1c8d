/// A task as an import collects it.
struct ImportedTask: Sendable {
    /// Where its command stands.
    var place: ImportPlace
    /// Number in its script of the command that it is of.
    var number = 0
    /// The base of its id.
    var name: String
    /// Its id, once all tasks are there.
    var id = ""
    /// What other tasks take out of its answer.
    var answer: AnswerValue?
    /// What follows the base in the id, with a reference that makes the ids of `forEach` different.
    var idSuffix = ""
    /// Its URL.
    var url: String
    /// Further places of the same file.
    var mirrors: [String] = []
    /// Keys of the task beside `id`, `url` and `session`, in order.
    var fields: [YAMLField] = []
    /// Keys of the task's session: tasks with the same ones share a session.
    var session: [YAMLField] = []
    /// Comments before the task.
    var comments: [String] = []
    /// Places of tasks that it waits for in the job's list.
    var needed: [Int] = []
    /// The file that each turn of its loop writes in the script, where each has one of its own here.
    var sharedFile: String?
    /// Whether its command succeeds whatever the status of the answer is.
    var ignoresStatus = false
    /// Number of the background command that it is of; 0 for one that the script waits for.
    var lane = 0
    /// Whether all that comes after it waits for its end, as after a loop that waits for a server.
    var isAwaited = false
    /// Whether its command does not save the cookies that end with the session, as wget by itself.
    var forgetsCookies = false
    /// The task that fetches the list with this task's checksum.
    var checksumList: Int?
    /// Whether its command asks once, and what becomes of it decides what comes next.
    var asksOnce = false

    init(place: ImportPlace, name: String, url: String) {
        self.place = place
        self.name = name
        self.url = url
    }

    /// Sets a key.
    mutating func set(_ key: String, _ value: YAMLNode) {
        fields.removeAll { $0.key == key }
        fields.append(YAMLField(key, value))
    }

    /// Sets a key of its session.
    mutating func setSession(_ key: String, _ value: YAMLNode) {
        session.removeAll { $0.key == key }
        session.append(YAMLField(key, value))
    }

    /// The text of a key; `nil` for another value.
    func text(_ key: String) -> String? {
        if case .text(let text)? = fields.first(where: { $0.key == key })?.value { text } else { nil }
    }
}

extension ImportedTask {
    /// Sets where the answer goes. A request that sends files is an upload.
    mutating func setTarget(_ to: String, _ job: inout ImportedJob) {
        let sendsFiles = !readFiles.isEmpty && !body.contains(where: { $0.key == "stream" })
        if sendsFiles || text("type") == "upload" {
            set("type", .text("upload"))
            let isBare = !fields.contains { ["existing", "mode", "preserveTime"].contains($0.key) }
            if !isBare { job.lose(&self, "`existing`, `mode` and `preserveTime` are of downloads alone: left out") }
            fields.removeAll { ["existing", "decompress", "mode", "preserveTime"].contains($0.key) }
        } else if !body.isEmpty {
            set("type", .text("download"))
        }
        set("to", .text(to))
    }

    /// A path as seen from the folder that `folder` is relative to.
    static func path(_ path: String, in folder: String?, _ job: ImportedJob) -> String {
        guard let folder, !path.hasPrefix("${env.HOME}"), !job.filled(path).hasPrefix("/") else { return path }
        let whole = folder + (path == "./" ? "" : path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
        guard whole.contains("..") else { return whole }
        let short = ImportedJob.withoutDots(whole)
        return whole.hasSuffix("/") ? short.isEmpty ? "./" : short + "/" : short
    }

    /// Puts the files that the task writes and reads into a folder.
    mutating func move(to folder: String, _ job: ImportedJob) {
        if let to = text("to"), to != "-" { set("to", .text(Self.path(to, in: folder, job))) }
        sharedFile = sharedFile.map { Self.path($0, in: folder, job) }
        changePaths { Self.path($0, in: folder, job) }
    }

    /// Changes the paths of the files that the task reads.
    mutating func changePaths(_ change: (String) -> String) {
        for index in fields.indices where ["body", "forEach"].contains(fields[index].key) {
            fields[index] = YAMLField(fields[index].key, Self.changed(fields[index].value, "", change))
        }
        session = session.map { YAMLField($0.key, Self.changed($0.value, $0.key, change)) }
    }

    /// Keys whose texts are paths.
    static let pathKeys: Set<String> = ["file", "lines", "ca", "certificate", "key", "unixSocket"]

    private static func changed(_ node: YAMLNode, _ key: String, _ change: (String) -> String) -> YAMLNode {
        switch node {
        case .text(let text): pathKeys.contains(key) ? .text(change(text)) : node
        case .plain: node
        case .list(let words) where key == "command" && words.count > 1:
            .list(words.dropLast() + [changed(words[words.count - 1], "file", change)])
        case .list(let nodes): .list(nodes.map { changed($0, "", change) })
        case .map(let fields): .map(fields.map { YAMLField($0.key, changed($0.value, $0.key, change)) })
        }
    }

    /// Whether the value of an answer with a number is one of its own.
    func gives(_ number: Int) -> Bool { answer?.all.contains { $0.number == number } == true }

    /// All that it says, for references to be found in.
    var text: String { ([url] + mirrors).joined(separator: " ") + YAMLText.block(fields + session, indent: "") }

    /// A key with a value of an answer in which none can stand: what a job reads and whom it talks to is known before.
    var keyThatTakesNoAnswer: String? {
        func holds(_ text: String) -> Bool { text.contains("tasks.@") }
        if readFiles.contains(where: holds) { return "body.file" }
        let allowed: Set<String> = ["headers", "body", "contentType", "to"]
        return (fields.filter { !allowed.contains($0.key) } + session).first { holds(YAMLText.flow($0.value)) }?.key
    }

    /// The `when` that the script gives it, beside the one that only keeps an order.
    var condition: String? { text("when").flatMap { $0 == "finished" ? nil : $0 } }

    /// The file that an answer goes to, or `-`; `nil` where it is thrown away. The command names `typed`, and the shell sends
    /// standard output to `output`.
    static func target(_ typed: String, _ output: String?) -> String? {
        let place = ["-", "/dev/stdout"].contains(typed) ? output ?? "-" : typed
        return place == "/dev/null" ? nil : place == "/dev/stdout" ? "-" : place
    }

    /// The command that it is of.
    var command: ImportedCommand { ImportedCommand(place: place, number: number) }

    /// Whether it is a download into a file.
    var writesFile: Bool { text("to").map { $0 != "-" } == true && text("type") != "upload" }

    /// Whether it fetches one file and does nothing else.
    var isPlainDownload: Bool {
        body.isEmpty && text("method") == nil && forEach.isEmpty
            && text("to").map { $0 != "-" && !$0.hasSuffix("/") } == true
    }

    /// Whether its request may change something at the server.
    var sends: Bool { !body.isEmpty || !["GET", "HEAD", nil].contains(text("method")) }

    /// The lists of its loops, by name.
    var forEach: [YAMLField] {
        if case .map(let lists)? = fields.first(where: { $0.key == "forEach" })?.value { lists } else { [] }
    }

    /// What its loops take from files: `key` is `lines`, or `files` for a pattern.
    func listFiles(_ key: String) -> [String] {
        forEach.compactMap { list in
            guard case .map(let source) = list.value,
                case .text(let file)? = source.first(where: { $0.key == key })?.value
            else { return nil }
            return file
        }
    }

    /// Keys of the session's cookies.
    var cookies: [YAMLField] {
        guard case .map(let fields)? = session.first(where: { $0.key == "cookies" })?.value else { return [] }
        return fields
    }

    /// What its session sets beside cookies.
    var settings: [YAMLField] { session.filter { !["cookies", "maximumConcurrentTasks"].contains($0.key) } }

    /// The file of the session's cookies.
    var cookieJar: String? {
        if case .text(let path)? = cookies.first(where: { $0.key == "file" })?.value { path } else { nil }
    }

    /// Whether the session writes its cookies back.
    var savesCookies: Bool { cookies.contains { $0.key == "save" } }

    /// Takes cookies from a jar that a task before saves, and saves them there: the file may not be there yet.
    mutating func shareCookies(_ jar: String) {
        setSession("cookies", .map([YAMLField("file", .text(jar)), YAMLField("save", .plain("true"))]))
    }

    /// Files that the request reads.
    var readFiles: [String] {
        body.flatMap { Self.files($0.value, $0.key) }
    }

    /// All files that it reads: those that it sends, the lists and patterns of its loops, and those of its session.
    var filesOnDisk: [String] {
        let files = readFiles + listFiles("lines") + listFiles("files")
        return files + session.flatMap { Self.files($0.value, $0.key, ["file", "ca", "certificate", "key"]) }
    }

    private static func files(_ node: YAMLNode, _ key: String, _ keys: Set<String> = ["file"]) -> [String] {
        switch node {
        case .text(let text): keys.contains(key) ? [text] : []
        case .plain: []
        // The command that reads a file names it last.
        case .list(let words) where key == "command" && words.count > 1: files(words[words.count - 1], "file")
        case .list(let nodes): nodes.flatMap { files($0, "", keys) }
        case .map(let fields): fields.flatMap { files($0.value, $0.key, keys) }
        }
    }
}
