/// The order in which a script's commands write and read files.
private struct FileOrder {
    /// The last task that writes a file, by the file's path in the script.
    var writers: [String: Int] = [:]
    /// Tasks that read a file, by its path, and the one that wrote it; `nil` for a file that was there before.
    var readers: [String: [(task: Int, writer: Int?)]] = [:]
    /// Folders in which a task writes a file whose name only the run knows.
    var folders: Set<String> = []
    /// The last task that saves its cookies to a file.
    var jars: [String: Int] = [:]
    /// Commands that a job cannot say, and why.
    var lost: [ImportedCommand: String] = [:]
    /// Paths that tasks of the job write.
    var taken: Set<String> = []

    /// Whether a file may be one whose name only the run knows.
    func isChosen(_ path: String) -> Bool {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return folders.contains(String(path[..<end]))
    }
}

extension ImportedJob {
    /// Lets what reads a file that another task writes wait for that task and read what it writes, as a script does. A
    /// cookie jar is such a file: the tasks that share one are of one session, in which cookies pass from one to the next.
    /// Returns the commands for which a job cannot say that, and why.
    mutating func connect() -> [ImportedCommand: String] {
        putListsFirst()
        var order = FileOrder()
        var requests = RequestOrder(tasks, marks)
        var ids = Set<String>()
        for index in tasks.indices {
            tasks[index].id = Identifier.unique(Identifier.task(tasks[index].name), &ids)
            var needs = RequestOrder.Needs(hard: tasks[index].needed)
            nameList(of: index, &needs.hard)
            var reason = follow(index, &needs.hard, &order) ?? shareJar(index, &needs.soft, &order)
            let references = answerCount == 0 ? [] : AnswerValue.references(in: tasks[index].text)
            let answers = references.compactMap { reference in
                tasks[..<index].firstIndex { $0.gives(reference.number) }
            }
            needs.soft += Set(answers).sorted().filter { !needs.soft.contains($0) && !needs.hard.contains($0) }
            switch requests.place(tasks[index], needs) {
            case .lost(let why): reason = reason ?? why
            case .needs(let others, let when, let strict):
                // A captured value is a need by itself.
                let written = others.filter { !answers.contains($0) || needs.hard.contains($0) }
                if !written.isEmpty {
                    tasks[index].set("needs", .list(written.map { .text(need($0, of: index)) }))
                    if let when { tasks[index].set("when", .text(when)) }
                }
                if let strict {
                    tell(index, "here `\(tasks[strict].id)` must succeed for it, not only end: \(RequestOrder.mixed)")
                }
            }
            if let reason { order.lost[tasks[index].command] = reason }
            write(index, &order)
        }
        return order.lost
    }

    /// How a task names another one in `needs`: the one of the same turn of a loop, or all of its turns.
    private func need(_ other: Int, of task: Int) -> String {
        let (other, task) = (tasks[other], tasks[task])
        if other.idSuffix.isEmpty { return other.id }
        return other.id + (task.idSuffix == other.idSuffix && task.forEach == other.forEach ? other.idSuffix : "-*")
    }

    /// Lets a task read what those before it write. Returns why it cannot.
    private mutating func follow(_ index: Int, _ needs: inout [Int], _ order: inout FileOrder) -> String? {
        let (lists, patterns) = (tasks[index].listFiles("lines"), tasks[index].listFiles("files"))
        for path in lists + patterns {
            let key = plainPath(path)
            order.readers[key, default: []].append((index, nil))
            let isWritten =
                order.writers[key] != nil
                || patterns.contains(path) && order.writers.keys.contains { Self.mayMatch(key, $0) }
            if isWritten {
                return "a task before it may write `\(path.prefix(40))`, which a job reads when it begins"
            }
        }
        var renamed: [String: String] = [:]
        for path in tasks[index].readFiles {
            let key = plainPath(path)
            if hidesSecrets(inQueryOf: path) { return "the name of a file that it reads has a secret in it" }
            order.readers[key, default: []].append((index, order.writers[key]))
            if order.jars[key] != nil { return "the cookies in `\(path.prefix(40))` are there when the run ends" }
            guard let writer = order.writers[key] else {
                guard order.isChosen(key) else { continue }
                return "a task before it may write `\(path.prefix(40))`, under a name that only the run knows"
            }
            let (task, other) = (tasks[index], tasks[writer])
            if other.condition != task.condition && other.condition != nil || task.condition == "failed" {
                return "only the script knows which transfer wrote `\(path.prefix(40))`"
            }
            if other.sharedFile != nil, other.forEach != task.forEach {
                return "each turn of a loop writes `\(path.prefix(40))`, and here each has a file of its own"
            }
            if !needs.contains(writer) { needs.append(writer) }
            if let to = other.text("to"), plainPath(to) != key { renamed[path] = to }
        }
        if !renamed.isEmpty {
            tasks[index].keepNames(ofParts: renamed)
            tasks[index].changePaths { renamed[$0] ?? $0 }
        }
        return nil
    }

    /// Whether a pattern may be one of a file.
    private static func mayMatch(_ pattern: String, _ path: String) -> Bool {
        func isMark(_ character: Character) -> Bool { "*?[]{}$".contains(character) }
        let (head, start) = (pattern.prefix { !isMark($0) }, path.prefix { !isMark($0) })
        let (tail, end) = (pattern.reversed().prefix { !isMark($0) }, path.reversed().prefix { !isMark($0) })
        return (head.starts(with: start) || start.starts(with: head))
            && (tail.starts(with: end) || end.starts(with: tail))
    }

    /// Lets a task take the cookies that one before it saves. Returns why it cannot.
    private mutating func shareJar(_ index: Int, _ needs: inout [Int], _ order: inout FileOrder) -> String? {
        guard let jar = tasks[index].cookieJar else { return nil }
        let key = plainPath(jar)
        if let writer = order.jars[key] {
            if !needs.contains(writer) { needs.append(writer) }
            if tasks[writer].forgetsCookies {
                return
                    "wget saves no cookie that ends with the session in `\(jar.prefix(40))`, and here it would be sent "
                    + "(`--keep-session-cookies` says that it is)"
            }
            guard tasks[index].settings == tasks[writer].settings else {
                return
                    "its cookies of `\(jar.prefix(40))` are in the session of the command that saves them, which has "
                    + "other options"
            }
            tasks[index].shareCookies(jar)
        }
        if tasks[index].savesCookies { order.jars[key] = index }
        return nil
    }

    private func sharesLoop(_ task: Int, _ other: Int) -> Bool {
        tasks[task].forEach.contains { list in tasks[other].forEach.contains { $0.key == list.key } }
    }

    /// Notes what a task writes, and gives it a file of its own: two tasks with one `to` are an error.
    private mutating func write(_ index: Int, _ order: inout FileOrder) {
        guard let to = tasks[index].text("to"), to != "-" else { return }
        if to.hasSuffix("/") {
            order.folders.insert(plainPath(to))
            return
        }
        let key = plainPath(tasks[index].sharedFile ?? to)
        let readers = order.readers[key] ?? []
        let shown = (tasks[index].sharedFile ?? to).prefix(40)
        let isOriginalRead = !readers.isEmpty && order.writers[key] == nil
        if isOriginalRead {
            order.lost[tasks[index].command] = "a transfer before it reads `\(shown)`, which it writes"
        }
        // A later turn of their loop would read what this one wrote.
        for (reader, writer) in readers where sharesLoop(reader, index) && writer.map({ sharesLoop($0, index) }) != true
        {
            order.lost[tasks[reader].command] = "a later command of the loop writes `\(shown)`, which it reads"
        }
        if isOriginalRead { return }
        order.writers[key] = index
        let path = plainPath(to)
        if order.taken.insert(path).inserted { return }
        var number = 2
        while !order.taken.insert("\(path).\(number)").inserted { number += 1 }
        tasks[index].set("to", .text("\(to).\(number)"))
        tell(index, "another task writes `\(to)` already: this one writes `\(to).\(number)`")
    }
}

extension ImportedTask {
    /// Keeps the names under which parts of a form send files that are about to have others.
    fileprivate mutating func keepNames(ofParts files: [String: String]) {
        guard case .list(let parts)? = body.first(where: { $0.key == "multipart" })?.value else { return }
        let named = parts.map { part -> YAMLNode in
            guard case .map(let fields) = part, !fields.contains(where: { $0.key == "filename" }),
                case .text(let file)? = fields.first(where: { $0.key == "file" })?.value, files[file] != nil,
                let name = file.split(separator: "/").last
            else { return part }
            return .map(fields + [YAMLField("filename", .text(String(name)))])
        }
        set("body", .map(["multipart": .list(named)]))
    }
}
