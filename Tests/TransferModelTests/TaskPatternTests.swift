import TestSupport
import Testing
import TransferModel

@Suite struct TaskPatternTests {
    @Test(arguments: [
        ("a", "a", true), ("a", "b", false), ("a", "ab", false), ("", "", true), ("", "a", false), ("*", "", true),
        ("*", "any", true), ("debs-*", "debs-", true), ("debs-*", "debs-amd64", true), ("debs-*", "rpms-1", false),
        ("*-64", "arm-64", true), ("*-64", "arm-64b", false), ("a*b*c", "a-b-b-c", true), ("a*b*c", "acb", false),
        ("**", "x", true), ("a.b", "a-b", false),
    ]) func matches(pattern: String, id: String, isMatch: Bool) {
        #expect(TaskPattern(pattern).matches(id) == isMatch)
    }

    /// Against the plainest way to say it.
    @Test func matchesAsTheDefinitionSays() {
        func plain(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == "*" {
                return plain(text, pattern.dropFirst()) || !text.isEmpty && plain(text.dropFirst(), pattern)
            }
            return text.first == first && plain(text.dropFirst(), pattern.dropFirst())
        }
        var random = Seeded("matchesAsTheDefinitionSays")
        for _ in 0..<Rounds.scaled(3000) {
            let id = String((0..<random.below(8)).map { _ in random.pick(Array("ab")) })
            let pattern = String((0..<random.below(7)).map { _ in random.pick(Array("ab**")) })
            #expect(
                TaskPattern(pattern).matches(id) == plain(Array(id)[...], Array(pattern)[...]), "\(pattern) on \(id)")
        }
    }
}
