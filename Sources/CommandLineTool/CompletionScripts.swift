/// The shells that completion scripts are written for.
enum CompletionShell: String, CaseIterable {
    case bash, zsh, fish
}

/// Generates completion scripts from the tables of commands and flags. Pure.
///
/// What only the program knows, such as the ids of a job's tasks, the scripts ask it for: `completions tasks JOB`,
/// `completions sessions` and `completions reported REPORT` print names, one a line, and never an error.
enum CompletionScripts {
    static func script(_ shell: CompletionShell) -> String {
        switch shell {
        case .bash: BashCompletion.script()
        case .zsh: ZshCompletion.script()
        case .fish: FishCompletion.script()
        }
    }

    /// What stands after an option or as an operand.
    enum Value: Hashable {
        case nothing
        case file
        case folder
        case job
        case report
        case task
        case session
        case command
        case words([String])
    }

    /// What a flag's value is.
    static func value(of flag: Flag) -> Value {
        switch flag.shape {
        case .toggle: return .nothing
        case .choice(let words): return .words(words)
        case .value(let name), .list(let name):
            switch name {
            case "PATH", "FILE": return .file
            case "DIR": return .folder
            case "REPORT", "REPORT|URL": return .report
            case "ID", "ID-PATTERN": return .task
            default: return .nothing
            }
        }
    }

    /// What the operands of a command are: the first one, and those after it.
    static func operands(of command: CommandName) -> (first: Value, others: Value) {
        switch command {
        case .run, .check, .plan, .simulate: (.job, .job)
        case .lock, .unit: (.job, .nothing)
        case .initialize, .daemon, .schema, .reset: (.nothing, .nothing)
        case .importJob: (.file, .file)
        case .rerun: (.report, .nothing)
        case .explain: (.report, .task)
        case .report: (.words(["convert", "diff", "merge"]), .report)
        case .verify: (.file, .nothing)
        case .status, .attach: (.session, .nothing)
        case .suspend, .resume, .cancel: (.session, .nothing)
        case .completions: (.words(CompletionShell.allCases.map(\.rawValue)), .nothing)
        case .help: (.command, .nothing)
        }
    }

    static var commands: [CommandEntry] { CommandTable.all.filter(\.isBuilt) }

    static func flags(of command: CommandName) -> [Flag] { FlagTable.flags(of: command).filter(\.isBuilt) }

    /// All options, long and short, whose value is of a kind.
    static func options(_ kind: Value) -> [String] {
        FlagTable.all.filter { $0.isBuilt && $0.placeholder != nil && value(of: $0) == kind }.map(\.long)
    }

    /// Kinds of values that options have, but for words and none, each once.
    static let askedKinds: [Value] = [.file, .folder, .report, .task]

    /// Options with a list of words, and the words.
    static var choices: [(option: String, words: [String])] {
        FlagTable.all.filter(\.isBuilt).compactMap { flag in
            if case .choice(let words) = flag.shape { (flag.long, words) } else { nil }
        }
    }

    /// Options whose value cannot be completed.
    static var opaque: [String] { options(.nothing) }

    static let heading = "Written by `transfer-run completions %`, from the program's own tables."

    static func heading(_ shell: CompletionShell) -> String {
        heading.split(separator: "%", omittingEmptySubsequences: false).joined(separator: shell.rawValue)
    }
}

/// The script for bash.
private enum BashCompletion {
    static func script() -> String {
        """
        # bash completion for transfer-run. \(CompletionScripts.heading(.bash))
        # Use it: source <(transfer-run completions bash)

        _transfer_run_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

        _transfer_run_files() {
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X "!$1" -- "$cur" | while IFS= read -r name; do
                [[ -d $name ]] || printf '%s\\n' "$name"; done)
        }

        # Names that only the program knows, one a line.
        _transfer_run_ask() {
            local names
            names=$("${COMP_WORDS[0]}" completions "$@" 2>/dev/null </dev/null) || return 0
            mapfile -t COMPREPLY < <(IFS=$'\\n'; compgen -W "$names" -- "$cur")
        }

        _transfer_run_value() {
            case $1 in
                file) _transfer_run_files '*' ;;
                folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
                job) _transfer_run_files '*.@(yaml|yml)' ;;
                report) _transfer_run_files '*.json' ;;
                session) _transfer_run_ask sessions ;;
                task)
                    case $command in
                        rerun|explain) [[ ${operands[0]} ]] && _transfer_run_ask reported "${operands[0]}" ;;
                        *) [[ ${operands[0]} ]] && _transfer_run_ask tasks "${operands[@]}" ;;
                    esac ;;
                command) _transfer_run_words '\(CompletionScripts.commands.map(\.name.rawValue).joined(separator: " "))' ;;
            esac
        }

        _transfer_run() {
            local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= index word
            local -a operands=()
            local glob=$(shopt -p extglob)
            shopt -s extglob
            COMPREPLY=()
            for ((index = 1; index < ${#COMP_WORDS[@]}; index++)); do
                ((index == COMP_CWORD)) && continue
                word=${COMP_WORDS[index]}
                case $word in
                    \(valued()))
                        ((index++)) ;;
                    -*) ;;
                    *) if [[ ! $command && ${#operands[@]} -eq 0 ]]; then
                           case $word in
                               \(names("|"))) command=$word; continue ;;
                           esac
                       fi
                       ((index < COMP_CWORD || ${#operands[@]} == 0)) && operands+=("$word") ;;
                esac
            done
            case $previous in
        \(valueCases())
                *)
                    if [[ $cur == -* ]]; then
                        case ${command:-run} in
        \(flagCases())
                        esac
                    elif [[ ! $command && ${#operands[@]} -eq 0 ]]; then
                        _transfer_run_files '*.@(yaml|yml)'
                        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '\(names(" "))' -- "$cur")
                    else
                        case ${command:-run}:$((${#operands[@]} > 0)) in
        \(operandCases())
                        esac
                    fi ;;
            esac
            eval "$glob"
        }

        complete -F _transfer_run transfer-run

        """
    }

    private static func names(_ separator: String) -> String {
        CompletionScripts.commands.map(\.name.rawValue).joined(separator: separator)
    }

    private static func valued() -> String {
        FlagTable.all.filter { $0.isBuilt && $0.placeholder != nil }.map(\.long).joined(separator: "|")
    }

    private static func valueCases() -> String {
        var lines = CompletionScripts.choices.map { choice in
            "        \(choice.option)) _transfer_run_words '\(choice.words.joined(separator: " "))' ;;"
        }
        for kind in CompletionScripts.askedKinds {
            let options = CompletionScripts.options(kind)
            if !options.isEmpty {
                lines.append("        \(options.joined(separator: "|"))) _transfer_run_value \(word(kind)) ;;")
            }
        }
        lines.append("        \(CompletionScripts.opaque.joined(separator: "|"))) ;;")
        return lines.joined(separator: "\n")
    }

    private static func flagCases() -> String {
        CompletionScripts.commands.map { entry in
            let flags = CompletionScripts.flags(of: entry.name).map(\.long).joined(separator: " ")
            return "                    \(entry.name.rawValue)) _transfer_run_words '\(flags)' ;;"
        }.joined(separator: "\n")
    }

    private static func operandCases() -> String {
        CompletionScripts.commands.flatMap { entry -> [String] in
            let operands = CompletionScripts.operands(of: entry.name)
            return [(0, operands.first), (1, operands.others)].compactMap { place, value in
                guard value != .nothing else { return nil }
                let name = "                    \(entry.name.rawValue):\(place))"
                if case .words(let words) = value {
                    return "\(name) _transfer_run_words '\(words.joined(separator: " "))' ;;"
                }
                return "\(name) _transfer_run_value \(word(value)) ;;"
            }
        }.joined(separator: "\n")
    }

    static func word(_ value: CompletionScripts.Value) -> String {
        switch value {
        case .nothing, .words: ""
        case .file: "file"
        case .folder: "folder"
        case .job: "job"
        case .report: "report"
        case .task: "task"
        case .session: "session"
        case .command: "command"
        }
    }
}

/// The script for zsh.
private enum ZshCompletion {
    static func script() -> String {
        """
        #compdef transfer-run
        # zsh completion for transfer-run. \(CompletionScripts.heading(.zsh))
        # Use it: transfer-run completions zsh > "${fpath[1]}/_transfer-run"

        _transfer-run_ask() {
            local -a names
            names=("${(@f)$($words[1] completions "$@" 2>/dev/null </dev/null)}")
            compadd -a names
        }
        _transfer-run_jobs() { _files -g '*.(yaml|yml)(-.)' }
        _transfer-run_reports() { _files -g '*.json(-.)' }
        _transfer-run_sessions() { _transfer-run_ask sessions }
        _transfer-run_tasks() { _transfer-run_ask tasks ${(M)words[2,-1]:#*.(yaml|yml)} }
        _transfer-run_reported() { _transfer-run_ask reported ${${(M)words[2,-1]:#*.json}[1]} }

        _transfer-run_commands() {
            local -a commands=(
        \(commands())
            )
            _describe -t commands command commands
        }

        _transfer-run() {
            local command=run word
            for word in ${words[2,CURRENT-1]}; do
                case $word in
                    -*) ;;
                    \(CompletionScripts.commands.map(\.name.rawValue).joined(separator: "|"))) command=$word; break ;;
                    *) break ;;
                esac
            done
            case $command in
        \(cases())
            esac
        }

        if [[ $funcstack[1] == _transfer-run ]]; then _transfer-run "$@"; else compdef _transfer-run transfer-run; fi

        """
    }

    private static func commands() -> String {
        CompletionScripts.commands.map { entry in
            "        \(quoted("\(entry.name.rawValue):\(entry.does)"))"
        }.joined(separator: "\n")
    }

    private static func cases() -> String {
        CompletionScripts.commands.map { entry in
            let flags = CompletionScripts.flags(of: entry.name).map { "            \(specification($0, entry.name))" }
            let (first, others) = CompletionScripts.operands(of: entry.name)
            let operands: [String] =
                entry.name == .run
                ? [
                    "            '1: :{_transfer-run_commands; _transfer-run_jobs}'",
                    "            '*: :_transfer-run_jobs'",
                ]
                : [
                    "            '1: :_transfer-run_commands'", operand("2", first, entry.name),
                    operand("*", others, entry.name),
                ]
                .compactMap(\.self)
            let lines = (flags + operands).joined(separator: " \\\n")
            return "        \(entry.name.rawValue)) _arguments -s \\\n\(lines) ;;"
        }.joined(separator: "\n")
    }

    private static func operand(_ place: String, _ value: CompletionScripts.Value, _ command: CommandName) -> String? {
        value == .nothing ? nil : "            \(quoted("\(place): :\(action(value, command))"))"
    }

    private static func specification(_ flag: Flag, _ command: CommandName) -> String {
        let star = flag.isList ? "*" : ""
        let help = "[\(escaped(flag.help))]"
        guard let placeholder = flag.placeholder else { return quoted("\(star)\(flag.long)\(help)") }
        let name = escaped(placeholder.split(separator: "|").first.map { String($0) } ?? placeholder)
        return quoted("\(star)\(flag.long)=\(help):\(name):\(action(CompletionScripts.value(of: flag), command))")
    }

    private static func action(_ value: CompletionScripts.Value, _ command: CommandName) -> String {
        switch value {
        case .nothing: " "
        case .file: "_files"
        case .folder: "_files -/"
        case .job: "_transfer-run_jobs"
        case .report: "_transfer-run_reports"
        case .session: "_transfer-run_sessions"
        case .command: "_transfer-run_commands"
        case .task: command == .rerun || command == .explain ? "_transfer-run_reported" : "_transfer-run_tasks"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.map { "[]:\\".contains($0) ? "\\\($0)" : String($0) }.joined()
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

/// The script for fish.
private enum FishCompletion {
    static func script() -> String {
        """
        # fish completion for transfer-run. \(CompletionScripts.heading(.fish))
        # Use it: transfer-run completions fish > ~/.config/fish/completions/transfer-run.fish

        set -g __transfer_run_commands \(CompletionScripts.commands.map(\.name.rawValue).joined(separator: " "))

        # The command that was typed: `run` where its name was left out.
        function __transfer_run_command
            for word in (commandline -opc)[2..-1]
                string match -q -- '-*' $word; and continue
                contains -- $word $__transfer_run_commands; and echo $word; or echo run
                return
            end
            echo none
        end
        function __transfer_run_is
            contains -- (__transfer_run_command) $argv
        end
        function __transfer_run_tasks
            transfer-run completions tasks (string match -r -- '.*\\.ya?ml$' (commandline -opc)) 2>/dev/null </dev/null
        end
        function __transfer_run_reported
            transfer-run completions reported (string match -r -- '.*\\.json$' (commandline -opc))[1] 2>/dev/null </dev/null
        end
        function __transfer_run_sessions
            transfer-run completions sessions 2>/dev/null </dev/null
        end
        function __transfer_run_files
            __fish_complete_suffix $argv
        end

        complete -c transfer-run -f
        complete -c transfer-run -n '__transfer_run_is none' -a '(__transfer_run_files .yaml) (__transfer_run_files .yml)'
        \(lines().joined(separator: "\n"))

        """
    }

    private static func lines() -> [String] {
        var lines = CompletionScripts.commands.map { entry in
            "complete -c transfer-run -n '__transfer_run_is none' -a \(entry.name.rawValue) -d \(quoted(entry.does))"
        }
        for entry in CompletionScripts.commands {
            let (first, others) = CompletionScripts.operands(of: entry.name)
            let condition = "complete -c transfer-run -n '__transfer_run_is \(entry.name.rawValue)'"
            for value in first == others ? [first] : [first, others] {
                if let words = words(value, entry.name) { lines.append("\(condition) -a \(words)") }
            }
        }
        for flag in FlagTable.all where flag.isBuilt { lines.append(line(flag)) }
        return lines
    }

    private static func line(_ flag: Flag) -> String {
        var names = flag.commands.map(\.rawValue)
        if flag.commands.contains(.run) { names.append("none") }
        var line =
            "complete -c transfer-run -n '__transfer_run_is \(names.joined(separator: " "))' -l \(flag.name.rawValue)"
        if let short = flag.short { line += " -s \(short)" }
        line += " -d \(quoted(flag.help))"
        guard flag.placeholder != nil else { return line }
        switch CompletionScripts.value(of: flag) {
        case .file: return line + " -r -F"
        case .folder: return line + " -x -a '(__fish_complete_directories)'"
        case let value:
            let command: CommandName = flag.commands.contains(.rerun) && !flag.commands.contains(.run) ? .rerun : .run
            return line + " -x" + (words(value, command).map { " -a \($0)" } ?? "")
        }
    }

    private static func words(_ value: CompletionScripts.Value, _ command: CommandName) -> String? {
        switch value {
        case .nothing: nil
        case .file: "'(__fish_complete_path)'"
        case .folder: "'(__fish_complete_directories)'"
        case .job: "'(__transfer_run_files .yaml) (__transfer_run_files .yml)'"
        case .report: "'(__transfer_run_files .json)'"
        case .session: "'(__transfer_run_sessions)'"
        case .command: "'$__transfer_run_commands'"
        case .task:
            command == .rerun || command == .explain ? "'(__transfer_run_reported)'" : "'(__transfer_run_tasks)'"
        case .words(let words): quoted(words.joined(separator: " "))
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "'"
        for character in text { result += character == "'" || character == "\\" ? "\\\(character)" : String(character) }
        return result + "'"
    }
}
