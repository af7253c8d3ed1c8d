import Glibc
import SystemIO
import TransferModel

/// The options of `init`.
struct InitOptions {
    static let usualPath = "transfer.yaml"
    let urls: [ResourceURL]
    /// The words of a command of curl, wget or aria2c, to translate instead; empty for URLs.
    let command: [String]
    /// Path of the file to write; `nil` for standard output.
    let path: String?

    init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let output = typed.values[.output]?.last ?? Self.usualPath
        path = output == "-" ? nil : output
        let isCommand = typed.operands.first.map { ForeignOptions.isProgram($0) } == true
        command = isCommand ? typed.operands : []
        if isCommand {
            urls = []
            return
        }
        var urls: [ResourceURL] = []
        for word in typed.operands {
            urls.append(try Self.url(word))
        }
        self.urls = urls
    }

    private static func url(_ word: String) throws(UsageError) -> ResourceURL {
        let url: ResourceURL
        do throws(URLProblem) { url = try ResourceURL.parse(word) } catch {
            let isHost = !word.contains("://") && (try? ResourceURL.parse("https://\(word)")) != nil
            throw UsageError(
                "`\(word)` is no URL: \(error.message)",
                hint: ForeignOptions.commandHint(for: word, "init") ?? (isHost ? "write `https://\(word)`" : nil))
        }
        guard ["http", "https", "ftp"].contains(url.scheme) else {
            throw UsageError(
                "`\(word)` cannot be downloaded", hint: "a URL begins with `https://`, `http://` or `ftp://`")
        }
        return url
    }
}

extension CommandLineTool {
    static func initialize(_ options: InitOptions, _ console: Console) -> Int32 {
        let text: String
        let count: Int
        do throws(UsageError) {
            (text, count) =
                options.command.isEmpty
                ? (try FirstJob.text(for: options.urls), options.urls.count)
                : try translation(of: options.command, console)
        } catch {
            console.errors(error.text)
            return 2
        }
        guard let path = options.path else {
            console.output(text)
            return 0
        }
        do throws(SystemError) {
            try WholeFile.create(path, Array(text.utf8))
        } catch {
            let hint = error.errno == EEXIST ? "write it elsewhere with `-o PATH`, or print it with `-o -`" : nil
            console.errors(UsageError("cannot write `\(path)`: \(error.reason)", hint: hint).text)
            return error.errno == EEXIST ? 2 : ExitStatus.runnerFailed.code
        }
        let tasks = count == 1 ? "1 task" : "\(count) tasks"
        console.errors("wrote `\(path)`: \(tasks). Run it: transfer-run \(path)\n")
        return 0
    }
}
