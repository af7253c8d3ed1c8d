import Diagnostics
import TransferModel

/// Warns of two downloads that are most likely one line, copied and changed in part: one `checksum` at two URLs, or one
/// URL written to two places. Tasks of one line are not compared: the list of a `forEach` may well name equal files.
extension TaskChecker {
    mutating func checkCopiedLines() {
        guard let first = tasks.first?.line, tasks.contains(where: { $0.line != first }) else { return }
        var checksums = FirstOwners<Checksum>()
        var urls = FirstOwners<Int>()
        for number in tasks.indices where tasks[number].type == .download {
            if case .literal(let checksum)? = tasks[number].options.values.checksum,
                let first = checksums.owner(of: checksum, number)
            {
                if warnOfChecksum(first, number) { checksums.close(checksum) }
            }
            if let url = tasks[number].location.url?.text.hashValue, let first = urls.owner(of: url, number) {
                if warnOfURL(first, number) { urls.close(url) }
            }
        }
    }

    /// Returns whether the two were warned of.
    private mutating func warnOfChecksum(_ first: Int, _ second: Int) -> Bool {
        let (other, this) = (tasks[first], tasks[second])
        guard other.line != this.line, let url = other.location.url, let mine = this.location.url,
            !url.text.isExactly(mine.text)
        else { return false }
        reader.warning(
            "same-checksum", "`\(this.id)` has the `checksum` of `\(other.id)`, which has another URL",
            hint: "a copied line? Each is fetched, and only one of them can be right unless the files are equal",
            at: place(of: "checksum", this))
        return true
    }

    private mutating func warnOfURL(_ first: Int, _ second: Int) -> Bool {
        let (other, this) = (tasks[first], tasks[second])
        guard other.line != this.line, other.destination != this.destination, let url = other.location.url,
            let mine = this.location.url, url.text.isExactly(mine.text), Self.asksTheSame(other, this)
        else { return false }
        reader.warning(
            "same-url", "`\(this.id)` has the URL of `\(other.id)` and writes it to another place",
            hint: "a copied line? The file is fetched twice", at: place(of: "url", this))
        return true
    }

    /// Whether the two would send the same request.
    private static func asksTheSame(_ one: TaskSpecification, _ other: TaskSpecification) -> Bool {
        let (left, right) = (one.options.values, other.options.values)
        return one.session == other.session && one.effectiveMethod == "GET" && other.effectiveMethod == "GET"
            && left.body == nil && right.body == nil && left.headers == right.headers
            && left.decompress == right.decompress
    }
}

/// The first task that has a key. Once a pair was warned of, no other task with that key is compared.
private struct FirstOwners<Key: Hashable> {
    /// `-1` for a key that is closed.
    private var tasks: [Key: Int] = [:]

    /// Returns the first task that has the key, if that is another one than `task`.
    mutating func owner(of key: Key, _ task: Int) -> Int? {
        guard let first = tasks[key] else {
            tasks[key] = task
            return nil
        }
        return first < 0 ? nil : first
    }

    mutating func close(_ key: Key) { tasks[key] = -1 }
}
