import TestSupport
import Testing
import TextFormats

struct DecimalNumberTests {
    @Test(arguments: [
        ("1", "1.0"), ("0", "-0.00"), ("100", "1e2"), ("0.001", "1E-3"), ("-12.50", "-1250e-2"), ("10e-1", "1"),
        ("9007199254740993", "9007199254740993.000"), ("1e400", "10e399"),
    ]) func sameMeaning(_ left: String, _ right: String) {
        #expect(DecimalNumber.areSame(left, right) && DecimalNumber.areSame(right, left))
    }

    @Test(arguments: [
        ("9007199254740992", "9007199254740993"), ("1", "-1"), ("0.1", "0.10000000000000000001"), ("1e400", "1e401"),
        ("1", "10"), ("0", "1e-400"),
        ("100000000000000000000000000000000000000", "100000000000000000000000000000000000001"),
    ]) func othersAreOthers(_ left: String, _ right: String) throws {
        #expect(!DecimalNumber.areSame(left, right))
        let (first, second) = (try #require(DecimalNumber(left)), try #require(DecimalNumber(right)))
        #expect((first < second) != (second < first))
    }

    @Test(arguments: ["", "-", ".", "e5", "1e", "1e99999999999999999999", "0x1", "one", "1 "])
    func whatIsNone(_ text: String) { #expect(DecimalNumber(text) == nil) }

    /// In any order of digits and powers, as whole numbers are.
    @Test func theOrderIsThatOfNumbers() throws {
        var random = Seeded("theOrderIsThatOfNumbers")
        func written(_ number: Int) -> String {
            switch random.below(4) {
            case 0: "\(number)"
            case 1: "\(number).\(String(repeating: "0", count: 1 + random.below(3)))"
            case 2: "\(number)000e-3"
            default: number % 10 == 0 ? "\(number / 10)E+1" : "\(number)e0"
            }
        }
        for _ in 0..<Rounds.scaled(3_000) {
            let (left, right) = (random.below(2_000) - 1_000, random.below(2_000) - 1_000)
            let first = try #require(DecimalNumber(written(left))), second = try #require(DecimalNumber(written(right)))
            #expect((first < second) == (left < right) && (first == second) == (left == right), "\(left) \(right)")
        }
    }
}
