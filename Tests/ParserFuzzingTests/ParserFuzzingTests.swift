import ParserFuzzing
import TestSupport
import Testing

/// Each parser reads the files of its corpus, and what comes of them when bytes are changed, cut, doubled and put together.
///
/// A fault ends the process: the seed that is printed first brings it back. `make fuzz` looks further, by what the code does
/// with each input.
@Suite struct ParserFuzzingTests {
    @Test(arguments: FuzzedParser.allCases) func whateverIsRead_endsNothing(_ parser: FuzzedParser) throws {
        let folder = "\(Binary.packageRoot)/Tests/ParserFuzzingTests/Corpus/\(parser.rawValue)"
        let corpus = try TemporaryTree.names(in: folder).sorted().map { try TemporaryTree.bytes(at: "\(folder)/\($0)") }
        try #require(!corpus.isEmpty)
        for bytes in corpus { parser.read(bytes) }
        var random = Seeded("whateverIsRead_endsNothing, \(parser)")
        for _ in 0..<Rounds.scaled(500) { parser.read(Self.changed(corpus, &random)) }
    }

    private static func changed(_ corpus: [[UInt8]], _ random: inout Seeded) -> [UInt8] {
        var bytes = random.pick(corpus)
        for _ in 0...random.below(6) {
            let place = random.below(bytes.count + 1)
            switch random.below(7) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2:
                bytes.insert(
                    random.pick(Array("\0\n\r\t \"'\\:;,=/%&#-+*()[]{}<>0129azA\u{7F}".utf8) + [0x80, 0xFF]), at: place)
            case 3: bytes.insert(contentsOf: random.bytes(1 + random.below(4)), at: place)
            case 4: bytes.removeLast(bytes.count - place)
            case 5:
                // A part of this one once more, or many times.
                let part = bytes[place..<min(bytes.count, place + 1 + random.below(30))]
                for _ in 0...random.below(40) { bytes.insert(contentsOf: part, at: place) }
            default:
                let other = random.pick(corpus)
                bytes = Array(bytes[..<place]) + other.dropFirst(random.below(other.count + 1))
            }
        }
        return bytes
    }
}
