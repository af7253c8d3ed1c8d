/// A fenced code block of a Markdown page.
package struct FencedBlock: Hashable, Sendable {
    /// First word after the backticks, such as `yaml`; empty if there is none.
    package let language: String
    /// Second word after the backticks: the name of the file that a reader makes of the block.
    package let name: String?
    /// The page's line, from 1, on which `text` begins.
    package let line: Int
    /// The lines between the fences, each with its line break.
    package let text: String

    /// Returns the blocks of a page in their order. A block that is not closed ends with the page.
    package static func blocks(in page: String) -> [FencedBlock] {
        var blocks: [FencedBlock] = []
        var open: (words: [Substring], line: Int, lines: [Substring])?
        func close() {
            guard let block = open else { return }
            blocks.append(
                FencedBlock(
                    language: block.words.first.map { String($0) } ?? "",
                    name: block.words.count > 1 ? String(block.words[1]) : nil, line: block.line,
                    text: block.lines.map { "\($0)\n" }.joined()))
            open = nil
        }
        for (index, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if open != nil {
                if line == "```" { close() } else { open?.lines.append(line) }
            } else if line.hasPrefix("```") {
                open = (line.dropFirst(3).split(separator: " "), index + 2, [])
            }
        }
        close()
        return blocks
    }

    /// Whether the block is a job file by itself, not a part of one: YAML with tasks at the top level.
    package var isWholeJob: Bool {
        language == "yaml"
            && text.split(separator: "\n").contains { line in
                guard line.hasPrefix("tasks:") else { return false }
                let rest = line.dropFirst("tasks:".count).drop { $0 == " " }
                return rest.isEmpty || rest.hasPrefix("[") || rest.hasPrefix("#")
            }
    }

    /// The commands of a `console` block, each with the output that the page shows for it.
    package var commands: [ShownCommand] {
        guard language == "console" else { return [] }
        var commands: [ShownCommand] = []
        var goesOn = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().enumerated() {
            if goesOn, let last = commands.indices.last {
                commands[last].append(line: line)
            } else if line.hasPrefix("$ ") {
                commands.append(ShownCommand(line: self.line + index, line.dropFirst(2)))
            } else if let last = commands.indices.last {
                commands[last].output.append(String(line))
            }
            goesOn = (goesOn || line.hasPrefix("$ ")) && line.hasSuffix("\\")
        }
        return commands
    }
}

/// A command that a page shows after `$ `, and what it says of its end.
package struct ShownCommand: Hashable, Sendable {
    /// The page's line, from 1, on which the command begins.
    package let line: Int
    /// What a shell is given: several lines if they end in `\`.
    package private(set) var text: String
    /// The exit status of a comment such as `# status 2` at the command's end; 0 without one.
    package private(set) var status: Int32
    /// The lines that the page shows below the command.
    package var output: [String] = []

    init(line: Int, _ text: Substring) {
        self.line = line
        (self.text, status) = Self.statusTaken(from: String(text))
    }

    mutating func append(line: Substring) {
        (text, status) = Self.statusTaken(from: "\(text)\n\(line)")
    }

    private static func statusTaken(from text: String) -> (String, Int32) {
        guard let comment = text.ranges(of: "# status ").last, let status = Int32(text[comment.upperBound...]) else {
            return (text, 0)
        }
        var command = text[..<comment.lowerBound]
        while command.last == " " { command.removeLast() }
        return (String(command), status)
    }
}
