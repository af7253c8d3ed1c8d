/// The loops and the conditions of a script that a job can say, and why others are left out.
extension ScriptImport {
    /// How a loop tries its transfer again; `nil` for a loop that does more, or tries it on another condition than its failure.
    func retryLoop(_ words: ArraySlice<ShellWord>, _ job: inout ImportedJob) -> RetryLoop? {
        if words.first?.text != "for" { return waitLoop(words) }
        guard !blocks.contains(where: \.isLeftOut), !isFunction,
            let end = Self.end(ofLoop: rest), let loop = ShellLoop.over(words, &job), let count = loop.count
        else { return nil }
        let body = rest[rest.startIndex + 1..<end]
        let usesValue = body.contains { $0.transfer != nil && $0.words.contains { $0.text.contains("${\(loop.name)") } }
        return usesValue ? nil : RetryLoop(body, attempts: count)
    }

    /// `until curl …; do sleep 5; done`, or `while ! curl …`, which tries its transfer until it succeeds.
    private func waitLoop(_ words: ArraySlice<ShellWord>) -> RetryLoop? {
        let isNegated = words.dropFirst().first?.text == "!"
        guard words.first?.text == (isNegated ? "while" : "until"), blocks.isEmpty, !isFunction,
            let command = rest.first, command.ownTransfer != nil, [";", "\n"].contains(command.end),
            let end = Self.end(ofLoop: rest), rest[end].redirections.isEmpty, [";", "\n"].contains(rest[end].end),
            list.runs == ScriptFlow()
        else { return nil }
        return RetryLoop(waiting: rest[rest.startIndex + 1..<end])
    }

    /// The loop that begins here, where its values and what it does for each can be said in a job.
    func loop(
        _ words: ArraySlice<ShellWord>, _ previous: ShellCommand?, _ job: inout ImportedJob
    ) -> ShellLoop? {
        guard let command = rest.first, !blocks.contains(where: \.isLeftOut), !isFunction,
            let end = Self.end(ofLoop: rest)
        else { return nil }
        var loop: ShellLoop?
        if words.first?.text == "for" {
            loop = ShellLoop.over(words, &job)
        } else if let name = command.readName {
            if let document = rest[end].input {
                loop = ShellLoop(name, linesIn: document)
            } else {
                let file = rest[end].inputFile ?? previous?.catFile
                let trims = !command.words.contains { $0.text == "IFS=" }
                loop = file.flatMap { ShellLoop(name, linesOf: $0, trims: trims) }
            }
        }
        guard let loop, !job.knows(loop.name), !job.holdsSecrets(loop) else { return nil }
        // A loop whose transfers do not use its variable tries again, or waits.
        let body = rest[rest.startIndex + 1..<end]
        let isUsed = body.contains { $0.transfer != nil && $0.words.contains { $0.text.contains("${\(loop.name)") } }
        return isUsed && earlyEnd(of: body) == nil && !blocks.contains { $0.loop?.name == loop.name } ? loop : nil
    }

    /// The command that may end a loop before its last value: such a loop does not do the same for each.
    private func earlyEnd(of body: ArraySlice<ShellCommand>) -> String? {
        var depth = 0
        return body.lazy.compactMap { $0.afterSteps.first?.text }.first { first in
            if ["for", "while", "until", "select"].contains(first) { depth += 1 }
            if first == "done" { depth -= 1 }
            // A `break` of a loop in it ends that one.
            if first == "continue" || first == "break" && depth > 0 { return false }
            return Self.stops.contains(first) || functions.exits.contains(first)
        }
    }

    /// Why the compound command that begins here is left out.
    func reason(leavingOut words: ArraySlice<ShellWord>, _ job: ImportedJob) -> String {
        if isFunction || blocks.contains(where: \.isLeftOut) { return "it is in another one" }
        switch words.first?.text {
        case "while", "until": return "only the shell knows how often it runs"
        case "if": return "only the shell knows whether its condition holds"
        case "for":
            var known = job
            guard let loop = ShellLoop.over(words, &known), let end = Self.end(ofLoop: rest) else {
                return ShellLoop.reason(words, job)
            }
            if job.holdsSecrets(loop) { return "its values are secrets" }
            if let command = earlyEnd(of: rest[rest.startIndex + 1..<end]) {
                return "`\(command.prefix(40))` may end it early"
            }
            let isForward = rest[..<end].dropFirst().contains { command in
                command.afterSteps.first?.text == "for" && command.words.contains { $0.text.contains("${\(loop.name)") }
            }
            if isForward { return "values that another loop changes are not read" }
            return job.knows(loop.name)
                ? "its variable is set elsewhere, too" : "no transfer in it uses its value alone"
        default: return "only the shell knows which of its commands run"
        }
    }

    /// Whether a loop waits for something, so that what comes after it must not run before: it sleeps, or ends when a
    /// transfer succeeds.
    func waits(_ words: ArraySlice<ShellWord>) -> Bool {
        guard let first = words.first?.text, let end = Self.end(ofLoop: rest) else { return false }
        let body = rest[..<end]
        func has(_ name: String) -> Bool { body.contains { $0.afterSteps.first?.text == name } }
        let isUntilSuccess = body.contains { $0.transfer != nil } && has("break")
        guard first == "while" || first == "until" else { return isUntilSuccess }
        let condition = body.prefix { $0.words.first?.text != "do" }
        return isUntilSuccess || has("sleep") || condition.contains { $0.transfer != nil }
    }

    /// The place of the `done` that ends the loop with which the commands begin. A loop of more commands is left out.
    static func end(ofLoop commands: ArraySlice<ShellCommand>) -> Int? {
        var depth = 0
        for (index, command) in zip(commands.indices, commands.prefix(1000)) {
            guard let first = command.afterSteps.first, !first.isQuoted else { continue }
            if ["for", "while", "until", "select"].contains(first.text) { depth += 1 }
            if first.text == "done" { depth -= 1 }
            if depth == 0 { return index > commands.startIndex ? index : nil }
        }
        return nil
    }

    /// The transfer of `if curl …; then`, where nothing else decides and no value of a loop is in it. An `elif` would depend on
    /// two.
    func condition(_ words: ArraySlice<ShellWord>) -> Condition? {
        guard !isFunction, blocks.allSatisfy({ $0.word == "(" || $0.word == "{" }), let command = rest.first,
            command.ownTransfer != nil, rest.dropFirst().first?.words.first?.text == "then", command.end != "|"
        else { return nil }
        var depth = 0
        var mayExit = false
        for command in rest.prefix(1000) {
            let words = command.words.drop { !$0.isQuoted && ["then", "else", "do"].contains($0.text) }
            guard let first = words.first, !first.isQuoted else { continue }
            if first.text == "if" { depth += 1 }
            if first.text == "fi" { depth -= 1 }
            if first.text == "elif", depth == 1 { return nil }
            if ["exit", "return", "false"].contains(first.text) { mayExit = true }
            if depth == 0 { break }
        }
        return Condition(when: "succeeded", isNegated: words.dropFirst().first?.text == "!", mayExit: mayExit)
    }
}

/// A loop that does nothing but try its transfer until it succeeds.
struct RetryLoop: Sendable {
    /// How often it tries; `nil` where it tries until the transfer succeeds.
    let attempts: Int?
    /// What it sleeps between two tries, as a duration; `nil` where only the shell knows it.
    let pause: String?

    /// Commands that a loop may run beside.
    private static let quiet: Set<String> = ["echo", "printf", "sleep", ":", "true"]

    /// The commands of the loop's body: `curl … && break`, and commands that only sleep or print.
    init?(_ body: ArraySlice<ShellCommand>, attempts: Int) {
        guard var place = body.firstIndex(where: { $0.ownTransfer != nil }), body[place].end == "&&" else { return nil }
        func program(_ index: Int) -> String { index < body.endIndex ? body[index].afterSteps.first?.text ?? "" : "" }
        let transfer = place
        repeat { place += 1 } while Self.quiet.contains(program(place)) && body[place].end == "&&"
        guard program(place) == "break", body[place].afterSteps.count == 1 else { return nil }
        guard body.indices.allSatisfy({ $0 == transfer || $0 == place || Self.isQuiet(body[$0]) }) else { return nil }
        self.init(body, attempts)
    }

    /// The commands between `do` and `done` of a loop whose condition is the transfer.
    init?(waiting body: ArraySlice<ShellCommand>) {
        guard body.first?.words.first?.text == "do", body.allSatisfy(Self.isQuiet) else { return nil }
        self.init(body, nil)
    }

    private static func isQuiet(_ command: ShellCommand) -> Bool {
        let program = command.afterSteps.first?.text ?? ""
        return (program.isEmpty || quiet.contains(program)) && command.redirections.allSatisfy { $0.word.isNoFile }
            && command.transfer == nil
    }

    private init(_ body: ArraySlice<ShellCommand>, _ attempts: Int?) {
        self.attempts = attempts
        let sleeps = body.filter { $0.afterSteps.first?.text == "sleep" }.map { $0.afterSteps.dropFirst() }
        let isKnown = sleeps.count <= 1 && sleeps.allSatisfy { $0.count == 1 }
        pause = isKnown ? sleeps.isEmpty ? "0s" : sleeps[0].first?.literal.flatMap { ForeignSize.duration($0) } : nil
    }

    /// The commands with `if curl …; then break; fi` as `curl … && break`, which does the same.
    static func simplified(_ commands: [ShellCommand]) -> [ShellCommand] {
        var result: [ShellCommand] = []
        var rest = commands[...]
        while let command = rest.popFirst() {
            let steps = command.words.prefix { ShellCommand.steps.contains($0.text) && !$0.isQuoted }
            let words = command.words.dropFirst(steps.count)
            let then = rest.prefix(20).prefix { $0.words.first?.text != "fi" }
            guard words.first?.text == "if", words.dropFirst().first?.text != "!", command.ownTransfer != nil,
                command.end == ";" || command.end == "\n", then.first?.words.first?.text == "then",
                then.last?.afterSteps.map(\.text) == ["break"], let end = rest[then.endIndex...].first,
                end.words.count == 1, end.redirections.isEmpty,
                then.dropLast().allSatisfy({ $0.afterSteps.first.map { quiet.contains($0.text) } != false })
            else {
                result.append(command)
                continue
            }
            var joined = [command] + then.filter { !$0.afterSteps.isEmpty }
            joined[0].words = Array(steps + words.dropFirst())
            for index in joined.indices {
                if index > 0 { joined[index].words = Array(joined[index].afterSteps) }
                joined[index].end = index == joined.indices.last ? end.end : "&&"
            }
            result += joined
            rest = rest[then.endIndex...].dropFirst()
        }
        return result
    }
}
