import Records
import TestSupport
import Testing
import TransferModel

@Suite struct RecordTests {
    @Test func numbersComeBack() throws {
        var random = Seeded("numbersComeBack")
        let edges: [UInt64] = [0, 1, 127, 128, 16_383, 16_384, 1 << 35, 1 << 63, .max - 1, .max]
        let numbers = edges + (0..<500).map { _ in random.next() >> UInt64(random.below(64)) }
        for number in numbers {
            var writer = RecordWriter()
            writer.put(number)
            writer.put(Int64(bitPattern: number))
            writer.put(Int(truncatingIfNeeded: number))
            var reader = RecordReader(writer.bytes)
            #expect(try reader.unsigned() == number)
            #expect(try reader.int64() == Int64(bitPattern: number))
            #expect(try reader.int() == Int(truncatingIfNeeded: number))
            try reader.finish()
        }
    }

    @Test func capturesComeBack() throws {
        let host = try #require(HostPattern("h.example"))
        let list = PlainValue.list([.string("open"), .string("hidden")])
        var pages = CapturedValue(name: "pages", text: "", value: list)
        pages.answers = [.init(url: "https://h.example/1"), .init(first: 1, url: "https://h.example/2")]
        var link = CapturedValue(name: "link", text: "b", isSecret: true, hosts: [host])
        link.answers = [.init(url: "https://h.example/1")]
        let captures = [
            pages, link, CapturedValue(name: "plain", text: "a", value: .number("1")),
            CapturedValue(name: "secret", text: "b", isSecret: true, hosts: [host]),
            CapturedValue(name: "rows", text: "", value: list, isSecret: true, hosts: [host], secretParts: ["hidden"]),
        ]
        var writer = RecordWriter()
        writer.put(captures)
        var reader = RecordReader(writer.bytes)
        #expect(try reader.captures() == captures)
        try reader.finish()
    }

    @Test func smallNumbersAreShort() {
        for (number, count) in [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (8191, 2), (8192, 3)] as [(Int, Int)] {
            var writer = RecordWriter()
            writer.put(number)
            #expect(writer.bytes.count == count, "\(number)")
        }
    }

    @Test(
        arguments: [
            [0x80], [0x80, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ] as [[UInt8]])
    func numbersThatNobodyWritesAreRefused(bytes: [UInt8]) {
        var reader = RecordReader(bytes)
        #expect(throws: RecordProblem.self) { try reader.unsigned() }
    }

    @Test func whatDoesNotFitIsRefused() {
        var writer = RecordWriter()
        writer.put(UInt64(65_536))
        var reader = RecordReader(writer.bytes)
        let problem = #expect(throws: RecordProblem.self) { try reader.exactly(UInt16.self) }
        #expect(problem?.kind == .malformed)
        reader = RecordReader([2])
        #expect(throws: RecordProblem.self) { try reader.flag() }
        reader = RecordReader([2, 0xC3, 0x28])
        #expect(throws: RecordProblem.self) { try reader.text() }
    }

    /// Of a block only the bytes are written.
    @Test func headerLinesComeOfTheirBytesAlone() {
        var random = Seeded("headerLinesComeOfTheirBytesAlone")
        let pieces = ["A", "bc", ":", ": ", " ", "\t", "\r\n", "\r\n", "\n", "\r", "x y", "é", ",", "\u{0}"]
        for _ in 0..<Rounds.scaled(5_000) {
            let raw = (0..<random.below(30)).flatMap { _ in Array(random.pick(pieces).utf8) }
            let block = HeaderBlock(raw: raw)
            #expect(HeaderBlock(raw: block.bytes) == block, "\(raw)")
        }
    }
}
