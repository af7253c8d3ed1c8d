internal import Glibc
import SystemIO

/// The temporary names of reports, before they get their own: a few per report, so that a file left by a killed run is
/// in the way of the next one, which deletes it. A live run keeps its file locked.
enum TemporaryReport {
    enum Attempt {
        case made
        /// Another file has the name, or this one was deleted again.
        case taken
        case failed(SystemError)
    }

    /// Numbers of runs that publish one report at the same moment; further ones use a random number.
    private static let usual: ClosedRange<UInt32> = 1...8

    /// The name in the folder of `target` under which `make` made the file.
    static func name(beside target: OutputPlace, _ make: (String) -> Attempt) throws(OutputProblem) -> String {
        for number in Array(usual) + [.random(in: 1_000_000 ... .max)] {
            // A long name is cut: with the addition it must still be a name that the file system takes.
            let beside = ".\(target.name.prefix(60)).transfer-run-\(number).tmp"
            switch made(beside, in: target, make) {
            case .made: return beside
            case .taken: continue
            case .failed(let error): throw target.problem(error)
            }
        }
        throw target.problem(SystemError(call: "open", errno: EEXIST))
    }

    private static func made(_ name: String, in target: OutputPlace, _ make: (String) -> Attempt) -> Attempt {
        let first = make(name)
        guard case .failed(let error) = first, error.errno == EEXIST else { return first }
        guard removeAbandoned(name, in: target) else { return .taken }
        let second = make(name)
        if case .failed(let error) = second, error.errno == EEXIST { return .taken }
        return second
    }

    /// Locks the file just made; `false` where another run took it for abandoned before.
    static func lock(_ file: borrowing SystemIO.Descriptor, _ name: String, in target: OutputPlace) -> Bool {
        // On a file system without locks no run deletes it either.
        ((try? file.tryLock()) ?? true) && isThere(file, name, in: target)
    }

    private static func removeAbandoned(_ name: String, in target: OutputPlace) -> Bool {
        let found: SystemIO.Descriptor
        do throws(SystemError) {
            found = try target.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            return error.errno == ENOENT
        }
        guard (try? found.tryLock()) == true, isThere(found, name, in: target) else { return false }
        target.remove(name)
        return true
    }

    /// Whether the name is still this file's, and it is a regular file of this user.
    private static func isThere(
        _ file: borrowing SystemIO.Descriptor, _ name: String, in target: OutputPlace
    ) -> Bool {
        guard let own = try? file.facts(), let named = try? target.facts(of: name) else { return false }
        return own.isRegular && own.owner == geteuid() && own.isSameFile(as: named)
    }

    // MARK: At the end

    /// Renames `beside` of this folder to `name`, replacing the previous file in one step.
    ///
    /// Where that exists and the file system can, the two are exchanged: a rename over an existing file makes some file
    /// systems (ext4) write it to the disk first, and a short run would wait for that as for twenty transfers.
    static func putInPlace(
        _ beside: String, as name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) {
        let isExchanged = (try? folder.exchange(RawName(beside), with: folder, RawName(name))) != nil
        if isExchanged, try removeFormer(beside, name, in: folder) { return }
        try folder.rename(beside, to: name)
    }

    /// Deletes the previous file, which has the temporary name now. `false` where that fails, because a folder came
    /// under the name in this moment: then the exchange is undone.
    private static func removeFormer(
        _ beside: String, _ name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try folder.unlink(beside)
        } catch {
            // Another run deleted it first: it looked like a file that a killed run had left.
            if error.errno == ENOENT { return true }
            try folder.exchange(RawName(beside), with: folder, RawName(name))
            return false
        }
        return true
    }
}
