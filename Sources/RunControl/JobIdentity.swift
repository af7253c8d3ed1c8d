import SystemIO
package import TransferModel

/// Which job it is, whatever process runs it: its `name` if written, else where its file lies.
package struct JobIdentity: Hashable, Sendable {
    package let text: String

    /// As it is kept under.
    package init(text: String) { self.text = text }

    package init(of job: Job) {
        text = job.isNamed ? job.name : Self.place(of: job)
    }

    /// Links in the folder's path lead to the same job. A link to the file is a job of its own: its relative paths
    /// start elsewhere. What came on standard input is known by its text, so that two jobs piped from one folder at
    /// the same time are two.
    private static func place(of job: Job) -> String {
        if job.file == "-" { return "\(job.baseDirectory)/-\(job.sha256?.text ?? "")" }
        let (folder, name) = Folders.split(job.file)
        // A folder that is no text still is another one than its neighbour.
        let absolute = Folders.resolved(folder).map { $0.text ?? NotText($0.bytes).escaped } ?? folder
        return absolute == "/" ? "/\(name)" : "\(absolute)/\(name)"
    }

    /// `<FNV-1a of 128 bits>.lock`, so that any name can be a file's. It is against accidents and not against people, who
    /// have a folder each; and the lock comes first of all, when libcrypto is not loaded yet.
    var lockName: String {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in text.utf8 { hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013b }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 32 - digits.utf8.count) + digits + ".lock"
    }
}
