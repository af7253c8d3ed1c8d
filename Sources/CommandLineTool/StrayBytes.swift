import SystemIO
import TransferModel

/// Rejects arguments, variables and folders that are no UTF-8, before anything is done: the nearest text would be
/// another file, folder or value.
enum StrayBytes {
    /// Variables that name folders and files, beside those of flags.
    private static let variables = [
        "HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "NETRC",
        "GITHUB_STEP_SUMMARY",
    ]

    static func texts(_ words: [RawName]) throws(UsageError) -> [String] {
        var texts: [String] = []
        for word in words {
            guard let text = word.text else {
                throw UsageError(
                    "`\(shown(word, after: texts.last))` on the command line is not UTF-8 text",
                    hint: "write values in UTF-8; rename a file or folder whose name is something else")
            }
            texts.append(text)
        }
        return texts
    }

    /// Checks the working folder and the variables that every command may need.
    static func check() throws(UsageError) {
        _ = try workingFolder()
        let strays = CurrentProcess.strayVariables()
        guard !strays.isEmpty else { return }
        for name in variables + FlagTable.all.compactMap(\.variable) {
            guard let value = strays[name] else { continue }
            let isShown = name != FlagTable[.set].variable
            throw UsageError(
                "the environment's `\(name)` is not UTF-8 text" + (isShown ? ": `\(value.escaped)`" : ""),
                hint: "its stray bytes are shown as `\\x` and two digits; set it to text, or unset it")
        }
    }

    /// Returns the working folder; `nil` when it was removed.
    static func workingFolder() throws(UsageError) -> String? {
        do throws(NotText) {
            return try Folders.working()
        } catch {
            throw folder(error)
        }
    }

    static func folder(_ path: NotText) -> UsageError {
        UsageError(
            "the working folder's path is not UTF-8 text: `\(path.escaped)`",
            hint: "its stray bytes are shown as `\\x` and two digits; rename that folder, or run from another")
    }

    /// The word for a message, without the value of `--set`, which may be a secret.
    private static func shown(_ word: RawName, after last: String?) -> String {
        let (bytes, equals) = (Array(word.bytes), UInt8(ascii: "="))
        let prefix = bytes.starts(with: Array("--set=".utf8)) ? 6 : last == "--set" ? 0 : nil
        guard let prefix, let end = bytes[prefix...].firstIndex(of: equals) else { return NotText.escaped(bytes) }
        return NotText.escaped(Array(bytes[...end])) + "…"
    }
}
