import BackgroundService
import Glibc
import SystemIO
import TransferModel

/// Many who follow and many who only sit there, and what the process costs while they do.
struct Load {
    private let place: ServicePlace
    private let followers: Int
    private let idlers: Int
    private let seconds: Int

    init(_ place: ServicePlace, _ numbers: [Int]) {
        self.place = place
        (followers, idlers, seconds) = (numbers[0], numbers[1], numbers[2])
    }

    func run() throws {
        DescriptorLimit.raise(to: 65_536)
        let begin = Clocks.instant()
        let following = try (0..<followers).map { _ in try follower() }
        let sitting = try (0..<idlers).map { _ in try link() }
        let connected = Clocks.instant()
        guard let process = following.first?.other.process ?? sitting.first?.other.process else { return }
        let ticks = Self.ticks(process)
        // Connected to the end, though nobody speaks to them.
        let news = try withExtendedLifetime(sitting) { try listen(following) }
        let used = Double(Self.ticks(process) - ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
        let share = used / (Clocks.instant() - connected).seconds * 100
        print(
            "\(followers) followers, \(idlers) idle: connected in \((connected - begin).seconds) s; "
                + "\(share) % of a processor, \(Self.memory(process)) MiB, \(news) words heard in \(seconds) s")
    }

    private func link() throws -> ServiceLink {
        try ServiceLink.connect(place, version: "0.0.1", patience: .seconds(10))
    }

    private func follower() throws -> ServiceLink {
        let link = try link()
        _ = try link.ask(.follow("flood", after: 0))
        return link
    }

    private func listen(_ links: [ServiceLink]) throws -> Int {
        let end = Clocks.instant() + .seconds(Int64(seconds))
        var words = 0
        repeat {
            for link in links { while try link.nextNews(within: .zero) != nil { words += 1 } }
            Polling.sleep(milliseconds: 50)
        } while Clocks.instant() < end
        return words
    }

    private static func stat(_ process: Int32) -> [Substring] {
        let bytes = (try? WholeFile.read("/proc/\(process)/stat", limit: 4096)) ?? []
        let text = String(decoding: bytes, as: UTF8.self)
        return text.lastIndex(of: ")").map { text[$0...].split(separator: " ") } ?? []
    }

    /// Returns the processor time of a process in ticks.
    private static func ticks(_ process: Int32) -> Int {
        let words = stat(process)
        return words.count > 13 ? (Int(words[12]) ?? 0) + (Int(words[13]) ?? 0) : 0
    }

    private static func memory(_ process: Int32) -> Int {
        let words = stat(process)
        return words.count > 22 ? ((Int(words[22]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))) >> 20 : 0
    }
}
