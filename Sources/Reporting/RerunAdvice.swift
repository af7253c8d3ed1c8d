/// What belongs into the command that runs a part of the job again, beside that part's names.
package struct RerunAdvice: Hashable, Sendable {
    /// Options that change what is done, word by word as they were typed.
    package var options: [String]
    /// Those that choose tasks.
    package var selection: [String]

    package init(options: [String] = [], selection: [String] = []) {
        self.options = options
        self.selection = selection
    }

    /// A file's name that would be read as an option is one of this folder.
    func job(_ file: String) -> String { file.hasPrefix("-") && file != "-" ? "./\(file)" : file }
}
