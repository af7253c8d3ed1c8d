/// A line of a file that was imported, or of standard input.
package struct ImportPlace: Hashable, Sendable, CustomStringConvertible {
    /// Name of the file.
    package let file: String
    /// Line, from 1.
    package let line: Int
    /// `fetch.sh:12`.
    package var description: String { "\(file):\(line)" }

    package init(file: String, line: Int) {
        self.file = file
        self.line = line
    }
}

/// Something of an imported file that a job cannot say, or says differently.
package struct ImportWarning: Hashable, Sendable {
    /// Where it stands.
    package let place: ImportPlace
    /// What is lost, and what to do.
    package let message: String

    /// Whether a transfer was left out.
    var leavesOut: Bool {
        message.hasSuffix("was left out") || message.hasSuffix("was left out, too")
            || message.contains("in a command substitution was left out")
    }
}

/// A command of an imported file. Several may stand on one line.
package struct ImportedCommand: Hashable, Sendable {
    let place: ImportPlace
    /// Number of the command in its script, from 0.
    let number: Int
}

/// What is known of the variables of scripts beside the job's own.
struct ScriptVariables: Sendable {
    /// Variables that were defined, with their texts, also those that hold a secret.
    var texts: [(name: String, value: String)] = []
    /// Names of variables whose values are secrets where a transfer uses them, also one that is left out.
    var concealed: Set<String> = []
    /// Texts that a script wrote before the transfer that is read, by the paths of their files.
    var written: [String: String] = [:]
    /// Variables of the environment without which a script ends.
    var guarded: Set<String> = []
}

/// The job that several files become.
struct ImportedJob: Sendable {
    /// Comments at the top of the file.
    var notes: [String] = []
    var warnings: [ImportWarning] = []
    /// Variables by name, in order.
    var variables: [YAMLField] = []
    /// Names of secrets and the hosts they may go to; no hosts where they are not known.
    private(set) var secrets: [(name: String, hosts: [String])] = []
    var limits: [YAMLField] = []
    var failFast = false
    var tasks: [ImportedTask] = []
    /// Number of the command that is read.
    var number = 0
    /// Commands that are no part of the job, and why.
    var leftOut: [ImportedCommand: String] = [:]
    /// Numbers of the values of answers that are secrets.
    private var secretAnswers: Set<Int> = []
    /// Number of the values that scripts take out of answers.
    var answerCount = 0
    /// How secrets are named that have no name in the script.
    var labels = SecretLabels()
    /// Names of variables that hold a secret.
    private(set) var forgotten: Set<String> = []
    /// Comments where nothing became a task, by the number of tasks before them.
    private var strays: [(before: Int, text: String)] = []

    /// The loops that are open.
    var loops: [ShellLoop] = []
    /// What is known of the variables of scripts.
    var script = ScriptVariables()
    /// Where the script waits.
    var marks = RequestOrder.Marks()
    /// A `sleep` that no transfer has followed yet.
    var pause: (place: ImportPlace, message: String)?
    /// Whether a task sends standard input already: it can be read only once.
    var sendsStandardInput = false

    mutating func add(_ task: ImportedTask) {
        var task = task
        hideSecrets(of: &task)
        // A value of an answer begins no path.
        if let to = task.text("to"), to.hasPrefix("${tasks.@") { task.set("to", .text("./" + to)) }
        if let lost = AnswerValue.references(in: task.text).first(where: { value in
            !tasks.contains { $0.gives(value.number) }
        }) {
            return lose(
                task.place, "it uses `\(lost.name)` of a transfer that was left out: this one was left out, too")
        }
        if let to = task.text("to"), plainPath(to).hasPrefix("/dev/") {
            return lose(
                task.place, "`\(to.prefix(40))` is a device, which no answer is written to: this transfer was left out")
        }
        if let key = task.keyThatTakesNoAnswer {
            return lose(task.place, "a value of an answer cannot stand in `\(key)`: this transfer was left out")
        }
        task.number = number
        if let reason = leftOut[task.command] {
            let message = "\(reason): this transfer was left out"
            let isTold = warnings.last == ImportWarning(place: task.place, message: message)
            return isTold ? () : lose(task.place, message)
        }
        bindSecrets(ofHeaders: task)
        tasks.append(task)
    }

    /// Lets the secrets in a task's headers go to all places of its file, to which aria2 sends them.
    private mutating func bindSecrets(ofHeaders task: ImportedTask) {
        guard let headers = task.fields.first(where: { $0.key == "headers" }), !task.mirrors.isEmpty else { return }
        let text = YAMLText.flow(headers.value)
        for (name, hosts) in secrets where !hosts.isEmpty && text.contains("${secret.\(name)}") {
            for mirror in task.mirrors { _ = secret(name, for: URLText(mirror, filled: filled(mirror)).host) }
        }
    }

    /// Lets others take a value out of the answer of the one task from a number on, which a script would print. Returns
    /// `false` where the answer goes elsewhere: then it is no task of the job.
    mutating func take(_ answer: AnswerValue, ofTasksFrom first: Int) -> Bool {
        guard tasks.count == first + 1, tasks[first].text("to") == "-" else {
            return false
        }
        tasks[first].fields.removeAll { ["to", "decompress"].contains($0.key) }
        if tasks[first].text("type") == "download" { tasks[first].fields.removeAll { $0.key == "type" } }
        tasks[first].answer = answer
        for value in answer.all {
            if let note = value.note { tasks[first].comments.append(note) }
            if SecretNames.isField(value.name) { secretAnswers.insert(value.number) }
        }
        return true
    }

    /// Notes that the values of answers in a text are secrets.
    mutating func bindAnswers(in text: String) {
        for (number, _) in AnswerValue.references(in: text) { secretAnswers.insert(number) }
    }

    /// Lets the tasks from a number on wait for others, and run on what became of them.
    mutating func join(tasksFrom first: Int, after others: [Int], when: String?) {
        // What one of them waits for, they all wait for.
        let needed = others.filter { other in !others.contains { tasks[$0].needed.contains(other) } }
        for index in tasks.indices.dropFirst(first) {
            tasks[index].needed += needed
            if let when { tasks[index].set("when", .text(when)) }
        }
    }

    /// Makes the task at `first`, the last one, a further place of the file that another one fetches, as
    /// `curl -f -o x A || curl -f -o x B` does. Returns whether they do the same but for the URL.
    mutating func merge(_ first: Int, into other: Int) -> Bool {
        guard tasks.count == first + 1, tasks[first].isPlainDownload, tasks[first].fields == tasks[other].fields,
            tasks[first].session == tasks[other].session, !tasks[other].ignoresStatus, !tasks[first].ignoresStatus
        else { return false }
        tasks[other].mirrors.append(tasks[first].url)
        tasks[other].asksOnce = true
        tasks.removeLast()
        return true
    }

    /// Whether the tasks from a number on write a file that another one writes.
    func writeOneFile(_ first: Int, _ other: Int) -> Bool {
        guard let file = tasks[other].text("to"), file != "-", !file.hasSuffix("/") else { return false }
        return tasks.dropFirst(first).contains { $0.text("to").map(plainPath) == plainPath(file) }
    }

    /// Lets a failure of a task be none of the run's.
    mutating func tolerate(_ index: Int) { tasks[index].set("allowFailure", .plain("true")) }

    /// Puts the files of the tasks from a number on into a folder.
    mutating func move(tasksFrom first: Int, to folder: String) {
        let job = self
        for index in tasks.indices.dropFirst(first) { tasks[index].move(to: folder, job) }
    }

    /// Gives the tasks from a number on a proxy, where their own options do not.
    mutating func setProxy(_ proxy: YAMLNode?, tasksFrom first: Int) {
        guard let proxy else { return }
        for index in tasks.indices.dropFirst(first) where !tasks[index].session.contains(where: { $0.key == "proxy" }) {
            tasks[index].setSession("proxy", proxy)
        }
    }

    /// Makes the tasks from a number on one for each value of a loop.
    mutating func loop(tasksFrom first: Int, over loop: ShellLoop) {
        for index in tasks.indices.dropFirst(first) {
            tasks[index].loop(over: loop)
            guard let note = loop.note else { continue }
            warnings.append(ImportWarning(place: tasks[index].place, message: note))
            tasks[index].comments.append(note)
        }
    }

    /// Whether a name is that of a variable of the script, which one of a loop hides.
    func knows(_ name: String) -> Bool { forgotten.contains(name) || variables.contains { $0.key == name } }

    /// Whether the values of a loop stand in the script and are secrets, by the name of its variable or by its use.
    func holdsSecrets(_ loop: ShellLoop) -> Bool {
        guard case .list = loop.values else { return false }
        return script.concealed.contains(loop.name) || SecretNames.isField(loop.name)
    }

    /// Removes the tasks from a number on.
    mutating func drop(tasksFrom first: Int) { tasks.removeSubrange(min(first, tasks.count)...) }

    /// Removes the tasks from a number on if one of them uses a value of a loop as a secret: a list of secrets cannot
    /// stand in the job. Returns whether it did.
    mutating func dropSecretLoop(_ loop: ShellLoop, tasksFrom first: Int) -> Bool {
        guard forgotten.remove(loop.name) != nil else { return false }
        secrets.removeAll { $0.name == Identifier.variable(loop.name) }
        tasks.removeSubrange(first...)
        return true
    }

    /// Bounds the time of the tasks from a number on, where their own options do not.
    mutating func limit(tasksFrom first: Int, to time: String) {
        for index in tasks.indices.dropFirst(first)
        where !tasks[index].fields.contains(where: { $0.key == "timeoutForResource" }) {
            tasks[index].set("timeoutForResource", .plain(time))
        }
    }

    /// The most tries that a job can say; without a number the time would end them.
    private static let mostAttempts = "1000000"

    /// Lets the tasks from a number on be tried as a loop does: after each failure of their command.
    mutating func retry(tasksFrom first: Int, as loop: RetryLoop) {
        for index in tasks.indices.dropFirst(first) {
            tasks[index].isAwaited = true
            guard !tasks[index].fields.contains(where: { $0.key == "retry" }) else {
                tell(index, "the loop that tries it again is left out beside the retries of the command itself")
                continue
            }
            var retry = [YAMLField("attempts", .plain(loop.attempts.map { "\(max(1, $0))" } ?? Self.mostAttempts))]
            if let pause = loop.pause {
                retry.append(
                    YAMLField(
                        "backoff", .map(["initial": .plain(pause), "maximum": .plain(pause), "jitter": .text("none")])))
            }
            let statuses: [YAMLNode] = tasks[index].ignoresStatus ? [] : [.plain("4xx"), .plain("5xx")]
            retry.append(YAMLField("statuses", .list(statuses)))
            if tasks[index].sends { retry.append(YAMLField("nonIdempotent", .plain("true"))) }
            tasks[index].set("retry", .map(retry))
            let pauses = loop.pause == nil ? ", with pauses that grow" : ""
            tasks[index].comments.append("a loop that tries it again is `retry` here\(pauses)")
        }
    }

    /// Lets the turns of a loop, whose only tasks begin at a number, send one after the other.
    mutating func serialize(tasksFrom first: Int) {
        for index in tasks.indices.dropFirst(first) {
            tasks[index].setSession("maximumConcurrentTasks", .plain("1"))
        }
    }

    /// Lets nothing wait for the tasks from a number on, which the script runs in the background, until it waits itself.
    mutating func runBeside(tasksFrom first: Int) {
        let lane = (tasks.map(\.lane).max() ?? 0) + 1
        for index in tasks.indices.dropFirst(first) { tasks[index].lane = lane }
    }

    /// Gives the files of the tasks from a number on a mode, where their own options do not.
    mutating func setMode(_ mode: String?, tasksFrom first: Int) {
        guard let mode else { return }
        for index in tasks.indices.dropFirst(first) where tasks[index].writesFile && tasks[index].text("mode") == nil {
            tasks[index].set("mode", .text(mode))
        }
    }

    /// Warns of something about the task at a place of the list.
    mutating func tell(_ index: Int, _ message: String) {
        warnings.append(ImportWarning(place: tasks[index].place, message: message))
        tasks[index].comments.append(message)
    }

    /// Warns of something, and leaves a comment before the next task.
    mutating func lose(_ place: ImportPlace, _ message: String) {
        warnings.append(ImportWarning(place: place, message: message))
        strays.append((tasks.count, "\(place): \(message)"))
    }

    /// Warns of something about a task.
    mutating func lose(_ task: inout ImportedTask, _ message: String) {
        warnings.append(ImportWarning(place: task.place, message: message))
        task.comments.append(message)
    }

    /// Notes something at the top, once.
    mutating func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

    /// Returns a reference to a secret of a host: `${secret.NAME}`.
    mutating func secret(_ name: String, for host: String?) -> String {
        let name = Identifier.variable(name)
        if let index = secrets.firstIndex(where: { $0.name == name }) {
            if let host, !secrets[index].hosts.contains(host) { secrets[index].hosts.append(host) }
        } else {
            secrets.append((name, host.map { [$0] } ?? []))
        }
        return "${secret.\(name)}"
    }

    /// Defines a variable, once. What is secret in it is taken out when its users are known.
    mutating func define(_ name: String, _ text: String) {
        script.texts.append((name, text))
        guard !forgotten.contains(name), !variables.contains(where: { $0.key == name }) else { return }
        variables.append(YAMLField(name, .text(text)))
    }

    /// Removes a variable that turned out to hold a secret.
    mutating func forget(_ name: String) {
        variables.removeAll { $0.key == name }
        forgotten.insert(name)
    }

    /// Moves a task to a place before it.
    mutating func move(_ task: Int, before place: Int) {
        func moved(_ index: Int) -> Int { index == task ? place : (place..<task).contains(index) ? index + 1 : index }
        // What stands after so many tasks.
        func shifted(_ count: Int) -> Int { count > place && count <= task ? count + 1 : count }
        tasks.insert(tasks.remove(at: task), at: place)
        for index in tasks.indices {
            tasks[index].needed = tasks[index].needed.map(moved)
            tasks[index].checksumList = tasks[index].checksumList.map(moved)
        }
        marks.pauses = marks.pauses.map(shifted)
        marks.joins = marks.joins.map(shifted)
        strays = strays.map { (shifted($0.before), $0.text) }
    }

    /// Lets the tasks send what their commands do and no more: each asks its server anew. A task knows only the
    /// cookies of its command's own file; where the command saves none, it takes none.
    mutating func settle() {
        labels.shorten(among: Set(secrets.map(\.name)))
        for index in tasks.indices {
            let task = tasks[index]
            if task.sends || task.asksOnce, !task.fields.contains(where: { $0.key == "retry" }) {
                tasks[index].set("retry", .map(["attempts": .plain("1")]))
            }
            guard !["ftp", "file", "data"].contains(String(task.url.prefix { $0 != ":" })) else { continue }
            if !task.savesCookies {
                tasks[index].setSession("cookies", .map(task.cookies + [YAMLField("accept", .text("never"))]))
            }
            tasks[index].setSession("cache", .text("none"))
        }
    }

    // MARK: The file

    /// Returns the job file. `origin` is what it was made of.
    func text(origin: String) -> String {
        var text = YAMLText.comment("Translated from \(origin). `transfer-run check FILE` looks for mistakes.")
        for note in notes { text += YAMLText.comment(note) }
        let sessions = sessions()
        let taskTexts = naming(taskTexts(sessions))
        let uses = users
        let variables = variables.filter { uses[$0.key] != nil }
        let own = variables.isEmpty ? "" : "variables:\n" + YAMLText.block(variables, indent: "  ")
        var rest = ""
        if !limits.isEmpty { rest += "limits:\n" + YAMLText.block(limits, indent: "  ") }
        if failFast { rest += "failFast: true\n" }
        if !sessions.isEmpty {
            rest += "sessions:\n"
            for (name, fields) in sessions { rest += session(name, fields) }
        }
        rest += taskTexts
        let used = Set(Self.names(in: withSecrets(own + rest)))
        let secrets = secrets.filter { used.contains("secret.\($0.name)") }
        if !secrets.isEmpty { text += secretNote() }
        text = withSecrets(text + "version: 1\n" + own + secretKeys(secrets) + rest)
        for name in script.guarded.sorted() {
            text = text.replacing("env.\(name)}", with: "env.\(name):?it is empty}")
        }
        for (name, short) in labels.short { text = text.replacing("secret.\(name)}", with: "secret.\(short)}") }
        return text
    }

    /// The text with secrets in the places of the script's variables that hold one and are used elsewhere, too.
    private func withSecrets(_ text: String) -> String {
        forgotten.reduce(text) { text, name in
            text.replacing("${\(name)}", with: "${secret.\(name)}")
                .replacing("${raw:\(name)}", with: "${raw:secret.\(name)}")
        }
    }

    private func secretKeys(_ secrets: [(name: String, hosts: [String])]) -> String {
        if secrets.isEmpty { return "" }
        // The line of the first transfer that uses each.
        var places: [String: ImportPlace] = [:]
        for task in tasks {
            for name in Self.names(in: task.text) where places[name] == nil { places[name] = task.place }
        }
        for case (let key, .text(let text)) in variables.reversed().map({ ($0.key, $0.value) }) {
            for name in Self.names(in: text) where places[name] == nil { places[name] = places[key] }
        }
        let lines = secrets.map { secret in
            let hosts = YAMLNode.map([YAMLField("hosts", .list(secret.hosts.map { .text($0) }))])
            let place =
                (places["secret.\(secret.name)"] ?? places[secret.name]).map { YAMLText.comment("\($0)", indent: " ") }
                ?? "\n"
            return
                "  \(labels.short[secret.name] ?? secret.name): \(secret.hosts.isEmpty ? "{}" : YAMLText.flow(hosts))\(place)"
        }
        return "secrets:\n" + lines.joined()
    }

    /// Notes that a run does only a part of what the script does, where something is sent before what was left out.
    mutating func tellOfHalf() {
        let sender = tasks.first { task in
            task.sends
                && warnings.contains {
                    $0.leavesOut && $0.place.file == task.place.file && $0.place.line > task.place.line
                }
        }
        if let place = sender?.place {
            note("\(place) sends something, and transfers after it were left out: a run does the first part alone.")
        }
    }

    /// The key `secrets`, with a comment before it.
    var secretText: String { secrets.isEmpty ? "" : secretNote() + secretKeys(secrets) }

    private func secretNote() -> String {
        YAMLText.comment("Secrets were taken out of the text. Each is read from a line `NAME=value` of the file that")
            + YAMLText.comment("`--secrets-file` names, or from the environment, and goes to its hosts alone.")
            + YAMLText.comment("Look for others: in paths of URLs, in bodies, in headers with names of their own.")
    }

    private func session(_ name: String, _ fields: [YAMLField]) -> String {
        fields.isEmpty ? "  \(name): {}\n" : "  \(name):\n" + YAMLText.block(fields, indent: "    ")
    }

    /// Returns the sessions that tasks need, each once, the one without settings as `default`.
    private func sessions() -> [(name: String, fields: [YAMLField])] {
        var known: [[YAMLField]] = []
        for task in tasks where !known.contains(task.session) { known.append(task.session) }
        guard known.contains(where: { !$0.isEmpty }) else { return [] }
        if known.count == 1 { return [("default", known[0])] }
        var number = 0
        return known.map { fields in
            if fields.isEmpty { return ("default", fields) }
            number += 1
            return ("session-\(number)", fields)
        }
    }

    private func taskTexts(_ sessions: [(name: String, fields: [YAMLField])]) -> String {
        guard !tasks.isEmpty else { return "tasks: []\n" + strays.map { YAMLText.comment($0.text) }.joined() }
        var text = "tasks:\n"
        var stray = strays[...]
        for (index, task) in tasks.enumerated() {
            while let next = stray.first, next.before <= index {
                text += YAMLText.comment(next.text, indent: "  ")
                stray.removeFirst()
            }
            text += self.text(of: task, sessions)
        }
        return text + stray.map { YAMLText.comment($0.text, indent: "  ") }.joined()
    }

    /// The text with the ids of the tasks in references to their answers.
    private func naming(_ text: String) -> String {
        var text = text
        for task in tasks {
            for value in task.answer?.all ?? [] {
                text = text.replacing("tasks.@\(value.number).", with: "tasks.\(task.id).")
            }
        }
        return text
    }

    /// The `capture` of a task. A whole answer that only its parts are taken out of is none.
    private func capture(_ answer: AnswerValue) -> YAMLNode {
        let used = Set(tasks.flatMap { AnswerValue.references(in: $0.text).map(\.number) })
        let isWhole = answer.parts.isEmpty || used.contains(answer.number)
        return .map((isWhole ? answer.all : answer.parts).map { YAMLField($0.name, captured($0)) })
    }

    /// A value of an answer. A secret goes to the hosts alone that the script sends it to.
    private func captured(_ answer: AnswerValue) -> YAMLNode {
        guard secretAnswers.contains(answer.number) else { return .map([answer.source]) }
        let users = tasks.filter { AnswerValue.references(in: $0.text).contains { $0.number == answer.number } }
        let hosts = users.map { URLText($0.url, filled: filled($0.url)).host }
        var fields = [answer.source, YAMLField("secret", .plain("true"))]
        var known: [String] = []
        for case let host? in hosts where !known.contains(host) { known.append(host) }
        if !hosts.contains(nil), !known.isEmpty { fields.append(YAMLField("hosts", .list(known.map { .text($0) }))) }
        return .map(fields)
    }

    private func text(of task: ImportedTask, _ sessions: [(name: String, fields: [YAMLField])]) -> String {
        var fields: [YAMLField] = []
        let name = sessions.first { $0.fields == task.session }?.name
        if let name, name != "default" { fields.append(YAMLField("session", .text(name))) }
        if task.mirrors.isEmpty {
            fields.append(YAMLField("url", .text(task.url)))
        } else {
            fields.append(YAMLField("urls", .list(([task.url] + task.mirrors).map { .text($0) })))
        }
        var text = "  # \(YAMLText.comment("\(task.place)").dropFirst(2))"
        for comment in task.comments { text += YAMLText.comment(comment, indent: "  ") }
        text += "  - id: \(YAMLText.quoted(task.id + task.idSuffix))\n"
        fields += task.fields
        if let answer = task.answer { fields.append(YAMLField("capture", capture(answer))) }
        return text + YAMLText.block(fields, indent: "    ")
    }

    /// The text with the job's own variable filled in with which it begins.
    func opened(_ text: String) -> String {
        var text = text
        while let name = Self.references(in: String(text.prefix { $0 != "}" }) + "}").first,
            text.hasPrefix("${\(name)}"),
            case .text(let value)? = variables.first(where: { $0.key == name })?.value
        {
            text = value + text.dropFirst(name.count + 3)
        }
        return text
    }

    /// The text with the job's own variables filled in.
    func filled(_ text: String) -> String {
        guard text.contains("${") else { return text }
        var text = text
        for variable in variables.reversed() {
            guard case .text(let value) = variable.value else { continue }
            for reference in ["${\(variable.key)}", "${raw:\(variable.key)}"] {
                text = text.replacing(reference, with: value)
            }
        }
        return text
    }

    /// Returns the URL with `raw:` before its variables: a shell inserts their values unchanged, a job encodes them except
    /// at the beginning.
    func raw(_ url: String) -> String {
        guard url.contains("${") else { return url }
        var url = url
        for variable in variables {
            guard case .text(let value) = variable.value, !value.utf8.allSatisfy(\.isUnreserved) else {
                continue
            }
            url = Self.replacing("${\(variable.key)}", with: "${raw:\(variable.key)}", in: url)
        }
        url = Self.replacing("${tasks.@", with: "${raw:tasks.@", in: url)
        for loop in loops where !loop.isUnreserved {
            url = Self.replacing("${\(loop.name)}", with: "${raw:\(loop.name)}", in: url)
        }
        return Self.replacing("${env.", with: "${raw:env.", in: url)
    }

    /// Replaces what is not at the beginning.
    private static func replacing(_ old: String, with new: String, in text: String) -> String {
        guard text.hasPrefix(old) else { return text.replacing(old, with: new) }
        return old + text.dropFirst(old.count).replacing(old, with: new)
    }

    /// The path with the job's own variables filled in, without `.` and `..`.
    func plainPath(_ path: String) -> String { Self.withoutDots(filled(path)) }

    static func withoutDots(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == "..", let last = parts.last, last != ".." { parts.removeLast() } else { parts.append(part) }
        }
        return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
    }
}

/// Names for tasks, variables and secrets.
enum Identifier {
    /// An id of the characters that ids have.
    static func task(_ text: String) -> String {
        var text = text
        for (number, _) in AnswerValue.references(in: text) { text = text.replacing("tasks.@\(number).", with: "") }
        var id = ""
        for scalar in text.unicodeScalars {
            let isGood = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isGood || scalar == "_" || scalar == "-" || scalar == "." {
                id.unicodeScalars.append(scalar)
            } else if id.last != "-", !"${}".unicodeScalars.contains(scalar) {
                id += "-"
            }
        }
        while id.last == "-" || id.last == "." { id.removeLast() }
        while id.first == "-" || id.first == "." { id.removeFirst() }
        return id.isEmpty ? "transfer" : String(id.prefix(80))
    }

    /// A name of letters, digits and `_`.
    static func variable(_ text: String) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            let isGood = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isGood { name.unicodeScalars.append(scalar) } else if name.last != "_" { name += "_" }
        }
        while name.last == "_" { name.removeLast() }
        if name.first.map({ $0.isNumber }) != false { name = "_" + name }
        return name
    }

    static func unique(_ name: String, _ taken: inout Set<String>) -> String {
        if taken.insert(name).inserted { return name }
        var number = 2
        while !taken.insert("\(name)-\(number)").inserted { number += 1 }
        return "\(name)-\(number)"
    }
}
