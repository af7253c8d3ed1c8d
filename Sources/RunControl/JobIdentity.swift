import HTTPRules
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

    /// `<fingerprint>.lock`, so that any name can be a file's. Nothing stronger: each user has a folder of their own, and the
    /// lock comes first of all, when libcrypto is not loaded yet.
    var lockName: String {
        var fingerprint = Fingerprint()
        fingerprint.add(text)
        return String(UInt64(bitPattern: fingerprint.value), radix: 16) + ".lock"
    }
}
